//! What a seal says of itself beyond its files: one JSON document in its tree.
//!
//! Without the time of the seal, which its commit has: two seals of the same workspace have the same manifest.

use serde::{Deserialize, Serialize};

use super::path_text::PathText;
use super::{LeftOut, LeftOutReason};
use crate::command::path_from_bytes;
use crate::{GitError, HeadState, Oid};

/// The version of the layout and of this document.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The absolute path of the worktree.
    pub(super) path: PathText,
    pub(super) head: ManifestHead,
    pub(super) base: Option<String>,
    pub(super) operation_in_progress: Option<String>,
    pub(super) file_count: u64,
    pub(super) size_bytes: u64,
    /// Branches that an operation in progress will go back to.
    pub(super) parked: Vec<ParkedBranch>,
    /// Refs of the worktree where they are no files.
    pub(super) refs: Vec<WorktreeRef>,
    pub(super) has_index: bool,
    pub(super) permissions: Permissions,
    /// Directories that a tree cannot hold, as they are empty.
    pub(super) empty_directories: Vec<PathText>,
    pub(super) untracked: Vec<PathText>,
    pub(super) odd: Vec<OddFile>,
    pub(super) left_out: Vec<ManifestLeftOut>,
    /// What is to be said of a folder that is no worktree; none for a worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<ManifestFolder>,
}

/// A folder that is no worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestFolder {
    /// Its own permissions.
    pub(super) permissions: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestHead {
    /// The branch, without `refs/heads/`; none when HEAD was detached.
    pub(super) branch: Option<String>,
    pub(super) commit: Option<String>,
}

impl ManifestHead {
    /// A folder has neither branch nor commit.
    pub(super) fn of(head: Option<&HeadState>) -> Self {
        let commit = head.and_then(HeadState::tip).map(|tip| tip.as_str().to_owned());
        Self { branch: head.and_then(HeadState::branch).map(str::to_owned), commit }
    }

    pub(super) fn state(&self) -> Result<Option<HeadState>, GitError> {
        let tip: Option<Oid> = self.commit.as_deref().map(str::parse).transpose()?;
        Ok(match (&self.branch, tip) {
            (Some(name), tip) => Some(HeadState::Branch { name: name.clone(), tip }),
            (None, Some(tip)) => Some(HeadState::Detached { tip }),
            (None, None) => None,
        })
    }
}

/// A branch that is checked out nowhere as long as an operation is in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ParkedBranch {
    pub(super) branch: String,
    pub(super) commit: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorktreeRef {
    pub(super) name: String,
    pub(super) commit: String,
}

/// The permissions of files and directories: the usual ones of this worktree, and each that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Permissions {
    pub(super) file: u32,
    pub(super) executable: u32,
    pub(super) directory: u32,
    pub(super) others: Vec<(PathText, u32)>,
}

/// A file whose name no tree can hold, stored under another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OddFile {
    pub(super) path: PathText,
    /// Its name in `odd/`.
    pub(super) name: String,
    pub(super) is_ignored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestLeftOut {
    pub(super) path: PathText,
    pub(super) size_bytes: Option<u64>,
    pub(super) reason: LeftOutReason,
}

impl ManifestLeftOut {
    pub(super) fn shown(&self) -> LeftOut {
        let path = path_from_bytes(&self.path.0);
        LeftOut { path, size_bytes: self.size_bytes, reason: self.reason }
    }
}
