//! Registered repositories and their use by tasks.

use crate::clock::Timestamp;
use crate::id::{RepositoryId, TaskId, TaskRepositoryId, WorkspaceId};
use crate::words;

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
    /// How the task gets its place in the repository.
    pub start: WorkStart,
    /// Its place among the task's repositories, from 0.
    pub position: i64,
    /// When it was added.
    pub created_at: Timestamp,
}

/// How a task gets its place in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkStart {
    /// A worktree on a new branch.
    NewBranch {
        /// The name of the branch; none lets Freehold make one up.
        name: Option<String>,
        /// What is fetched from a remote and started from; none starts from what the repository has.
        fetched: Option<FetchedRef>,
    },
    /// A worktree on a branch that is there before.
    ExistingBranch {
        /// A local branch, or a remote one of which a local one is made.
        branch: String,
    },
    /// The main checkout itself.
    InPlace,
    /// A worktree that a person made.
    Adopted {
        /// Its absolute path.
        path: String,
    },
}

impl Default for WorkStart {
    fn default() -> Self {
        Self::NewBranch { name: None, fetched: None }
    }
}

/// A ref that is fetched from a remote before work starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedRef {
    /// The remote, as the repository names it.
    pub remote: String,
    /// The full name of the ref, for example `refs/pull/42/head`.
    pub reference: String,
}

words! {
    /// The stored word for a [`WorkStart`].
    pub enum StartKind("start kind") {
        /// Not recorded: a new branch, or the existing one that is named.
        Unrecorded = "",
        /// A new branch.
        NewBranch = "new_branch",
        /// A branch that is there before.
        ExistingBranch = "existing_branch",
        /// The main checkout.
        InPlace = "in_place",
        /// A worktree of a person.
        Adopted = "adopted",
    }
}

/// The prefix of task branches of a repository that names none.
pub const DEFAULT_BRANCH_PREFIX: &str = "freehold/";
