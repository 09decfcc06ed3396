//! What is checked out, and what a person has left half-way.

use std::path::Path;

use crate::command::commit_of;
use crate::{Git, GitError, Oid};

/// What the HEAD of a worktree points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadState {
    /// A branch is checked out.
    Branch {
        /// Its name without `refs/heads/`.
        name: String,
        /// Its newest commit; none on a branch that has none yet.
        tip: Option<Oid>,
    },
    /// A commit is checked out without a branch.
    Detached {
        /// The commit.
        tip: Oid,
    },
}

impl HeadState {
    /// The commit that is checked out; none on a branch without a commit.
    #[must_use]
    pub const fn tip(&self) -> Option<&Oid> {
        match self {
            Self::Branch { tip, .. } => tip.as_ref(),
            Self::Detached { tip } => Some(tip),
        }
    }

    /// The branch that is checked out.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Branch { name, .. } => Some(name),
            Self::Detached { .. } => None,
        }
    }
}

impl Git {
    /// Reads HEAD as seen from a worktree or from a Git directory.
    pub(crate) fn head(&self, dir: &Path) -> Result<HeadState, GitError> {
        let command = self.read("reading HEAD of", dir).args(["symbolic-ref", "--quiet", "HEAD"]);
        let tip = commit_of(self, dir, "HEAD")?;
        if let Some(target) = command.answer()? {
            let target = String::from_utf8_lossy(&target).trim_end().to_owned();
            let name = target.strip_prefix("refs/heads/").unwrap_or(&target).to_owned();
            return Ok(HeadState::Branch { name, tip });
        }
        let tip = tip.ok_or_else(|| GitError::NoCommit { path: dir.to_owned() })?;
        Ok(HeadState::Detached { tip })
    }
}

/// The operation that a person or an agent has begun and not finished, by what it left in the Git directory of
/// the worktree.
pub(crate) fn operation_in_progress(git_dir: &Path) -> Option<&'static str> {
    const MARKS: [(&str, &str); 7] = [
        ("rebase-merge", "rebase"),
        ("rebase-apply/applying", "am"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ];
    let sequencer = ("sequencer/todo", "sequence of cherry-picks or reverts");
    let mut marks = MARKS.into_iter().chain([sequencer]);
    marks.find(|(file, _)| git_dir.join(file).exists()).map(|(_, operation)| operation)
}
