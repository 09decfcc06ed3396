-- Ownership before it moved to tasks: an environment holds one worktree in columns of its own, and more of them
-- in task_environment_repos.

CREATE TABLE task_environments (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    repository_id TEXT DEFAULT '',
    executor_type TEXT NOT NULL DEFAULT '',
    executor_id TEXT DEFAULT '',
    executor_profile_id TEXT DEFAULT '',
    agent_execution_id TEXT DEFAULT '', -- only postgres
    control_port INTEGER DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'creating',
    worktree_id TEXT DEFAULT '',
    worktree_path TEXT DEFAULT '',
    worktree_branch TEXT DEFAULT '',
    workspace_path TEXT DEFAULT '',
    container_id TEXT DEFAULT '',
    sandbox_id TEXT DEFAULT '',
    task_dir_name TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE INDEX idx_task_environments_status ON task_environments (status);
CREATE INDEX idx_task_environments_task_id ON task_environments (task_id);
CREATE UNIQUE INDEX uniq_task_environments_task_id ON task_environments (task_id);

CREATE TABLE task_environment_repos (
    id TEXT PRIMARY KEY,
    task_environment_id TEXT NOT NULL REFERENCES task_environments (id) ON DELETE CASCADE,
    repository_id TEXT NOT NULL,
    branch_slug TEXT NOT NULL DEFAULT '',
    worktree_id TEXT DEFAULT '',
    worktree_path TEXT DEFAULT '',
    worktree_branch TEXT DEFAULT '',
    position INTEGER DEFAULT 0,
    error_message TEXT DEFAULT '',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    UNIQUE (task_environment_id, repository_id, branch_slug)
);
CREATE INDEX idx_task_environment_repos_env_id ON task_environment_repos (task_environment_id);
CREATE INDEX idx_task_environment_repos_repository_id ON task_environment_repos (repository_id);
