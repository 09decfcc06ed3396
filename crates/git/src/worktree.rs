//! Making and looking at linked worktrees.
//!
//! Invariant: a failed creation leaves nothing that it made, and touches nothing that it did not make. So the
//! path must be free before, and a branch that is made is made first by a compare-and-swap: whoever made it is
//! certain. A branch that was there before stays.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::branch::existing::checkout_named_in;
use crate::command::{commit_of, path_from_bytes};
use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant, Registration, settled};
use crate::{Git, GitError, HeadState, Oid, failpoint, removal};

/// Parallel checkout pays for large repositories; Git itself stays with one worker below a hundred files.
pub(crate) const CHECKOUT_WORKERS: &str = "checkout.workers=4";

/// Large files stay pointers: fetching all of them for every task takes minutes and disk, and a person can ask for
/// them in the workspace. The settings hold for this command alone.
pub(crate) const SKIP_FILTERS: [&str; 6] =
    ["-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false"];
/// The same for hooks that run Git LFS.
pub(crate) const SKIP_SMUDGE: (&str, &str) = ("GIT_LFS_SKIP_SMUDGE", "1");

/// How often, and after what pause, the list of worktrees is looked at while another git writes to it.
const LOOKS: u32 = 50;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// Any place in the repository.
    pub repo: PathBuf,
    /// The absolute path of the directory to make; nothing may be there.
    pub path: PathBuf,
    /// The branch to check out.
    pub branch: String,
    /// Whether the branch is made or was there before.
    pub branch_use: BranchUse,
    /// The commit to start at; a branch that was there before must be at it.
    pub start: Oid,
}

/// Where the branch of a new worktree comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchUse {
    /// It is made for the worktree; it may not exist.
    Make,
    /// It was there before, and stays whatever becomes of the worktree.
    CheckOut,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    /// What makes it recognisable later.
    pub identity: WorktreeIdentity,
    /// What a hook of the repository failed with, which harms nothing that was made; otherwise none.
    pub warning: Option<String>,
}

/// What makes a worktree recognisable later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeIdentity {
    /// The path at which it was asked for.
    pub path: PathBuf,
    /// The name of its registration, the directory under `<common dir>/worktrees`.
    pub registration: String,
    /// The canonical common directory of its repository.
    pub common_dir: PathBuf,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// The commit that is checked out.
    pub head: Oid,
}

/// One checkout of a repository, as Git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Its path, free of links; the directory may be missing.
    pub path: PathBuf,
    /// The name of its registration; none for the main checkout.
    pub registration: Option<String>,
    /// The commit that is checked out.
    pub head: Option<Oid>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The reason for which it is locked; may be empty.
    pub locked: Option<String>,
    /// Whether Git would forget it, as its directory is missing.
    pub is_prunable: bool,
}

impl Git {
    /// Makes a worktree on a new branch or on one that was there before, under the lock of the repository.
    pub fn add_worktree(&self, plan: &WorktreePlan) -> Result<MadeWorktree, GitError> {
        if !plan.path.is_absolute() {
            return Err(GitError::RelativePath { path: plan.path.clone() });
        }
        let common_dir = self.common_dir(&plan.repo)?;
        let lock = self.lock_repository(&common_dir)?;
        refuse_taken_path(&common_dir, &plan.path)?;
        failpoint!("git.worktree.before_add");
        match plan.branch_use {
            BranchUse::Make => self.create_branch(plan, &lock)?,
            BranchUse::CheckOut => self.require_branch_at_start(plan)?,
        }
        failpoint!("git.worktree.after_branch");
        let added = self.check_out(plan, &common_dir, &lock);
        failpoint!("git.worktree.after_add");
        match self.finished_worktree(plan, &common_dir) {
            Ok(identity) => {
                Ok(MadeWorktree { identity, warning: added.err().map(|error| hook_warning(&error)) })
            }
            Err(unfinished) => {
                if let Err(error) = removal::undo_creation(self, plan, &lock) {
                    tracing::error!(path = %plan.path.display(), %error, "a failed creation left something behind");
                }
                Err(match added {
                    Ok(()) => unfinished,
                    Err(error) => self.told_where(plan, error),
                })
            }
        }
    }

    /// Fails unless the branch is free to be checked out and still at the commit that was chosen.
    fn require_branch_at_start(&self, plan: &WorktreePlan) -> Result<(), GitError> {
        self.require_unused_branch(&plan.repo, &plan.branch)?;
        let tip = commit_of(self, &plan.repo, &format!("refs/heads/{}", plan.branch))?;
        if tip.as_ref() == Some(&plan.start) {
            return Ok(());
        }
        Err(GitError::BranchMoved { repo: plan.repo.clone(), branch: plan.branch.clone() })
    }

    /// Git also refuses a branch that is being rebased elsewhere, which no list of checkouts tells.
    fn told_where(&self, plan: &WorktreePlan, error: GitError) -> GitError {
        let GitError::Failed { message, .. } = &error else { return error };
        match checkout_named_in(message) {
            Some(checkout) => self.branch_in_use(&plan.repo, &plan.branch, &checkout).unwrap_or(error),
            None => error,
        }
    }

    /// Looks at the path: the identity of the worktree there, or none when nothing is there. Anything else there
    /// is an error that says what it is.
    pub fn inspect_worktree(&self, repo: &Path, path: &Path) -> Result<Option<WorktreeIdentity>, GitError> {
        Ok(self.look_at(&self.common_dir(repo)?, path)?.map(|(identity, _)| identity))
    }

    /// Looks at the path; also tells what is checked out.
    fn look_at(
        &self,
        common_dir: &Path,
        path: &Path,
    ) -> Result<Option<(WorktreeIdentity, HeadState)>, GitError> {
        let occupied = |by: String| GitError::Occupied { path: path.to_owned(), by };
        match registration::occupant(common_dir, path)? {
            Occupant::Nothing => Ok(None),
            Occupant::Unlinked(_) => Err(occupied("a directory without a registration is there".into())),
            Occupant::Other(by) => Err(occupied(by)),
            Occupant::Worktree(registration, metadata) => {
                let state = self.head(&registration.dir)?;
                let head =
                    state.tip().cloned().ok_or_else(|| GitError::NoCommit { path: path.to_owned() })?;
                let identity = WorktreeIdentity {
                    path: path.to_owned(),
                    registration: registration.name,
                    common_dir: common_dir.to_owned(),
                    device: metadata.dev(),
                    inode: metadata.ino(),
                    head,
                };
                Ok(Some((identity, state)))
            }
        }
    }

    /// Lists the main checkout and all linked worktrees.
    pub fn list_worktrees(&self, repo: &Path) -> Result<Vec<ListedWorktree>, GitError> {
        self.list_worktrees_of(repo, &self.common_dir(repo)?)
    }

    /// As [`Git::list_worktrees`], of a repository whose common directory is known.
    pub(crate) fn list_worktrees_of(
        &self,
        repo: &Path,
        common_dir: &Path,
    ) -> Result<Vec<ListedWorktree>, GitError> {
        let registrations = registration::list(common_dir)?;
        let (listed, end) = self.worktree_records(repo)?;
        let lines: Vec<&[u8]> = listed.split(|byte| *byte == end).collect();
        let records = lines.split(|line| line.is_empty()).filter(|record| !record.is_empty());
        Ok(records.map(|record| parse_record(record, &registrations)).collect())
    }

    /// What Git prints about all checkouts, and what ends a line of it. Git fails when it looks at a registration
    /// that another git is just writing; then it looks again.
    fn worktree_records(&self, repo: &Path) -> Result<(Vec<u8>, u8), GitError> {
        // Before 2.36 Git ended lines with line breaks only, and paths with line breaks could not be told.
        let has_nul = self.is_at_least(2, 36);
        let mut looks = 0;
        loop {
            let command =
                self.read("listing the worktrees of", repo).args(["worktree", "list", "--porcelain"]);
            let (command, end) = if has_nul { (command.arg("-z"), b'\0') } else { (command, b'\n') };
            looks += 1;
            match command.stdout() {
                Err(GitError::Failed { message, .. })
                    if looks < LOOKS
                        && message.contains("/worktrees/")
                        && message.contains("failed to read") =>
                {
                    std::thread::sleep(LOOK_PAUSE);
                }
                listed => return Ok((listed?, end)),
            }
        }
    }

    /// Makes the branch, or fails when it exists: decided by Git, in one step.
    fn create_branch(&self, plan: &WorktreePlan, lock: &RepositoryLock) -> Result<(), GitError> {
        let reference = format!("refs/heads/{}", plan.branch);
        let taken = |reason: String| GitError::BranchTaken {
            repo: plan.repo.clone(),
            branch: plan.branch.clone(),
            reason,
        };
        self.require_branch_name(&plan.repo, &plan.branch)?;
        let (start, message) = (plan.start.as_str(), format!("branch: Created from {}", plan.start));
        // The empty old value demands that the branch does not exist.
        let command = self.write("making a branch in", &plan.repo, lock);
        let command = command.args(["update-ref", "--create-reflog", "-m", &message]);
        match command.args([reference.as_str(), start, &"0".repeat(start.len())]).run() {
            Err(GitError::Failed { message, .. }) => Err(taken(message)),
            other => other,
        }
    }

    /// Fails unless Git allows the name for a branch.
    pub(crate) fn require_branch_name(&self, repo: &Path, branch: &str) -> Result<(), GitError> {
        // Git prints the name that it would use: another one for an expression such as `@{-1}`.
        let command = self.read("checking a branch name for", repo).args(["check-ref-format", "--branch"]);
        let checked = command.arg(branch).output()?;
        if checked.is_success() && checked.stdout.trim_ascii_end() == branch.as_bytes() {
            return Ok(());
        }
        let (repo, branch) = (repo.to_owned(), branch.to_owned());
        Err(GitError::BranchTaken { repo, branch, reason: "Git does not allow the name".into() })
    }

    /// Checks the branch out. A large checkout takes its time; when it is complete, only a hook of the repository
    /// can still run, and for that there is a limit.
    fn check_out(
        &self,
        plan: &WorktreePlan,
        common_dir: &Path,
        lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        let parent = plan.path.parent().unwrap_or(&plan.path);
        std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
        let command = self.write("making a worktree of", &plan.repo, lock);
        // On an existing branch Git sets no upstream, so that a push never goes to the branch it started from.
        let command = command.env(SKIP_SMUDGE.0, SKIP_SMUDGE.1).args(SKIP_FILTERS);
        let command = command.args(["-c", CHECKOUT_WORKERS, "worktree", "add", "--quiet", "--"]);
        let command = command.args([plan.path.as_os_str(), plan.branch.as_ref()]);
        command.run_within(self.hook_limit(), || is_checked_out(common_dir, &plan.path))
    }

    /// Looks whether everything that was asked for is there. Git's own word is not enough: it also reports a
    /// failure when only a hook of the repository failed.
    fn finished_worktree(
        &self,
        plan: &WorktreePlan,
        common_dir: &Path,
    ) -> Result<WorktreeIdentity, GitError> {
        let unfinished = |by: &str| GitError::Occupied { path: plan.path.clone(), by: by.to_owned() };
        let Some((identity, head)) = self.look_at(common_dir, &plan.path)? else {
            return Err(GitError::PathMissing { path: plan.path.clone() });
        };
        if !is_complete(&common_dir.join("worktrees").join(&identity.registration)) {
            return Err(unfinished("a worktree that is only half made is there"));
        }
        let wanted = HeadState::Branch { name: plan.branch.clone(), tip: Some(plan.start.clone()) };
        if head != wanted {
            return Err(unfinished("a worktree with another commit or branch is there"));
        }
        Ok(identity)
    }
}

/// Whether Git has written everything of a worktree, by its registration. Git locks what it still makes.
fn is_complete(registration: &Path) -> bool {
    let has = |name: &str| registration.join(name).exists();
    !has("locked") && has("index") && !has("index.lock")
}

/// Whether a worktree is there that Git has completed.
fn is_checked_out(common_dir: &Path, path: &Path) -> bool {
    let there = registration::occupant(common_dir, path);
    matches!(there, Ok(Occupant::Worktree(registration, _)) if is_complete(&registration.dir))
}

/// What went wrong although the worktree is complete: only a hook of the repository runs after that.
fn hook_warning(error: &GitError) -> String {
    let said = match error {
        GitError::Failed { message, .. } => message.clone(),
        other => other.to_string(),
    };
    format!("The worktree is complete, but a hook of the repository failed (post-checkout): {said}")
}

pub(crate) fn refuse_taken_path(common_dir: &Path, path: &Path) -> Result<(), GitError> {
    let is_there = match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(GitError::io("looking at", path)(error)),
    };
    if is_there || !registration::list_at(common_dir, path)?.is_empty() {
        return Err(GitError::PathTaken { path: path.to_owned() });
    }
    Ok(())
}

/// One record: lines of a keyword and, after a space, its value.
fn parse_record(lines: &[&[u8]], registrations: &[Registration]) -> ListedWorktree {
    let value = |keyword: &str| {
        lines.iter().find_map(|line| match line.strip_prefix(keyword.as_bytes())? {
            [] => Some(&[][..]),
            [b' ', value @ ..] => Some(value),
            _ => None,
        })
    };
    let text = |keyword| value(keyword).map(|value| String::from_utf8_lossy(value).into_owned());
    let path = settled(&path_from_bytes(value("worktree").unwrap_or_default()));
    let registration = registrations.iter().find(|registration| registration.is_at(&path));
    let head = text("HEAD").and_then(|head| head.parse().ok());
    let branch = text("branch").map(|branch| branch.trim_start_matches("refs/heads/").to_owned());
    ListedWorktree {
        registration: registration.map(|registration| registration.name.clone()),
        // Git says so by zeros where HEAD cannot be read or has no commit.
        head: head.filter(|head: &Oid| head.as_str().bytes().any(|digit| digit != b'0')),
        branch,
        locked: text("locked"),
        is_prunable: value("prunable").is_some(),
        path,
    }
}
