//! Removal: the only code that destroys.
//!
//! A worktree is removed in an order in which every crash leaves either the whole worktree or something that
//! the next attempt recognises as done: look (under the repository's lock) → rename the directory into the
//! trash folder of the same root → remove its one registration → branch policy → unlink the trash. Never
//! `git worktree prune`, which forgets every worktree that is only absent for a moment, and never
//! `git worktree remove`, which destroys ignored files and nested repositories without a word.
//!
//! Terms: a *finding* is work that would be lost, or a reason why the directory is not what was recorded. A
//! worktree with a finding is not removed; there is no stronger way.

mod assess;
mod branch;
mod tree;

use std::path::{Path, PathBuf};

use crate::lock::RepositoryLock;
use crate::status::HeadState;
use crate::worktree::{Located, locate, registrations_of};
use crate::{Git, GitError, Oid, WorktreePlan};

/// The folder under the managed root that directories are moved to before they are unlinked.
const TRASH: &str = ".trash";

/// The capability to remove. Composed once and moved to the code that carries out claimed cleanup jobs.
#[derive(Debug)]
pub struct Remover {
    git: Git,
}

/// A worktree to be given back, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalTarget {
    /// The repository: its main checkout or the bare repository.
    pub repo: PathBuf,
    /// The absolute path of the worktree.
    pub path: PathBuf,
    /// The branch that was made for it.
    pub branch: String,
    /// The commit it was made at.
    pub base: Oid,
    /// What identified it when it was made; none when its making was cut short.
    pub expected: Option<ExpectedIdentity>,
    /// The folder under which all managed worktrees are; nothing outside is ever removed.
    pub managed_root: PathBuf,
    /// What becomes of the branch.
    pub branch_policy: BranchPolicy,
    /// Whether nobody ever got to know the path: the checkout may be half done then.
    pub never_exposed: bool,
}

/// What identified a worktree when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedIdentity {
    /// The name of its registration.
    pub registration: String,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
}

/// What becomes of the branch that was made for a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchPolicy {
    /// It stays.
    Keep,
    /// It goes; commits found on no other branch, tag or remote branch are at stake.
    RemoveIfFoundElsewhere,
}

/// What is at a recorded path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The recorded worktree.
    Present,
    /// Nothing.
    Missing,
    /// Something else.
    Occupied {
        /// What it is.
        by: String,
    },
}

/// What a look at a worktree showed. Without findings it is safe to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// What is at the path.
    pub presence: Presence,
    /// What is checked out; none when nothing is there.
    pub head: Option<HeadState>,
    /// What would be lost.
    pub findings: Vec<Finding>,
}

/// Something that stands in the way of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind it is.
    pub kind: FindingKind,
    /// Files relative to the worktree, or commits as `<short id> <subject>`; at most 50.
    pub items: Vec<String>,
    /// How many there are in all.
    pub total: u64,
    /// A sentence for people.
    pub detail: String,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// Tracked files with changes that are not committed, hidden ones included.
    Uncommitted,
    /// Files that Git does not track.
    Untracked,
    /// Ignored files that cannot be made again by a build.
    Ignored,
    /// Commits found on no branch that stays.
    Commits,
    /// A repository or worktree inside the worktree.
    NestedRepository,
    /// A rebase, merge, cherry-pick, revert or bisect that is not finished.
    OperationInProgress,
    /// The path holds something other than the recorded worktree.
    Occupied,
    /// A person locked the worktree.
    Locked,
    /// The state could not be found out.
    Unknown,
}

/// What a removal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// The directory and its registration are gone.
    Removed {
        /// Whether the branch went too.
        branch_removed: bool,
    },
    /// The directory was gone before; a registration that was left is gone too.
    AlreadyGone {
        /// Whether the branch went.
        branch_removed: bool,
    },
}

/// Why nothing, or not everything, was removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// Something stands in the way; nothing was removed.
    #[error("{} would be lost or damaged; nothing was removed", what(.0))]
    AtStake(Assessment),
    /// Git or the file system failed; a later attempt goes on where this one stopped.
    #[error(transparent)]
    Git(#[from] GitError),
}

fn what(assessment: &Assessment) -> String {
    let details: Vec<&str> = assessment.findings.iter().map(|finding| finding.detail.as_str()).collect();
    details.join("; ")
}

impl Remover {
    /// Composes the capability. There is one place that may call this: where the engine starts.
    #[must_use]
    pub fn new(git: Git) -> Self {
        Self { git }
    }

    /// Looks at a worktree and tells what would be lost; changes nothing.
    pub fn assess(git: &Git, target: &RemovalTarget) -> Result<Assessment, GitError> {
        let common_dir = git.common_dir(&target.repo)?;
        assess::assess(git, &common_dir, target)
    }

    /// Removes a worktree, after another look under the repository's lock. Can be repeated.
    pub fn remove(&self, target: &RemovalTarget) -> Result<RemovalOutcome, RemovalError> {
        let common_dir = self.git.common_dir(&target.repo)?;
        let lock = self.git.lock_repository(&common_dir)?;
        let assessment = assess::assess(&self.git, &common_dir, target)?;
        if !assessment.findings.is_empty() {
            return Err(RemovalError::AtStake(assessment));
        }
        let located = locate_any(&common_dir, target)?;
        let was_present = target.path.symlink_metadata().is_ok();
        let trashed = if was_present { Some(move_to_trash(target, located.as_ref())?) } else { None };
        fail::fail_point!("git.removal.after_rename", |_| std::process::abort());
        self.remove_registrations(&common_dir, target, located.as_ref())?;
        fail::fail_point!("git.removal.after_registration", |_| std::process::abort());
        let branch_removed = branch::apply_policy(&self.git, target, &lock)?;
        require_gone(&common_dir, target)?;
        drop(lock);
        if let Some(trashed) = trashed {
            tree::unlink(&trashed)?;
        }
        if was_present {
            return Ok(RemovalOutcome::Removed { branch_removed });
        }
        Ok(RemovalOutcome::AlreadyGone { branch_removed })
    }

    /// Unlinks what an interrupted removal left in the trash folder of a root. Everything there was assessed
    /// before it was moved.
    pub fn empty_trash(&self, managed_root: &Path) -> Result<(), GitError> {
        let Ok(entries) = std::fs::read_dir(managed_root.join(TRASH)) else { return Ok(()) };
        entries.flatten().try_for_each(|entry| tree::unlink(&entry.path()))
    }

    /// Removes the one registration of the worktree: the located one, or those that name the absent path.
    fn remove_registrations(
        &self,
        common_dir: &Path,
        target: &RemovalTarget,
        located: Option<&Located>,
    ) -> Result<(), GitError> {
        let names = match located {
            Some(located) => vec![located.registration.clone()],
            None => registrations_of(common_dir, &target.path),
        };
        let is_recorded =
            |name: &String| target.expected.as_ref().is_none_or(|expected| expected.registration == *name);
        names
            .iter()
            .filter(|name| is_recorded(name))
            .try_for_each(|name| remove_registration(common_dir, name))
    }
}

/// Recognises the worktree; one whose making was cut short may have a directory but no registration yet.
fn locate_any(common_dir: &Path, target: &RemovalTarget) -> Result<Option<Located>, GitError> {
    match locate(common_dir, &target.path) {
        Err(GitError::NotTheWorktree { .. }) if target.never_exposed => Ok(None),
        located => located,
    }
}

/// Moves the directory out of the way and makes sure that it was the one that was looked at.
fn move_to_trash(target: &RemovalTarget, located: Option<&Located>) -> Result<PathBuf, GitError> {
    use std::os::unix::fs::MetadataExt as _;
    let trash = target.managed_root.join(TRASH);
    let failed =
        |operation, path: &Path, source| GitError::FileSystem { operation, path: path.to_owned(), source };
    std::fs::create_dir_all(&trash).map_err(|source| failed("make the trash folder", &trash, source))?;
    let found = target.path.symlink_metadata().map_err(|source| failed("look at", &target.path, source))?;
    let away = trash.join(format!("{}-{}", found.dev(), found.ino()));
    std::fs::rename(&target.path, &away).map_err(|source| failed("move away", &target.path, source))?;
    let moved = away.symlink_metadata().map_err(|source| failed("look at", &away, source))?;
    let is_same = located.is_none_or(|located| (located.device, located.inode) == (moved.dev(), moved.ino()));
    if is_same && moved.is_dir() {
        return Ok(away);
    }
    // Someone put something else there in the last instant: it goes back, untouched.
    std::fs::rename(&away, &target.path).map_err(|source| failed("move back", &target.path, source))?;
    Err(GitError::NotTheWorktree {
        path: target.path.clone(),
        reason: "it was replaced at this very moment".into(),
    })
}

fn remove_registration(common_dir: &Path, name: &str) -> Result<(), GitError> {
    let admin = common_dir.join("worktrees").join(name);
    tree::unlink(&admin)?;
    // Git does the same: the folder of registrations is there only while there are any.
    let _ = std::fs::remove_dir(common_dir.join("worktrees"));
    Ok(())
}

/// Success is what the disk says.
fn require_gone(common_dir: &Path, target: &RemovalTarget) -> Result<(), GitError> {
    let is_there = target.path.symlink_metadata().is_ok();
    let registrations = registrations_of(common_dir, &target.path);
    if !is_there && registrations.is_empty() {
        return Ok(());
    }
    let reason = format!("after its removal: directory there: {is_there}, registrations: {registrations:?}");
    Err(GitError::NotTheWorktree { path: target.path.clone(), reason })
}

/// Takes back what a failed `git worktree add` left. The caller holds the lock since before it saw that neither
/// the path nor the branch was there.
pub(crate) fn undo_failed_add(
    git: &Git,
    plan: &WorktreePlan,
    common_dir: &Path,
    lock: &RepositoryLock,
) -> Result<(), GitError> {
    let registrations = registrations_of(common_dir, &plan.path);
    let is_ours = !registrations.is_empty() || tree::is_bare_beginning(&plan.path);
    if is_ours && plan.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        tree::unlink(&plan.path)?;
    }
    for name in registrations {
        remove_registration(common_dir, &name)?;
    }
    branch::remove_at(git, &plan.repo, &plan.branch, &plan.start, lock).map(drop)
}
