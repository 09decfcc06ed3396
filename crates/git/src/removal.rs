//! The only code that destroys: gives a worktree back, and nothing that it is not certain of.
//!
//! Terms: a *finding* is something that would be lost, or a reason to doubt that a directory is the one that
//! was recorded. A worktree without findings is *safe*.
//!
//! Order, each step repeatable after a crash before or after it: take the lock of the repository; put back what
//! an interrupted removal moved away; look again; move the directory into the trash folder, which is one rename
//! and makes the path free at once; hide the registration; look once more, where nobody finds the directory by its
//! path nor Git by its registration, and put both back when anything changed; remove the one registration; treat
//! the branch by the policy, by compare-and-swap; look whether all of it is gone. What is in the trash then is
//! *reaped* later, entry by entry, without following a link or crossing into another file system.
//!
//! Invariant: a failed step stops the removal. There is no stronger tool to fall back on: no force, no prune of
//! other registrations, no removal of a directory that could not be identified.

use std::path::{Path, PathBuf};

use crate::{
    Git, GitError, HeadState, IdlePlan, LeftOutReason, Oid, Prepared, Seal, SealError, SealedWorktree, pool,
};

mod assess;
mod checkout;
mod commits;
mod folder;
mod in_use;
mod merged;
mod purge;
mod quarantine;
mod reap;
mod remove;
mod restoration;
mod survey;
mod target;
mod unlink;

pub use folder::FolderTarget;
pub use quarantine::{PlaceMove, PlaceTarget};
pub(crate) use remove::undo_creation;
pub(crate) use restoration::{undo_folder_restoration, undo_restoration};
pub(crate) use survey::DISPOSABLE;

/// The right to remove worktrees; composed once and moved to the code that runs cleanup jobs, so that nothing
/// else can name it.
#[derive(Debug)]
pub struct Remover {
    git: Git,
}

impl Remover {
    /// Makes the capability from the git program.
    #[must_use]
    pub const fn new(git: Git) -> Self {
        Self { git }
    }

    /// Tells what a removal would lose; changes nothing and takes no lock, so that a dialog can ask.
    pub fn assess(git: &Git, target: &RemovalTarget) -> Result<Assessment, GitError> {
        Ok(assess::assess(git, target, None, &git.common_dir(&target.repo)?)?.assessment)
    }

    /// Asks the remotes of the repository for commits of the target that nothing here remembers, as a narrow fetch
    /// refspec lets Git forget what was pushed. Takes no lock, as a remote may take its time.
    pub fn pushed(git: &Git, target: &RemovalTarget) -> Result<Vec<Pushed>, GitError> {
        merged::pushed(git, target)
    }

    /// As [`Remover::assess`], while nobody else of Freehold changes the repository: one that is being changed can
    /// look damaged.
    pub fn assess_at_rest(git: &Git, target: &RemovalTarget) -> Result<Assessment, GitError> {
        let lock = git.lock_repository_of(&target.repo)?;
        Ok(assess::assess(git, target, None, lock.common_dir())?.assessment)
    }

    /// Gives a worktree back: its path is free and its registration gone when this returns. Without a seal, nothing
    /// may be lost by it; with one, it must still be as it was sealed, before and after it was moved away. Otherwise
    /// it stays, or comes back, and the error says why. Its files wait in the trash for [`Remover::reap`].
    pub fn give_back(
        &self,
        target: &RemovalTarget,
        sealed: Option<&SealedWorktree>,
    ) -> Result<GivenBack, RemovalError> {
        let lock = self.git.lock_repository_of(&target.repo)?;
        remove::give_back(&self.git, target, sealed, &lock)
    }

    /// Unlinks what a removal left in the trash, in small steps. Anything else that is at the place is left alone.
    /// After each step the caller is asked whether to go on, and may take its time to answer.
    pub fn reap(&self, entry: &TrashEntry, goes_on: &mut dyn FnMut() -> bool) -> Result<Reaped, GitError> {
        reap::reap(entry, goes_on)
    }

    /// Makes an idle worktree of what a removal left in the trash, as far as its files are those of the plan's commit.
    /// The entry stays for [`Remover::reap`], with what was of no use. A failure may leave the idle worktree half
    /// made; it was never exposed, and its removal knows it by path and commit.
    pub fn reuse(&self, entry: &TrashEntry, plan: &IdlePlan) -> Result<Prepared, GitError> {
        match reap::is_own(entry)? {
            Some(true) => pool::reuse(&self.git, entry, plan),
            _ => Ok(Prepared::Unsuited("it is not in the trash any more".to_owned())),
        }
    }

    /// Removes a worktree when nothing is lost by it, files and all; otherwise changes nothing and says what is at
    /// stake.
    pub fn remove(&self, target: &RemovalTarget) -> Result<RemovalOutcome, RemovalError> {
        self.remove_whole(target, None)
    }

    /// Removes a worktree whose work is in a seal. It must still be as it was sealed, before and after it was
    /// moved away; otherwise it stays, or comes back, and the error says what changed.
    pub fn remove_sealed(
        &self,
        target: &RemovalTarget,
        sealed: &SealedWorktree,
    ) -> Result<RemovalOutcome, RemovalError> {
        self.remove_whole(target, Some(sealed))
    }

    fn remove_whole(
        &self,
        target: &RemovalTarget,
        sealed: Option<&SealedWorktree>,
    ) -> Result<RemovalOutcome, RemovalError> {
        let given_back = self.give_back(target, sealed)?;
        for entry in &given_back.trash {
            reap::unlink(entry)?;
        }
        Ok(given_back.outcome)
    }

    /// Removes a seal that still is the given commit; tells whether it was there. What it held is gone with it.
    pub fn purge_seal(&self, repo: &Path, id: &str, commit: &Oid) -> Result<bool, SealError> {
        let lock = self.git.lock_repository_of(repo)?;
        purge::purge(&self.git, id, commit, &lock)
    }
}

impl Git {
    /// Puts a worktree back that a removal moved away without having looked at it once more; tells whether it did.
    pub fn put_back_worktree(&self, target: &RemovalTarget) -> Result<bool, GitError> {
        let lock = self.lock_repository_of(&target.repo)?;
        remove::put_back(target, &lock)
    }
}

/// A worktree to be given back, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalTarget {
    /// The repository.
    pub repo: PathBuf,
    /// The absolute path of the worktree.
    pub path: PathBuf,
    /// The branch that was made for it; what is checked out may be another by now.
    pub branch: String,
    /// The commit at which it was made; none when that was not recorded, which only matters for a worktree that
    /// is half made.
    pub base: Option<Oid>,
    /// What proves its identity; none when its creation died before it was known, or when another program made
    /// it. Without it, a directory is the worktree when it and a registration of the repository name each other.
    pub expected: Option<ExpectedIdentity>,
    /// The folder under which worktrees are made; the path must lie inside, with no link on the way, and what is
    /// removed goes through a trash folder in it.
    pub managed_root: PathBuf,
    /// What happens to the branch.
    pub branch_policy: BranchPolicy,
    /// Whether nobody could work in it, because its creation failed: it may be half made, and files that are as
    /// in the base commit are no work.
    pub never_exposed: bool,
    /// What a person agreed to lose, as it was found; it counts only as long as exactly that is found.
    pub accepted: Vec<Finding>,
    /// What was put there from the main checkout; it is no work while it is as planted.
    pub planted: Vec<crate::PlantedFile>,
    /// Commits that a remote was seen to have.
    pub pushed: Vec<Pushed>,
    /// The commits of seals that were taken of it before its directory went; what is on no branch may be in them.
    pub sealed: Vec<Oid>,
}

/// A commit that a remote has under a name that this repository does not follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The remote, as the repository names it.
    pub remote: String,
    /// The full name of the ref there.
    pub reference: String,
    /// The commit.
    pub commit: Oid,
}

impl RemovalTarget {
    /// Whether a person agreed to lose exactly this.
    #[must_use]
    pub fn accepts(&self, finding: &Finding) -> bool {
        accepts(&self.accepted, finding)
    }
}

fn accepts(accepted: &[Finding], finding: &Finding) -> bool {
    let is_same = |given: &Finding| {
        (given.kind, &given.items, given.total) == (finding.kind, &finding.items, finding.total)
    };
    finding.kind.is_discardable() && accepted.iter().any(is_same)
}

/// What was true when a worktree was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedIdentity {
    /// The name of its registration.
    pub registration: String,
    /// The device of its directory. A hint only: some systems number devices anew at every start.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
}

/// What happens to the branch that was made for a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchPolicy {
    /// It stays, and with it its commits.
    Keep,
    /// It goes when another branch, a tag, a remote branch or the seal has all its commits. Otherwise they are a
    /// finding, or, where the worktree is sealed, the branch stays.
    RemoveIfFoundElsewhere,
}

/// What is at the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The worktree.
    Present,
    /// Nothing; a registration or the branch may remain.
    Missing,
    /// Something else.
    Occupied {
        /// What, in words.
        by: String,
    },
}

/// What a removal would meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// What is at the path.
    pub presence: Presence,
    /// What is checked out, where it could be read.
    pub head: Option<HeadState>,
    /// What would be lost; none means safe.
    pub findings: Vec<Finding>,
    /// Why commits that no ref has are no loss, in sentences.
    pub found_elsewhere: Vec<String>,
}

impl Assessment {
    /// Whether nothing would be lost.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.findings.is_empty()
    }
}

/// What kind of thing would be lost, or why there is doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Changes of tracked files.
    Uncommitted,
    /// Files that Git neither tracks nor ignores.
    Untracked,
    /// Ignored files that no build makes again.
    Ignored,
    /// Commits that no branch, tag or remote branch has.
    Commits,
    /// Another repository or worktree inside.
    NestedRepository,
    /// A rebase, merge or the like that is not finished.
    OperationInProgress,
    /// Something other than the recorded worktree is at the path.
    Occupied,
    /// A person locked the worktree.
    Locked,
    /// Programs still work inside.
    InUse,
    /// Files that a seal does not hold: too large, or not to be read.
    Unsealed,
    /// The state could not be found out.
    Unknown,
}

impl FindingKind {
    /// Whether a seal holds all of what such a finding names.
    #[must_use]
    pub const fn is_sealable(self) -> bool {
        matches!(
            self,
            Self::Uncommitted | Self::Untracked | Self::Ignored | Self::Commits | Self::OperationInProgress
        )
    }

    /// Whether a person may agree to lose what such a finding names. The others are doubts, which no agreement
    /// settles.
    #[must_use]
    pub const fn is_discardable(self) -> bool {
        self.is_sealable() || matches!(self, Self::NestedRepository | Self::Unsealed)
    }
}

/// Something that would be lost, or a reason for doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// Paths relative to the worktree, or commits as `<short id> <subject>`; at most 50.
    pub items: Vec<String>,
    /// How many there are.
    pub total: u64,
    /// A sentence for people.
    pub detail: String,
}

/// How many items a finding names.
const MAX_ITEMS: usize = 50;

impl Finding {
    fn new(kind: FindingKind, mut items: Vec<String>, detail: impl Into<String>) -> Self {
        let total = items.len() as u64;
        items.sort();
        items.truncate(MAX_ITEMS);
        Self { kind, items, total, detail: detail.into() }
    }

    /// What a seal left out although it may be work. Repositories inside and other file systems are found by an
    /// assessment too, and named there.
    #[must_use]
    pub fn unsealed(sealed: &SealedWorktree) -> Option<Self> {
        Self::unsealed_in(&sealed.seal)
    }

    /// As [`Finding::unsealed`], of any seal.
    #[must_use]
    pub fn unsealed_in(seal: &Seal) -> Option<Self> {
        let reasons = [LeftOutReason::TooLarge, LeftOutReason::OverTotal, LeftOutReason::Unreadable];
        let left_out = seal.unsealed_work().filter(|left| reasons.contains(&left.reason));
        let items: Vec<String> = left_out.map(|left| left.path.to_string_lossy().into_owned()).collect();
        let detail = "Files are too large to be sealed, or may not be read.";
        (!items.is_empty()).then(|| Self::new(FindingKind::Unsealed, items, detail))
    }

    /// What could not be found out is never taken for clean.
    fn unknown(error: &GitError) -> Self {
        let detail = format!("The state could not be found out: {error}.");
        Self { kind: FindingKind::Unknown, items: Vec::new(), total: 0, detail }
    }
}

/// How a removal ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// The worktree, or what was left of it, is gone.
    Removed {
        /// Whether its branch is gone too.
        branch_removed: bool,
    },
    /// Nothing of it was there any more.
    AlreadyGone,
}

/// What a worktree left when it was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenBack {
    /// How it ended.
    pub outcome: RemovalOutcome,
    /// What is in the trash now and waits to be reaped: the worktree itself, and what earlier removals of the same
    /// path left that were cut short.
    pub trash: Vec<TrashEntry>,
}

/// A directory that a removal moved into the trash to stay there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashEntry {
    /// Its absolute path. The name says which path and which inode were removed.
    pub path: PathBuf,
    /// Its inode.
    pub inode: u64,
}

/// How far the reaping of an entry came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// Nothing of it is there any more.
    Gone,
    /// The caller did not want to go on.
    Paused,
    /// Something else is at its place, which is left alone.
    Foreign,
}

/// Why a removal did not happen.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// Something would be lost; nothing was changed.
    #[error("work would be lost: {}", details(.0))]
    AtStake(Assessment),
    /// The worktree is not as it was sealed; it stayed, or was put back.
    #[error("{} changed after it was sealed; nothing was removed", path.display())]
    Changed {
        /// The first file that differs, relative to the top of the worktree.
        path: PathBuf,
    },
    /// Git or the file system refused; a repetition continues where it stopped.
    #[error(transparent)]
    Git(#[from] GitError),
}

fn details(assessment: &Assessment) -> String {
    assessment.findings.iter().map(|finding| finding.detail.as_str()).collect::<Vec<_>>().join(" ")
}

/// The name of the trash folder.
const TRASH: &str = ".trash";

/// How the entries of a worktree in the trash folder of its managed root begin, by which they are recognised.
#[must_use]
pub fn trash_name(path: &Path) -> String {
    format!("{:016x}-", crate::lock::path_hash(path))
}

/// The folder in the managed root to which worktrees go before they are unlinked.
fn trash_dir(managed_root: &Path) -> PathBuf {
    managed_root.join(TRASH)
}
