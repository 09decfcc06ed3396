//! Worktrees, branches, status and diffs through the git program; knows no task.
