//! Seals of workspaces: what a task's worktree, or the folder around its worktrees, was when it was given back, and
//! where that is kept.

use crate::clock::Timestamp;
use crate::id::{CleanupJobId, EnvironmentRepoId, NodeId, RepositoryId, SealId, TaskId};
use crate::words;

words! {
    /// What a seal is of.
    pub enum SealKind("kind of seal") {
        /// A worktree; the seal is in its repository.
        Worktree = "worktree",
        /// A folder that is no worktree: a scratch folder, or what lies beside the worktrees of a task. The seal is in
        /// a repository of Freehold's own.
        Folder = "folder",
    }
}

/// The record of one seal. What it holds is in the repository, under a ref of the seal's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSeal {
    /// Its id and name.
    pub id: SealId,
    /// What it is of.
    pub kind: SealKind,
    /// The task whose workspace it was.
    pub task_id: TaskId,
    /// The cleanup job that took it.
    pub job_id: CleanupJobId,
    /// The server whose file system holds the repository.
    pub node_id: NodeId,
    /// The row of the worktree; none for a folder, and for what a failed creation left.
    pub environment_repo_id: Option<EnvironmentRepoId>,
    /// The repository; [`RepositoryId::unnamed`] for a folder.
    pub repository_id: RepositoryId,
    /// The absolute path of the repository that holds the seal.
    pub repository_path: String,
    /// The absolute path of the worktree or folder.
    pub worktree_path: String,
    /// The commit that holds the seal; a purge names it.
    pub commit: String,
    /// The branch that was checked out; empty when HEAD was detached.
    pub branch: String,
    /// How many files it holds.
    pub file_count: u64,
    /// How large they are together.
    pub size_bytes: u64,
    /// What it does not hold, at most [`MAX_LEFT_OUT`].
    pub left_out: Vec<SealLeftOut>,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// How many places of what was left out a record names.
pub const MAX_LEFT_OUT: usize = 100;

/// Something that a seal does not hold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SealLeftOut {
    /// Its path relative to the top of the worktree.
    pub path: String,
    /// Its size; none where it could not be found out.
    pub size_bytes: Option<u64>,
    /// Why, in one word: `disposable`, `too_large`, `over_total`, `nested_repository`, `submodule`, `mount`,
    /// `unreadable` or `special`.
    pub reason: String,
}

/// How long deleted tasks and seals that nothing refers to are kept unless a setting says otherwise: 30 days.
pub const RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
