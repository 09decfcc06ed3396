//! Seals: restorable copies of workspaces, kept under private refs of their repository.
//!
//! Terms: a *seal* is one commit under `refs/freehold/seals/<id>`. Its tree holds every file as its bytes are on
//! disk, the index, and the state files of the registration; its parents keep the commits alive that only the
//! workspace remembers. What a seal does not hold is *left out*, and said with its reason.
//!
//! Layout of the tree: `files/` tracked and untracked files, `ignored/` precious ignored files, `odd/` files
//! whose names Git does not accept in a tree, `staged/` what the index holds, `objects/` what only conflicts and
//! state files mention, `state/` the files of the registration, `index` the bytes of the index, and
//! `manifest.json` everything that a tree cannot say.
//!
//! Invariants: no filter, hook or setting of a person takes part, as the objects are made here; a seal has its
//! name only after it was read back and the disk was looked at again; sealing changes nothing in the workspace.
//! `removal` alone takes a seal away.

use std::path::{Path, PathBuf};

use crate::{FileChange, FileDiff, Git, GitError, HeadState, IdleWorktree, Oid};

mod content;
mod disk;
mod folder;
mod index_file;
mod layout;
mod manifest;
mod object;
mod pack;
mod path_text;
mod read;
mod restore;
mod state;
mod take;
mod tree;
mod witness;

pub(crate) use folder::look_at_folder;
pub use folder::{FolderRestoreRequest, FolderSealRequest, RestoredFolder, SealedFolder};
pub use restore::GroundUse;
pub(crate) use restore::{CommitFiles, Fresh, extended_attributes};
pub use witness::SealedWorktree;

/// Where the refs of seals are.
const SPACE: &str = "refs/freehold/seals/";

/// The longest id, in bytes: a file name together with Git's suffix for a lock.
const MAX_ID_BYTES: usize = 200;

/// A workspace to be sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealRequest {
    /// Any place in the repository.
    pub repo: PathBuf,
    /// The absolute path of the worktree.
    pub path: PathBuf,
    /// The name of the seal: letters, digits, `-`, `_` and `.`, at most 200 bytes.
    pub id: String,
    /// When it is taken, in seconds since 1970.
    pub created_at_unix: i64,
    /// The commit that the work is compared with, where one is recorded.
    pub base: Option<Oid>,
    /// Names of directories that are left out when Git ignores all that is in them; a `*` stands for any text.
    pub disposable: Vec<String>,
    /// How much of the ignored files is kept.
    pub limits: SealLimits,
}

impl SealRequest {
    /// Asks for a seal with the usual disposable directories and limits.
    #[must_use]
    pub fn new(repo: &Path, path: &Path, id: &str, created_at_unix: i64) -> Self {
        let disposable = crate::removal::DISPOSABLE.map(str::to_owned).into();
        Self {
            repo: repo.to_owned(),
            path: path.to_owned(),
            id: id.to_owned(),
            created_at_unix,
            base: None,
            disposable,
            limits: SealLimits::default(),
        }
    }
}

/// How much of the ignored files a seal keeps. Tracked and untracked files know no limit: they are work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealLimits {
    /// The largest ignored file that is kept.
    pub ignored_file_bytes: u64,
    /// The most that all kept ignored files have together.
    pub ignored_total_bytes: u64,
}

impl Default for SealLimits {
    /// 64 MiB for a file and 512 MiB for all.
    fn default() -> Self {
        Self { ignored_file_bytes: 64 << 20, ignored_total_bytes: 512 << 20 }
    }
}

/// A seal as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// Its name.
    pub id: String,
    /// The commit that holds it; what a purge must name.
    pub commit: Oid,
    /// When it was taken, in seconds since 1970.
    pub created_at_unix: i64,
    /// Where the worktree, or the folder, was.
    pub path: PathBuf,
    /// What was checked out; none for a folder that is no worktree.
    pub head: Option<HeadState>,
    /// The commit that the work is compared with, where one was recorded.
    pub base: Option<Oid>,
    /// A rebase, merge or the like that was not finished, in one word.
    pub operation_in_progress: Option<String>,
    /// How many files it holds.
    pub file_count: u64,
    /// How large they are together.
    pub size_bytes: u64,
    /// What it does not hold, by path.
    pub left_out: Vec<LeftOut>,
}

impl Seal {
    /// What was left out although it may be work: a reason not to give the workspace back.
    pub fn unsealed_work(&self) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter().filter(|left| left.reason.may_be_work())
    }
}

/// Something that a seal does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path relative to the top of the worktree.
    pub path: PathBuf,
    /// Its size, that of a directory with everything in it; none where that could not be found out.
    pub size_bytes: Option<u64>,
    /// Why it is not in the seal.
    pub reason: LeftOutReason,
}

/// Why something is not in a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// An ignored directory or file that can be made again.
    Disposable,
    /// An ignored file above the limit for one file.
    TooLarge,
    /// An ignored file for which the limit for all files left no room.
    OverTotal,
    /// A repository or worktree of its own.
    NestedRepository,
    /// A submodule that is checked out.
    Submodule,
    /// A directory on another file system.
    Mount,
    /// A file or directory that may not be read.
    Unreadable,
    /// A socket, a pipe or a device, which has no content.
    Special,
}

impl LeftOutReason {
    /// Whether work may be lost with it.
    #[must_use]
    pub const fn may_be_work(self) -> bool {
        !matches!(self, Self::Disposable | Self::Special)
    }
}

/// A seal in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSeal {
    /// Its name.
    pub id: String,
    /// The commit that holds it.
    pub commit: Oid,
    /// When it was taken, in seconds since 1970.
    pub created_at_unix: i64,
}

/// One file of a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFile {
    /// Its path relative to the top of the worktree.
    pub path: PathBuf,
    /// Its size; that of a link is the length of its target.
    pub size_bytes: u64,
    /// What Git made of it.
    pub kind: SealedKind,
    /// Whether it is a symbolic link.
    pub is_link: bool,
}

/// What Git makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedKind {
    /// The index has it.
    Tracked,
    /// Git neither tracks nor ignores it.
    Untracked,
    /// Git ignores it.
    Ignored,
}

/// A seal to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRequest {
    /// Any place in the repository.
    pub repo: PathBuf,
    /// The name of the seal.
    pub id: String,
    /// The absolute path of the worktree to make; nothing may be there.
    pub path: PathBuf,
    /// What is checked out.
    pub branch: RestoreBranch,
}

/// What a restored worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreBranch {
    /// What was checked out when it was sealed.
    Sealed,
    /// A new branch of this name, at the sealed commit.
    New(String),
    /// The sealed commit, without a branch.
    Detached,
}

/// A worktree that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where it is.
    pub path: PathBuf,
    /// The canonical common directory of its repository.
    pub common_dir: PathBuf,
    /// The name of its registration.
    pub registration: String,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// What is checked out.
    pub head: HeadState,
    /// The seal, which stays until it is purged.
    pub seal: Seal,
}

/// Why a seal was not taken or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The id cannot name a seal.
    #[error("{id:?} cannot name a seal; use letters, digits, `-`, `_` and `.`, at most {MAX_ID_BYTES} bytes")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// Another seal has the id.
    #[error("a seal {id:?} with other content exists already; it was kept, choose another id")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// Files kept changing while they were sealed.
    #[error(
        "{} changed again and again while it was sealed; nothing was kept, \
         stop what works in {} and try again", path.display(), worktree.display()
    )]
    Changing {
        /// The worktree.
        worktree: PathBuf,
        /// The first file that changed, relative to the top of the worktree.
        path: PathBuf,
    },
    /// What was written does not read back as it was meant.
    #[error("the seal {id:?} could not be verified: {reason}; nothing was kept")]
    Unverified {
        /// The id.
        id: String,
        /// What differs.
        reason: String,
    },
    /// A seal is not the one that was to be purged.
    #[error("the seal {id:?} is another one than was to be purged; it was kept")]
    Replaced {
        /// The id.
        id: String,
        /// The commit that holds it now.
        now: Oid,
    },
    /// No seal has the id.
    #[error("there is no seal {id:?}; it may have been purged")]
    Unknown {
        /// The id.
        id: String,
    },
    /// The seal does not say what a seal must say.
    #[error("the seal {id:?} cannot be read: {reason}")]
    Damaged {
        /// The id.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// Git or the file system refused.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Why a seal was not restored. Nothing that existed before was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Something is at the path, or a worktree is registered there.
    #[error("nothing can be restored at {}: {by}; choose another path", path.display())]
    PathTaken {
        /// The path.
        path: PathBuf,
        /// What is there.
        by: String,
    },
    /// The branch has another commit than when it was sealed.
    #[error(
        "the branch {branch:?} moved since it was sealed; it was left alone, \
         restore on another branch or without one"
    )]
    BranchMoved {
        /// The branch.
        branch: String,
        /// The commit that was sealed; none for a branch that had none yet.
        sealed: Option<Oid>,
        /// The commit that it has now.
        now: Oid,
    },
    /// The branch is checked out elsewhere.
    #[error(
        "the branch {branch:?} is checked out at {}; restore on another branch or without one",
        at.display()
    )]
    BranchInUse {
        /// The branch.
        branch: String,
        /// The checkout that has it.
        at: PathBuf,
    },
    /// The branch cannot be made.
    #[error("the branch {branch:?} cannot be made: {reason}; restore on another branch or without one")]
    BranchTaken {
        /// The branch.
        branch: String,
        /// What stands in the way.
        reason: String,
    },
    /// The seal is one of another kind of thing.
    #[error("the seal {id:?} is that of {is}; it is not restored as anything else")]
    OtherKind {
        /// The seal.
        id: String,
        /// What was sealed.
        is: &'static str,
    },
    /// The seal has no commit to check out without a branch.
    #[error("the seal {id:?} was taken before the first commit; it can only be restored on a branch")]
    NoCommit {
        /// The seal.
        id: String,
    },
    /// The seal cannot be read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Git or the file system refused; a repetition begins anew.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Git {
    /// Copies everything in a worktree into the repository and gives the copy a name, under the lock of the
    /// repository. Taken again with nothing changed, it answers with the seal that is there.
    pub fn seal(&self, request: &SealRequest) -> Result<Seal, SealError> {
        self.seal_for_removal(request).map(|sealed| sealed.seal)
    }

    /// As [`Git::seal`]; the answer is what a removal of the worktree asks for.
    pub fn seal_for_removal(&self, request: &SealRequest) -> Result<SealedWorktree, SealError> {
        take::seal(self, request)
    }

    /// Reads what a seal says of itself.
    pub fn read_seal(&self, repo: &Path, id: &str) -> Result<Seal, SealError> {
        Ok(read::find(self, repo, id)?.seal)
    }

    /// Lists the seals of a repository, by id.
    pub fn list_seals(&self, repo: &Path) -> Result<Vec<ListedSeal>, SealError> {
        read::list(self, repo)
    }

    /// Lists the files of a seal, by path.
    pub fn seal_files(&self, repo: &Path, id: &str) -> Result<Vec<SealedFile>, SealError> {
        read::files(self, repo, id)
    }

    /// Lists the tracked and untracked files that differ from the recorded base commit, or from HEAD where none
    /// was recorded.
    pub fn seal_diff(&self, repo: &Path, id: &str) -> Result<Vec<FileChange>, SealError> {
        read::changes(self, repo, id)
    }

    /// Reads the difference of one file; the path is one that `seal_diff` names.
    pub fn seal_file_diff(&self, repo: &Path, id: &str, path: &str) -> Result<FileDiff, SealError> {
        read::file_diff(self, repo, id, path)
    }

    /// Makes the worktree of a seal again, under the lock of the repository. What exists is never overwritten;
    /// a restoration that was cut short is undone first.
    pub fn restore_seal(&self, request: &RestoreRequest) -> Result<Restored, RestoreError> {
        Ok(restore::restore(self, request, None)?.0)
    }

    /// As [`Git::restore_seal`], on the files of an idle worktree that is nobody's: only what differs is written.
    /// After an error, the idle worktree may be used up; somebody has to look before it goes.
    pub fn restore_seal_on(
        &self,
        idle: &IdleWorktree,
        request: &RestoreRequest,
    ) -> Result<(Restored, GroundUse), RestoreError> {
        restore::restore(self, request, Some(idle))
    }

    /// Looks whether the worktree at a path was restored from a seal, as one of an attempt that could not say so
    /// any more. Whoever worked in it since may have changed anything.
    pub fn find_restored(
        &self,
        repo: &Path,
        path: &Path,
        id: &str,
    ) -> Result<Option<Restored>, RestoreError> {
        restore::found(self, repo, path, id)
    }
}

/// The ref of a seal; refuses an id that is no plain file name.
pub(crate) fn reference(id: &str) -> Result<String, SealError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_fit = (1..=MAX_ID_BYTES).contains(&id.len())
        && id.bytes().all(is_plain)
        && !id.starts_with(['.', '-'])
        && !id.ends_with('.')
        && !id.ends_with(".lock")
        && !id.contains("..");
    if is_fit { Ok(format!("{SPACE}{id}")) } else { Err(SealError::InvalidId { id: id.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn an_id_is_a_plain_file_name() {
        for good in ["a", "01J8-task_7.2", &"x".repeat(200)] {
            assert_eq!(reference(good).unwrap(), format!("refs/freehold/seals/{good}"));
        }
        for bad in ["", ".a", "-a", "a.", "a.lock", "a..b", "a/b", "a b", "ä", "a\n", &"x".repeat(201)] {
            assert!(reference(bad).is_err(), "{bad:?}");
        }
    }
}
