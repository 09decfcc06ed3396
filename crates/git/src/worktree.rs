//! Making and looking at linked worktrees.
//!
//! Invariant: a failed creation leaves nothing that it made, and touches nothing that it did not make. So the
//! path and the branch must be free before, and the branch is made first by a compare-and-swap: whoever made
//! it is certain.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant, Registration, settled};
use crate::{Git, GitError, HeadState, Oid, failpoint, removal};

/// Parallel checkout pays for large repositories; Git itself stays with one worker below a hundred files.
const CHECKOUT_WORKERS: &str = "checkout.workers=4";

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// Any place in the repository.
    pub repo: PathBuf,
    /// The absolute path of the directory to make; nothing may be there.
    pub path: PathBuf,
    /// The branch to make; it may not exist.
    pub branch: String,
    /// The commit to start at.
    pub start: Oid,
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
    /// Makes a worktree on a new branch, under the lock of the repository.
    pub fn add_worktree(&self, plan: &WorktreePlan) -> Result<WorktreeIdentity, GitError> {
        if !plan.path.is_absolute() {
            return Err(GitError::RelativePath { path: plan.path.clone() });
        }
        let common_dir = self.common_dir(&plan.repo)?;
        let lock = self.lock_repository(&common_dir)?;
        refuse_taken_path(&common_dir, &plan.path)?;
        failpoint!("git.worktree.before_add");
        self.create_branch(plan, &lock)?;
        failpoint!("git.worktree.after_branch");
        let added = self.check_out(plan, &lock);
        failpoint!("git.worktree.after_add");
        match self.finished_worktree(plan, &common_dir) {
            Ok(identity) => {
                if let Err(error) = added {
                    tracing::warn!(path = %plan.path.display(), %error, "the worktree is complete, but a hook failed");
                }
                Ok(identity)
            }
            Err(unfinished) => {
                if let Err(error) = removal::undo_creation(self, plan, &lock) {
                    tracing::error!(path = %plan.path.display(), %error, "a failed creation left something behind");
                }
                Err(added.err().unwrap_or(unfinished))
            }
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
        let common_dir = self.common_dir(repo)?;
        let registrations = registration::list(&common_dir)?;
        let command = self.read("listing the worktrees of", repo).args(["worktree", "list", "--porcelain"]);
        // Before 2.36 Git ended lines with line breaks only, and paths with line breaks could not be told.
        let has_nul = self.is_at_least(2, 36);
        let (command, end) = if has_nul { (command.arg("-z"), b'\0') } else { (command, b'\n') };
        let listed = command.stdout()?;
        let lines: Vec<&[u8]> = listed.split(|byte| *byte == end).collect();
        let records = lines.split(|line| line.is_empty()).filter(|record| !record.is_empty());
        Ok(records.map(|record| parse_record(record, &registrations)).collect())
    }

    /// Makes the branch, or fails when it exists: decided by Git, in one step.
    fn create_branch(&self, plan: &WorktreePlan, lock: &RepositoryLock) -> Result<(), GitError> {
        let reference = format!("refs/heads/{}", plan.branch);
        let taken = |reason: String| GitError::BranchTaken {
            repo: plan.repo.clone(),
            branch: plan.branch.clone(),
            reason,
        };
        // Git prints the name that it would use: another one for an expression such as `@{-1}`.
        let command =
            self.read("checking a branch name for", &plan.repo).args(["check-ref-format", "--branch"]);
        let checked = command.arg(&plan.branch).output()?;
        if !checked.is_success() || checked.stdout.trim_ascii_end() != plan.branch.as_bytes() {
            return Err(taken("Git does not allow the name".into()));
        }
        let (start, message) = (plan.start.as_str(), format!("branch: Created from {}", plan.start));
        // The empty old value demands that the branch does not exist.
        let command = self.write("making a branch in", &plan.repo, lock);
        let command = command.args(["update-ref", "--create-reflog", "-m", &message]);
        match command.args([reference.as_str(), start, &"0".repeat(start.len())]).run() {
            Err(GitError::Failed { message, .. }) => Err(taken(message)),
            other => other,
        }
    }

    fn check_out(&self, plan: &WorktreePlan, lock: &RepositoryLock) -> Result<(), GitError> {
        let parent = plan.path.parent().unwrap_or(&plan.path);
        std::fs::create_dir_all(parent).map_err(GitError::io("making the folder", parent))?;
        let command = self.write("making a worktree of", &plan.repo, lock);
        // On an existing branch Git sets no upstream, so that a push never goes to the branch it started from.
        let command = command.args(["-c", CHECKOUT_WORKERS, "worktree", "add", "--quiet", "--"]);
        command.args([plan.path.as_os_str(), plan.branch.as_ref()]).run()
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
        let dir = common_dir.join("worktrees").join(&identity.registration);
        let is_being_made = dir.join("locked").exists() || !dir.join("index").exists();
        if is_being_made || dir.join("index.lock").exists() {
            return Err(unfinished("a worktree that is only half made is there"));
        }
        let wanted = HeadState::Branch { name: plan.branch.clone(), tip: Some(plan.start.clone()) };
        if head != wanted {
            return Err(unfinished("a worktree with another commit or branch is there"));
        }
        Ok(identity)
    }
}

fn refuse_taken_path(common_dir: &Path, path: &Path) -> Result<(), GitError> {
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
