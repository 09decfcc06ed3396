-- The table by which a session held worktrees. In a hybrid it stands beside the normalised ownership.

CREATE TABLE task_session_worktrees (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES task_sessions (id) ON DELETE CASCADE,
    worktree_id TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    branch_slug TEXT NOT NULL DEFAULT '',
    position INTEGER DEFAULT 0,
    worktree_path TEXT DEFAULT '',
    worktree_branch TEXT DEFAULT '',
    status TEXT NOT NULL DEFAULT 'active',
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    merged_at TIMESTAMP,
    deleted_at TIMESTAMP,
    UNIQUE (session_id, worktree_id)
);
CREATE INDEX idx_task_session_worktrees_repository_id ON task_session_worktrees (repository_id);
CREATE INDEX idx_task_session_worktrees_session_id ON task_session_worktrees (session_id);
CREATE INDEX idx_task_session_worktrees_status ON task_session_worktrees (status);
CREATE INDEX idx_task_session_worktrees_worktree_id ON task_session_worktrees (worktree_id);
