//! The idle pool: worktrees that were made ahead of time and are no task's yet.

use crate::clock::Timestamp;
use crate::id::{IdleWorktreeId, NodeId, RepositoryId};
use crate::words;

words! {
    /// What is happening to an idle worktree.
    pub enum IdleState("idle worktree state") {
        /// It is being made; a crash leaves it half made.
        Preparing = "preparing",
        /// It waits for a task.
        Ready = "ready",
        /// A task is taking it; from then on it is the attempt's, or is given back.
        Taken = "taken",
        /// It is being given back by the cleanup worker.
        Returning = "returning",
        /// There may be somebody's work in it, so it stays as it is.
        Left = "left",
    }
}

/// A worktree that was made ahead of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleWorktree {
    /// Its id; its directory is named after it.
    pub id: IdleWorktreeId,
    /// The repository it is of.
    pub repository_id: RepositoryId,
    /// The server that made it; no other one may touch it.
    pub node_id: NodeId,
    /// What is happening to it.
    pub state: IdleState,
    /// The absolute path of the repository.
    pub repository_path: String,
    /// The absolute path of the worktree.
    pub path: String,
    /// The full object id of the commit that is checked out.
    pub commit: String,
    /// What proves its identity; none while it is being made.
    pub made: Option<IdleProof>,
    /// Why it is given back or left, in words; may be empty.
    pub reason: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What was true at the moment an idle worktree was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IdleProof {
    /// The canonical common directory of its repository.
    pub common_dir: String,
    /// The name of its registration.
    pub registration: String,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// What was true of its files; only the Git layer reads it.
    pub evidence: String,
}
