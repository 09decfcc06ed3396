-- The schema, written once for both engines. Types are TEXT, INTEGER, BIGINT and TIMESTAMP (UTC); a yes or no
-- is INTEGER 1 or 0; lists and objects are JSON text. An absent foreign id is '' or NULL.

CREATE TABLE freehold_meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL DEFAULT ''
);

CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY,
    hostname TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP NOT NULL
);

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- Set while its tasks are in the trash; the row goes with the last of them.
    deleted_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    sort_order INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_workflows_workspace_id ON workflows (workspace_id);

CREATE TABLE workflow_steps (
    id TEXT NOT NULL PRIMARY KEY,
    workflow_id TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL DEFAULT '',
    position INTEGER NOT NULL DEFAULT 0,
    is_start_step INTEGER DEFAULT 0,
    -- 0: tasks stay here until somebody archives them.
    auto_archive_after_ms BIGINT NOT NULL DEFAULT 0,
    auto_archive_seals INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_workflow_steps_workflow ON workflow_steps (workflow_id);
CREATE UNIQUE INDEX idx_workflow_steps_single_start ON workflow_steps (workflow_id) WHERE is_start_step = 1;

CREATE TABLE repositories (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    local_path TEXT DEFAULT '',
    default_branch TEXT DEFAULT '',
    worktree_branch_prefix TEXT DEFAULT 'freehold/',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP
);
CREATE INDEX idx_repositories_workspace_id ON repositories (workspace_id);
-- Not unique: databases that people bring along hold one path twice. Registering locks the workspace's row.
CREATE INDEX idx_repositories_path ON repositories (workspace_id, local_path);

CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX idx_agents_name ON agents (name);

CREATE TABLE agent_profiles (
    id TEXT NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    agent_display_name TEXT NOT NULL,
    command TEXT NOT NULL DEFAULT '',
    args TEXT NOT NULL DEFAULT '[]',
    env TEXT NOT NULL DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP
);
CREATE INDEX idx_agent_profiles_agent_id ON agent_profiles (agent_id);

CREATE TABLE executors (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP
);

CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    parent_id TEXT DEFAULT '',
    borrowed_environment_id TEXT NOT NULL DEFAULT '',
    workspace_id TEXT NOT NULL DEFAULT '',
    workflow_id TEXT NOT NULL DEFAULT '',
    workflow_step_id TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL,
    description TEXT DEFAULT '',
    state TEXT DEFAULT 'TODO',
    error_message TEXT NOT NULL DEFAULT '',
    position BIGINT DEFAULT 0,
    agent_profile_id TEXT NOT NULL DEFAULT '',
    start_requested INTEGER NOT NULL DEFAULT 0,
    is_ephemeral INTEGER NOT NULL DEFAULT 0,
    -- The name of the automation that it is a run of.
    automation TEXT NOT NULL DEFAULT '',
    expires_at TIMESTAMP,
    step_entered_at TIMESTAMP,
    -- The server that was asked to start it.
    start_node TEXT NOT NULL DEFAULT '',
    archived_at TIMESTAMP,
    deleted_at TIMESTAMP,
    trashed_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
-- The board and the archive, each in board order; a page is read from one of these without sorting.
CREATE INDEX idx_tasks_open ON tasks (workspace_id, position, id) WHERE archived_at IS NULL;
CREATE INDEX idx_tasks_open_in_step ON tasks (workspace_id, workflow_step_id, position, id)
    WHERE archived_at IS NULL;
CREATE INDEX idx_tasks_archived ON tasks (workspace_id, position, id) WHERE archived_at IS NOT NULL;
CREATE INDEX idx_tasks_step_position ON tasks (workflow_step_id, position);
CREATE INDEX idx_tasks_trashed ON tasks (workspace_id, trashed_at, id) WHERE trashed_at IS NOT NULL;
CREATE INDEX idx_tasks_parent ON tasks (parent_id) WHERE parent_id <> '';
CREATE INDEX idx_tasks_borrowed ON tasks (borrowed_environment_id) WHERE borrowed_environment_id <> '';
CREATE INDEX idx_tasks_expires ON tasks (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX idx_tasks_automation ON tasks (workflow_id, automation, created_at)
    WHERE automation <> '' AND archived_at IS NULL AND deleted_at IS NULL;
CREATE INDEX idx_tasks_start_requested ON tasks (created_at, id) WHERE start_requested = 1;

CREATE TABLE task_repositories (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    repository_id TEXT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    base_branch TEXT DEFAULT '',
    checkout_branch TEXT DEFAULT '',
    position INTEGER DEFAULT 0,
    -- Where the next workspace starts when that is not the tip of the base branch.
    start_commit TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    start_kind TEXT NOT NULL DEFAULT '',
    adopted_path TEXT NOT NULL DEFAULT '',
    fetch_remote TEXT NOT NULL DEFAULT '',
    fetch_ref TEXT NOT NULL DEFAULT '',
    UNIQUE (task_id, repository_id, base_branch, checkout_branch)
);
CREATE INDEX idx_task_repositories_repository_id ON task_repositories (repository_id);

CREATE TABLE task_environments (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    executor_type TEXT NOT NULL DEFAULT '',
    executor_id TEXT DEFAULT '',
    executor_profile_id TEXT DEFAULT '',
    control_port INTEGER DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'creating',
    workspace_path TEXT DEFAULT '',
    container_id TEXT DEFAULT '',
    sandbox_id TEXT DEFAULT '',
    task_dir_name TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX uniq_task_environments_task_id ON task_environments (task_id);
CREATE INDEX idx_task_environments_status ON task_environments (status);

-- Which server's file system holds an environment; those that came from elsewhere have none.
CREATE TABLE task_environment_nodes (
    task_environment_id TEXT NOT NULL PRIMARY KEY REFERENCES task_environments (id) ON DELETE CASCADE,
    node_id TEXT NOT NULL
);

CREATE TABLE task_environment_repos (
    id TEXT NOT NULL PRIMARY KEY,
    task_environment_id TEXT NOT NULL REFERENCES task_environments (id) ON DELETE CASCADE,
    repository_id TEXT NOT NULL,
    branch_slug TEXT NOT NULL DEFAULT '',
    worktree_id TEXT DEFAULT '',
    worktree_path TEXT DEFAULT '',
    worktree_branch TEXT DEFAULT '',
    position INTEGER DEFAULT 0,
    error_message TEXT DEFAULT '',
    status TEXT NOT NULL DEFAULT 'active',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    merged_at TIMESTAMP,
    deleted_at TIMESTAMP,
    CONSTRAINT task_environment_repos_slot_key UNIQUE (task_environment_id, repository_id, branch_slug)
);
-- One owner for each physical worktree; a row of one that was given back owns nothing.
CREATE UNIQUE INDEX uniq_task_environment_repos_worktree_id ON task_environment_repos (worktree_id)
    WHERE worktree_id <> '' AND status <> 'deleted' AND deleted_at IS NULL;
CREATE INDEX idx_task_environment_repos_repository_id ON task_environment_repos (repository_id);

-- What was true when Freehold made a worktree or began to work in a person's; rows that came from elsewhere have none.
CREATE TABLE task_environment_repo_origins (
    environment_repo_id TEXT NOT NULL PRIMARY KEY REFERENCES task_environment_repos (id) ON DELETE CASCADE,
    base_branch TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    registration TEXT NOT NULL,
    device BIGINT NOT NULL,
    inode BIGINT NOT NULL,
    branch_made INTEGER NOT NULL DEFAULT 1,
    warning TEXT NOT NULL DEFAULT ''
);

-- What a person set for the workspaces of a repository.
CREATE TABLE repository_settings (
    repository_id TEXT NOT NULL PRIMARY KEY REFERENCES repositories (id) ON DELETE CASCADE,
    copy_globs TEXT NOT NULL DEFAULT '[]',
    links TEXT NOT NULL DEFAULT '[]',
    setup_script TEXT NOT NULL DEFAULT '',
    teardown_script TEXT NOT NULL DEFAULT '',
    submodules TEXT NOT NULL DEFAULT 'off',
    updated_at TIMESTAMP NOT NULL
);

-- Scripts of repositories that a person allowed to run, by what they contain.
CREATE TABLE trusted_scripts (
    repository_id TEXT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (repository_id, content_hash)
);

-- What a worktree got besides its tracked files; stored as pending together with its owner.
CREATE TABLE workspace_preparations (
    environment_repo_id TEXT NOT NULL PRIMARY KEY REFERENCES task_environment_repos (id) ON DELETE CASCADE,
    is_done INTEGER NOT NULL DEFAULT 0,
    report TEXT NOT NULL DEFAULT '{}',
    updated_at TIMESTAMP NOT NULL
);

CREATE TABLE workspace_setups (
    id TEXT NOT NULL PRIMARY KEY,
    environment_repo_id TEXT NOT NULL REFERENCES task_environment_repos (id) ON DELETE CASCADE,
    node_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    exit_code TEXT NOT NULL DEFAULT '',
    output TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    started_at TIMESTAMP,
    finished_at TIMESTAMP
);
CREATE INDEX idx_workspace_setups_repo ON workspace_setups (environment_repo_id, created_at);
CREATE INDEX idx_workspace_setups_unfinished ON workspace_setups (node_id)
    WHERE state = 'pending' OR state = 'running';

-- Ports of one machine, reserved for one workspace; of two servers that take the same block one fails.
CREATE TABLE port_blocks (
    node_id TEXT NOT NULL,
    first_port INTEGER NOT NULL,
    port_count INTEGER NOT NULL,
    environment_id TEXT NOT NULL UNIQUE REFERENCES task_environments (id) ON DELETE CASCADE,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (node_id, first_port)
);

-- No foreign key: what an attempt made outlives the task's row.
CREATE TABLE workspace_creations (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    state TEXT NOT NULL,
    task_dir_name TEXT NOT NULL,
    worktrees TEXT NOT NULL DEFAULT '[]',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    folder_seal TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_workspace_creations_state ON workspace_creations (state);

-- Worktrees that were made ahead of time and are no task's. No foreign key: what is on disk outlives the row of
-- its repository. The proof is '' while one is being made.
CREATE TABLE idle_worktrees (
    id TEXT NOT NULL PRIMARY KEY,
    repository_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    state TEXT NOT NULL,
    repository_path TEXT NOT NULL,
    worktree_path TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    proof TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_idle_worktrees_node_state ON idle_worktrees (node_id, state, repository_id);

-- What removals moved into trash folders and nobody has unlinked yet. No foreign key, as for idle worktrees.
CREATE TABLE removed_directories (
    path TEXT NOT NULL PRIMARY KEY,
    inode BIGINT NOT NULL,
    node_id TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    clean_commit TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    due_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_removed_directories_due ON removed_directories (node_id, due_at);

CREATE TABLE task_sessions (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    task_environment_id TEXT DEFAULT '',
    agent_profile_id TEXT,
    name TEXT DEFAULT '',
    state TEXT NOT NULL DEFAULT 'CREATED',
    error_message TEXT DEFAULT '',
    is_primary INTEGER DEFAULT 0,
    acp_session_id TEXT NOT NULL DEFAULT '',
    started_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_sessions_task_started ON task_sessions (task_id, started_at);
CREATE INDEX idx_task_sessions_environment ON task_sessions (task_environment_id)
    WHERE task_environment_id <> '';
CREATE INDEX idx_task_sessions_state ON task_sessions (state);
CREATE UNIQUE INDEX uniq_task_sessions_primary ON task_sessions (task_id) WHERE is_primary = 1;

-- No foreign key: the record of a process outlives its session, so that the process can be ended.
CREATE TABLE executions (
    id TEXT NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    executor_id TEXT NOT NULL,
    node_id TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'starting',
    process TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);

CREATE TABLE task_session_turns (
    id TEXT NOT NULL PRIMARY KEY,
    task_session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    started_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    stop_reason TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_turns_session_started ON task_session_turns (task_session_id, started_at);

CREATE TABLE task_session_messages (
    id TEXT NOT NULL PRIMARY KEY,
    task_session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    task_id TEXT DEFAULT '',
    turn_id TEXT NOT NULL REFERENCES task_session_turns (id) ON DELETE CASCADE,
    ordinal BIGINT NOT NULL DEFAULT 0,
    author_type TEXT NOT NULL DEFAULT 'user',
    type TEXT NOT NULL DEFAULT 'message',
    content TEXT NOT NULL,
    -- The length of content in UTF-16 code units, kept so that appending need not read the text.
    content_units BIGINT NOT NULL DEFAULT 0,
    metadata TEXT DEFAULT '{}',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX uniq_messages_session_ordinal ON task_session_messages (task_session_id, ordinal);
CREATE INDEX idx_messages_turn_id ON task_session_messages (turn_id);
CREATE INDEX idx_messages_permission ON task_session_messages (task_session_id, ordinal)
    WHERE type = 'permission_request';

-- No foreign key on the task: a job outlives the row it deletes.
CREATE TABLE task_resource_cleanup_jobs (
    id TEXT NOT NULL PRIMARY KEY,
    operation_id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    task_title TEXT NOT NULL DEFAULT '',
    trigger TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    resource_snapshot TEXT NOT NULL DEFAULT '{}',
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TIMESTAMP,
    node_id TEXT NOT NULL DEFAULT '',
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_expires_at TIMESTAMP,
    fence BIGINT NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    stakes TEXT NOT NULL DEFAULT '[]',
    accepted TEXT NOT NULL DEFAULT '[]',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP
);
CREATE INDEX idx_task_resource_cleanup_jobs_due
    ON task_resource_cleanup_jobs (state, next_attempt_at, created_at);
CREATE INDEX idx_task_resource_cleanup_jobs_task_id ON task_resource_cleanup_jobs (task_id);

-- No foreign key: a seal holds work, so its record goes only when the seal itself went.
CREATE TABLE workspace_seals (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    environment_repo_id TEXT NOT NULL DEFAULT '',
    repository_id TEXT NOT NULL,
    repository_path TEXT NOT NULL,
    worktree_path TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    branch TEXT NOT NULL DEFAULT '',
    file_count BIGINT NOT NULL DEFAULT 0,
    size_bytes BIGINT NOT NULL DEFAULT 0,
    left_out TEXT NOT NULL DEFAULT '[]',
    created_at TIMESTAMP NOT NULL,
    kind TEXT NOT NULL DEFAULT 'worktree'
);
CREATE INDEX idx_workspace_seals_task ON workspace_seals (task_id, created_at);
CREATE INDEX idx_workspace_seals_age ON workspace_seals (node_id, created_at);

-- The seal of the folder around an environment's worktrees, or of its scratch folder, while that is given back.
CREATE TABLE task_environment_folder_seals (
    task_environment_id TEXT NOT NULL PRIMARY KEY REFERENCES task_environments (id) ON DELETE CASCADE,
    seal_id TEXT NOT NULL
);

-- Worktrees that lost the row that owned them; nothing on disk is touched because of a row here.
CREATE TABLE unowned_worktrees (
    id TEXT NOT NULL PRIMARY KEY,
    worktree_id TEXT NOT NULL DEFAULT '',
    repository_id TEXT NOT NULL DEFAULT '',
    worktree_path TEXT NOT NULL DEFAULT '',
    worktree_branch TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL,
    source_table TEXT NOT NULL DEFAULT '',
    source_id TEXT NOT NULL DEFAULT '',
    task_id TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_unowned_worktrees_worktree_id ON unowned_worktrees (worktree_id);

-- How much room places on a server's disk take, as it was last measured.
CREATE TABLE storage_measures (
    node_id TEXT NOT NULL,
    path TEXT NOT NULL,
    size_bytes BIGINT NOT NULL DEFAULT 0,
    file_count BIGINT NOT NULL DEFAULT 0,
    is_complete INTEGER NOT NULL DEFAULT 1,
    measured_at TIMESTAMP NOT NULL,
    unowned_since TIMESTAMP,
    PRIMARY KEY (node_id, path)
);

-- What a person put into quarantine. No foreign key: what is on disk outlives every other row.
CREATE TABLE quarantine_entries (
    id TEXT NOT NULL PRIMARY KEY,
    node_id TEXT NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    original_path TEXT NOT NULL,
    held_path TEXT NOT NULL,
    restore_path TEXT NOT NULL DEFAULT '',
    repository_id TEXT NOT NULL DEFAULT '',
    repository_path TEXT NOT NULL DEFAULT '',
    registration TEXT NOT NULL DEFAULT '',
    device BIGINT NOT NULL,
    inode BIGINT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    requested_by TEXT NOT NULL DEFAULT '',
    size_bytes BIGINT NOT NULL DEFAULT 0,
    job_id TEXT NOT NULL,
    error_message TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    held_at TIMESTAMP,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_quarantine_entries_node ON quarantine_entries (node_id, state, held_at);

-- What a person answered where an upgrade must not guess.
CREATE TABLE upgrade_decisions (
    conflict TEXT NOT NULL PRIMARY KEY,
    choice TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE event_sequence (
    id INTEGER NOT NULL PRIMARY KEY,
    last_seq BIGINT NOT NULL
);
INSERT INTO event_sequence (id, last_seq) VALUES (1, 0);

CREATE TABLE events (
    seq /*pg BIGINT*//*sqlite INTEGER*/ NOT NULL PRIMARY KEY,
    created_at TIMESTAMP NOT NULL,
    body TEXT NOT NULL
);
