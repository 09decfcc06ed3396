//! Directories that a removal took out of sight: they wait in a trash folder until somebody has time to unlink them.

use crate::clock::Timestamp;
use crate::id::{NodeId, RepositoryId};

/// A directory in a trash folder that a removal moved there. What is in such a folder without a record of this kind
/// is not Freehold's to unlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedDirectory {
    /// Its absolute path.
    pub path: String,
    /// Its inode; a directory with another one at the path is not the one.
    pub inode: u64,
    /// The server whose disk it is on; no other one may touch it.
    pub node_id: NodeId,
    /// The repository that it was a worktree of.
    pub repository_id: RepositoryId,
    /// The commit whose files it has, and nothing else; empty where it has anything else, or where that is not known.
    pub clean_commit: String,
    /// Why it could not be unlinked yet, in words; may be empty.
    pub reason: String,
    /// When it was moved there.
    pub created_at: Timestamp,
    /// When it is unlinked, or when that is tried again.
    pub due_at: Timestamp,
}
