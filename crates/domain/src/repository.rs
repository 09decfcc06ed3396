//! Registered repositories and their use by tasks.

use crate::clock::Timestamp;
use crate::id::{RepositoryId, TaskId, TaskRepositoryId, WorkspaceId};

/// A Git repository on this machine that tasks can work on. Freehold never owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The name shown; by default the last part of its path.
    pub name: String,
    /// The absolute path of its main checkout, or of the bare repository.
    pub local_path: String,
    /// The branch that new tasks start from unless another is named.
    pub default_branch: String,
    /// What the names of task branches begin with, for example `freehold/`.
    pub branch_prefix: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One repository that a task works on, with the branch it starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRepository {
    /// Its id.
    pub id: TaskRepositoryId,
    /// The task.
    pub task_id: TaskId,
    /// The repository.
    pub repository_id: RepositoryId,
    /// The branch, tag or commit the work starts from; empty means the repository's default branch.
    pub base_branch: String,
    /// Its place among the task's repositories, from 0.
    pub position: i64,
    /// When it was added.
    pub created_at: Timestamp,
}

/// The prefix of task branches of a repository that names none.
pub const DEFAULT_BRANCH_PREFIX: &str = "freehold/";
