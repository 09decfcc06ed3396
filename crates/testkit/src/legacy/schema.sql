-- Tables of the old schema, as far as Freehold reads them, and three that it never touches: task_comments,
-- session_step_history and secrets. Written once for both engines and all revisions: a line that ends in
-- "-- only" and words belongs only where every one of the words is true (sqlite, postgres; after-085; flat or
-- normalised: where the worktrees of an environment are stored).

CREATE TABLE kandev_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL DEFAULT ''
);

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT DEFAULT '',
    owner_id TEXT DEFAULT '',
    default_executor_id TEXT DEFAULT '',
    default_environment_id TEXT DEFAULT '',
    default_agent_profile_id TEXT DEFAULT '',
    default_config_agent_profile_id TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    task_prefix TEXT DEFAULT 'KAN',
    task_sequence INTEGER DEFAULT 0,
    office_workflow_id TEXT DEFAULT ''
);

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    display_name TEXT NOT NULL DEFAULT '',
    role TEXT NOT NULL DEFAULT 'admin',
    status TEXT NOT NULL DEFAULT 'active',
    settings_revision BIGINT NOT NULL DEFAULT 0, -- only normalised
    settings TEXT NOT NULL DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX idx_users_email ON users (email);

CREATE TABLE workflows (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL DEFAULT '',
    workflow_template_id TEXT DEFAULT '',
    name TEXT NOT NULL,
    description TEXT DEFAULT '',
    prompt TEXT NOT NULL DEFAULT '', -- only after-085
    hidden INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    sort_order INTEGER NOT NULL DEFAULT 0,
    agent_profile_id TEXT DEFAULT '',
    is_system INTEGER DEFAULT 0,
    style TEXT NOT NULL DEFAULT 'kanban',
    source TEXT NOT NULL DEFAULT 'manual',
    source_path TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_workflows_workspace_id ON workflows (workspace_id);
CREATE UNIQUE INDEX uniq_improve_kandev_workflows
    ON workflows (workspace_id, workflow_template_id, hidden)
    WHERE workflow_template_id IN ('improve-kandev', 'report-kandev-issue');

CREATE TABLE workflow_steps (
    id TEXT PRIMARY KEY,
    workflow_id TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL DEFAULT '',
    position INTEGER NOT NULL DEFAULT 0,
    color TEXT,
    prompt TEXT,
    events TEXT,
    allow_manual_move INTEGER DEFAULT 1,
    is_start_step INTEGER DEFAULT 0,
    show_in_command_panel INTEGER DEFAULT 1,
    auto_archive_after_hours INTEGER DEFAULT 0,
    agent_profile_id TEXT NOT NULL DEFAULT '',
    stage_type TEXT NOT NULL DEFAULT 'custom',
    auto_advance_requires_signal INTEGER NOT NULL DEFAULT 0,
    cancel_triggers_turn_complete INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    wip_limit INTEGER NOT NULL DEFAULT 0,
    pull_from_step_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_workflow_steps_pull_from ON workflow_steps (pull_from_step_id);
CREATE UNIQUE INDEX idx_workflow_steps_single_start ON workflow_steps (workflow_id) WHERE is_start_step = 1;
CREATE INDEX idx_workflow_steps_workflow ON workflow_steps (workflow_id);

CREATE TABLE repositories (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    source_type TEXT NOT NULL DEFAULT 'local',
    local_path TEXT DEFAULT '',
    provider TEXT DEFAULT '',
    provider_repo_id TEXT DEFAULT '',
    provider_host TEXT DEFAULT '',
    provider_scope TEXT DEFAULT '', -- only normalised
    provider_owner TEXT DEFAULT '',
    provider_name TEXT DEFAULT '',
    remote_url TEXT DEFAULT '',
    default_branch TEXT DEFAULT '',
    worktree_branch_prefix TEXT DEFAULT 'feature/',
    worktree_branch_template TEXT DEFAULT 'feature/{title}-{suffix}',
    pull_before_worktree INTEGER NOT NULL DEFAULT 1,
    setup_script TEXT DEFAULT '',
    cleanup_script TEXT DEFAULT '',
    dev_script TEXT DEFAULT '',
    copy_files TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP
);
CREATE INDEX idx_repos_workspace ON repositories (workspace_id) WHERE deleted_at IS NULL;
CREATE INDEX idx_repositories_workspace_id ON repositories (workspace_id);

CREATE TABLE repository_scripts (
    id TEXT PRIMARY KEY,
    repository_id TEXT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    command TEXT NOT NULL,
    position INTEGER DEFAULT 0,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_repository_scripts_repo_id ON repository_scripts (repository_id);

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    workspace_id TEXT DEFAULT NULL,
    supports_mcp INTEGER NOT NULL DEFAULT 0,
    mcp_config_path TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    tui_config TEXT DEFAULT NULL
);
CREATE UNIQUE INDEX idx_agents_name ON agents (name);

CREATE TABLE agent_profiles (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    agent_display_name TEXT NOT NULL,
    model TEXT NOT NULL DEFAULT '',
    fallback_model TEXT NOT NULL DEFAULT '', -- only normalised
    auto_fallback INTEGER NOT NULL DEFAULT 0, -- only normalised
    mode TEXT DEFAULT NULL,
    migrated_from TEXT DEFAULT NULL,
    auto_approve INTEGER NOT NULL DEFAULT 0,
    dangerously_skip_permissions INTEGER NOT NULL DEFAULT 0,
    allow_indexing INTEGER NOT NULL DEFAULT 1,
    cli_passthrough INTEGER NOT NULL DEFAULT 0,
    enabled INTEGER NOT NULL DEFAULT 1, -- only after-085
    user_modified INTEGER NOT NULL DEFAULT 0,
    plan TEXT DEFAULT '',
    cli_flags TEXT DEFAULT NULL,
    env_vars TEXT NOT NULL DEFAULT '[]',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP,
    workspace_id TEXT NOT NULL DEFAULT '',
    role TEXT NOT NULL DEFAULT '',
    icon TEXT NOT NULL DEFAULT '',
    reports_to TEXT NOT NULL DEFAULT '',
    skill_ids TEXT NOT NULL DEFAULT '[]',
    desired_skills TEXT NOT NULL DEFAULT '[]',
    custom_prompt TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'idle'
        CHECK (status IN ('idle', 'working', 'paused', 'stopped', 'pending_approval')),
    pause_reason TEXT NOT NULL DEFAULT '',
    last_run_finished_at TIMESTAMP,
    max_concurrent_sessions INTEGER NOT NULL DEFAULT 1,
    cooldown_sec INTEGER NOT NULL DEFAULT 0,
    skip_idle_runs INTEGER NOT NULL DEFAULT 0,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    failure_threshold INTEGER NOT NULL DEFAULT 3,
    executor_preference TEXT NOT NULL DEFAULT '',
    budget_monthly_cents INTEGER NOT NULL DEFAULT 0,
    settings TEXT NOT NULL DEFAULT '{}',
    permissions TEXT NOT NULL DEFAULT '{}',
    command_prefix TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_agent_profiles_agent_id ON agent_profiles (agent_id);
CREATE INDEX idx_agent_profiles_reports_to ON agent_profiles (reports_to) WHERE reports_to != '';
CREATE INDEX idx_agent_profiles_role ON agent_profiles (workspace_id, role) WHERE role != '';
CREATE INDEX idx_agent_profiles_workspace ON agent_profiles (workspace_id);

CREATE TABLE executors (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    is_system INTEGER NOT NULL DEFAULT 0,
    resumable INTEGER NOT NULL DEFAULT 1,
    config TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP
);

CREATE TABLE executor_profiles (
    id TEXT PRIMARY KEY,
    executor_id TEXT NOT NULL REFERENCES executors (id),
    name TEXT NOT NULL,
    mcp_policy TEXT DEFAULT '',
    config TEXT DEFAULT '{}',
    prepare_script TEXT DEFAULT '',
    cleanup_script TEXT DEFAULT '',
    env_vars TEXT DEFAULT '[]',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL DEFAULT '',
    workflow_id TEXT NOT NULL DEFAULT '',
    workflow_step_id TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL,
    description TEXT DEFAULT '',
    state TEXT DEFAULT 'TODO',
    priority TEXT NOT NULL DEFAULT 'medium' -- only sqlite
        CHECK (priority IN ('critical', 'high', 'medium', 'low')), -- only sqlite
    priority INTEGER DEFAULT 0, -- only postgres flat
    priority TEXT NOT NULL DEFAULT 'medium' -- only postgres normalised
        CHECK (priority IN ('critical', 'high', 'medium', 'low')), -- only postgres normalised
    position INTEGER DEFAULT 0,
    wip_admitted INTEGER NOT NULL DEFAULT 1,
    queued_for_step_id TEXT NOT NULL DEFAULT '',
    queued_at TIMESTAMP,
    metadata TEXT DEFAULT '{}',
    is_ephemeral INTEGER NOT NULL DEFAULT 0,
    parent_id TEXT DEFAULT '',
    autopilot_enabled INTEGER NOT NULL DEFAULT 0, -- only normalised
    checkout_run_id TEXT, -- only normalised
    external_id TEXT, -- only normalised
    external_id_settled_at TIMESTAMP, -- only normalised
    archived_at TIMESTAMP,
    archived_by_cascade_id TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    origin TEXT DEFAULT 'manual',
    project_id TEXT DEFAULT '',
    labels TEXT DEFAULT '[]',
    identifier TEXT,
    checkout_agent_id TEXT,
    checkout_at TIMESTAMP
);
CREATE INDEX idx_tasks_archived_at ON tasks (archived_at);
CREATE INDEX idx_tasks_queued_for_step ON tasks (queued_for_step_id, queued_at);
CREATE INDEX idx_tasks_updated ON tasks (workspace_id, updated_at);
CREATE INDEX idx_tasks_workflow_id ON tasks (workflow_id);
CREATE INDEX idx_tasks_workflow_state ON tasks (workflow_step_id, state);
CREATE INDEX idx_tasks_workflow_step_id ON tasks (workflow_step_id);
CREATE INDEX idx_tasks_workspace_archived ON tasks (workspace_id, archived_at);
CREATE INDEX idx_tasks_workspace_created ON tasks (workspace_id, created_at);
CREATE INDEX idx_tasks_workspace_id ON tasks (workspace_id);
CREATE UNIQUE INDEX uniq_tasks_external_id -- only normalised
    ON tasks (workspace_id, external_id) WHERE external_id IS NOT NULL; -- only normalised

CREATE TABLE task_repositories (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    repository_id TEXT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    base_branch TEXT DEFAULT '',
    checkout_branch TEXT DEFAULT '',
    position INTEGER DEFAULT 0,
    metadata TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    UNIQUE (task_id, repository_id, base_branch, checkout_branch)
);
CREATE INDEX idx_task_repos_repo ON task_repositories (repository_id, task_id);
CREATE INDEX idx_task_repos_task ON task_repositories (task_id, repository_id);
CREATE INDEX idx_task_repositories_repository_id ON task_repositories (repository_id);
CREATE INDEX idx_task_repositories_task_id ON task_repositories (task_id);

CREATE TABLE task_comments (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    author_type TEXT NOT NULL,
    author_id TEXT NOT NULL,
    body TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'user',
    reply_channel_id TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_task_comments_task_created ON task_comments (task_id, created_at);

CREATE TABLE task_sessions (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    agent_execution_id TEXT NOT NULL DEFAULT '', -- only postgres
    container_id TEXT NOT NULL DEFAULT '', -- only postgres
    agent_profile_id TEXT,
    execution_profile_id TEXT NOT NULL DEFAULT '',
    executor_id TEXT DEFAULT '',
    executor_profile_id TEXT DEFAULT '',
    environment_id TEXT DEFAULT '',
    repository_id TEXT DEFAULT '',
    base_branch TEXT DEFAULT '',
    agent_profile_snapshot TEXT DEFAULT '{}',
    executor_snapshot TEXT DEFAULT '{}',
    environment_snapshot TEXT DEFAULT '{}',
    repository_snapshot TEXT DEFAULT '{}',
    state TEXT NOT NULL DEFAULT 'CREATED',
    error_message TEXT DEFAULT '',
    metadata TEXT DEFAULT '{}',
    started_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    updated_at TIMESTAMP NOT NULL,
    is_primary INTEGER DEFAULT 0,
    is_passthrough INTEGER DEFAULT 0,
    review_status TEXT DEFAULT '',
    base_commit_sha TEXT DEFAULT '',
    task_environment_id TEXT DEFAULT '',
    cost_subcents INTEGER NOT NULL DEFAULT 0,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_cached_in BIGINT NOT NULL DEFAULT 0, -- only normalised
    route_generation INTEGER NOT NULL DEFAULT 0, -- only normalised
    route_state TEXT NOT NULL DEFAULT '', -- only normalised
    route_reason TEXT NOT NULL DEFAULT '', -- only normalised
    downstream_acp_session_id TEXT NOT NULL DEFAULT '', -- only normalised
    tokens_out INTEGER NOT NULL DEFAULT 0,
    workspace_path TEXT DEFAULT '',
    name TEXT DEFAULT '',
    last_read_message_id TEXT DEFAULT ''
);
CREATE INDEX idx_sessions_agent_started ON task_sessions (agent_profile_id, started_at);
CREATE INDEX idx_sessions_repo ON task_sessions (repository_id);
CREATE INDEX idx_sessions_task_started ON task_sessions (task_id, started_at);
CREATE INDEX idx_task_sessions_state ON task_sessions (state);
CREATE INDEX idx_task_sessions_task_id ON task_sessions (task_id);
CREATE INDEX idx_task_sessions_task_state ON task_sessions (task_id, state);

CREATE TABLE executors_running (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    execution_profile_id TEXT NOT NULL DEFAULT '',
    executor_id TEXT NOT NULL,
    runtime TEXT DEFAULT '',
    status TEXT NOT NULL DEFAULT 'starting',
    resumable INTEGER NOT NULL DEFAULT 0,
    resume_token TEXT DEFAULT '',
    agent_execution_id TEXT DEFAULT '',
    container_id TEXT DEFAULT '',
    agentctl_url TEXT DEFAULT '',
    agentctl_port INTEGER DEFAULT 0,
    pid INTEGER DEFAULT 0,
    local_pid INTEGER DEFAULT 0,
    worktree_id TEXT DEFAULT '',
    worktree_path TEXT DEFAULT '',
    worktree_branch TEXT DEFAULT '',
    last_seen_at TIMESTAMP,
    error_message TEXT DEFAULT '',
    metadata TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    last_message_uuid TEXT DEFAULT '',
    UNIQUE (session_id)
);

CREATE TABLE task_session_turns (
    id TEXT PRIMARY KEY,
    task_session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    execution_profile_id TEXT NOT NULL DEFAULT '', -- only normalised
    route_generation BIGINT NOT NULL DEFAULT 0, -- only normalised
    started_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    metadata TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_turns_session_id ON task_session_turns (task_session_id);
CREATE INDEX idx_turns_session_started ON task_session_turns (task_session_id, started_at);
CREATE INDEX idx_turns_session_times ON task_session_turns (task_session_id, started_at, completed_at);
CREATE INDEX idx_turns_task_id ON task_session_turns (task_id);
CREATE INDEX idx_turns_task ON task_session_turns (task_id);

CREATE TABLE task_session_messages (
    id TEXT PRIMARY KEY,
    task_session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    task_id TEXT DEFAULT '',
    turn_id TEXT NOT NULL REFERENCES task_session_turns (id) ON DELETE CASCADE,
    prompt_seq INTEGER NOT NULL DEFAULT 0, -- only normalised
    author_type TEXT NOT NULL DEFAULT 'user',
    author_id TEXT DEFAULT '',
    content TEXT NOT NULL,
    requests_input INTEGER DEFAULT 0,
    type TEXT NOT NULL DEFAULT 'message',
    metadata TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX idx_messages_author_type ON task_session_messages (task_session_id, author_type, type);
CREATE INDEX idx_messages_created_at ON task_session_messages (created_at);
CREATE INDEX idx_messages_metadata_pending_id -- only sqlite
    ON task_session_messages (task_session_id, json_extract(metadata, '$.pending_id')); -- only sqlite
CREATE INDEX idx_messages_metadata_pending_id -- only postgres
    ON task_session_messages (task_session_id, (metadata::jsonb ->> 'pending_id')); -- only postgres
CREATE INDEX idx_messages_metadata_tool_call_id -- only sqlite
    ON task_session_messages (task_session_id, json_extract(metadata, '$.tool_call_id')); -- only sqlite
CREATE INDEX idx_messages_metadata_tool_call_id -- only postgres
    ON task_session_messages (task_session_id, (metadata::jsonb ->> 'tool_call_id')); -- only postgres
CREATE INDEX idx_messages_session_created ON task_session_messages (task_session_id, created_at);
CREATE INDEX idx_messages_session_id ON task_session_messages (task_session_id);
CREATE INDEX idx_messages_session_updated ON task_session_messages (task_session_id, updated_at);
CREATE INDEX idx_messages_task_author_created -- only after-085
    ON task_session_messages (task_id, author_type, type, created_at DESC); -- only after-085
CREATE INDEX idx_messages_turn_id ON task_session_messages (turn_id);
CREATE INDEX idx_messages_turn ON task_session_messages (turn_id);

CREATE TABLE task_resource_cleanup_jobs (
    id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    trigger TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    resource_snapshot TEXT NOT NULL DEFAULT '{}',
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TIMESTAMP,
    last_error TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    UNIQUE (operation_id)
);
CREATE INDEX idx_task_resource_cleanup_jobs_due
    ON task_resource_cleanup_jobs (state, next_attempt_at, created_at);
CREATE INDEX idx_task_resource_cleanup_jobs_task_id ON task_resource_cleanup_jobs (task_id);

CREATE TABLE session_step_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- only sqlite
    id BIGSERIAL PRIMARY KEY, -- only postgres
    session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    from_step_id TEXT,
    to_step_id TEXT NOT NULL,
    trigger TEXT NOT NULL,
    actor_id TEXT,
    metadata TEXT,
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_session_step_history_session ON session_step_history (session_id);

CREATE TABLE secrets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    sealed BLOB NOT NULL, -- only sqlite
    sealed BYTEA NOT NULL, -- only postgres
    created_at TIMESTAMP NOT NULL
);
