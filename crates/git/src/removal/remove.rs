//! Removes what was assessed as safe, step by step, under the lock of the repository.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::assess::{Look, assess, fate_of_branch, trash_entry};
use super::commits::BranchFate;
use super::unlink::unlink_directory;
use super::{BranchPolicy, Presence, RemovalError, RemovalOutcome, RemovalTarget, trash_dir};
use crate::lock::RepositoryLock;
use crate::registration::{self, Registration};
use crate::{Git, GitError, Oid, WorktreePlan, failpoint};

/// Looks again and removes; the lock is that of the target's repository.
pub(super) fn remove(
    git: &Git,
    target: &RemovalTarget,
    lock: &RepositoryLock,
) -> Result<RemovalOutcome, RemovalError> {
    let look = assess(git, target)?;
    if !look.assessment.is_safe() {
        return Err(RemovalError::AtStake(look.assessment));
    }
    if let (Presence::Present, Some(inode)) = (&look.assessment.presence, look.inode) {
        move_to_trash(target, inode)?;
    }
    failpoint!("git.removal.after_rename");
    if let Some(registration) = &look.registration {
        remove_registration(lock.common_dir(), registration)?;
    }
    failpoint!("git.removal.after_registration");
    let emptied = empty_trash_of(target)?;
    let branch_removed = remove_branch(git, target, lock, look.branch.clone())?;
    failpoint!("git.removal.after_branch");
    verify(git, target, lock.common_dir(), branch_removed)?;
    Ok(outcome(&look, emptied, branch_removed))
}

/// Removes what a failed creation made; its branch was made by it and is still at the start commit.
pub(crate) fn undo_creation(
    git: &Git,
    plan: &WorktreePlan,
    lock: &RepositoryLock,
) -> Result<RemovalOutcome, RemovalError> {
    let target = RemovalTarget {
        repo: plan.repo.clone(),
        path: plan.path.clone(),
        branch: plan.branch.clone(),
        base: Some(plan.start.clone()),
        expected: None,
        managed_root: plan.path.parent().unwrap_or(&plan.path).to_owned(),
        branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
        never_exposed: true,
    };
    remove(git, &target, lock)
}

const fn outcome(look: &Look, emptied: bool, branch_removed: bool) -> RemovalOutcome {
    let was_there = matches!(look.assessment.presence, Presence::Present) || look.registration.is_some();
    if was_there || emptied || branch_removed {
        RemovalOutcome::Removed { branch_removed }
    } else {
        RemovalOutcome::AlreadyGone
    }
}

/// Frees the path in one step. The rename takes whatever has the name at that moment, so what was moved is
/// looked at again, and put back when it is not what was assessed.
fn move_to_trash(target: &RemovalTarget, inode: u64) -> Result<(), GitError> {
    let trash = trash_dir(&target.managed_root);
    std::fs::create_dir_all(&trash).map_err(GitError::io("making the folder", &trash))?;
    let entry = trash_entry(target, inode);
    std::fs::rename(&target.path, &entry).map_err(GitError::io("moving into the trash", &target.path))?;
    let moved = entry.symlink_metadata().map_err(GitError::io("looking at", &entry))?;
    if moved.ino() != inode {
        std::fs::rename(&entry, &target.path).map_err(GitError::io("moving out of the trash", &entry))?;
        let by = "something else was put there during the removal".to_owned();
        return Err(GitError::Occupied { path: target.path.clone(), by });
    }
    Ok(())
}

/// Removes exactly one registration. `gitdir` goes last: it says whose the registration is.
pub(super) fn remove_registration(common_dir: &Path, registration: &Registration) -> Result<(), GitError> {
    unlink_directory(&registration.dir, Some("gitdir"))?;
    // Git removes the folder of the registrations with the last of them; fails, as it should, before that.
    _ = std::fs::remove_dir(common_dir.join("worktrees"));
    Ok(())
}

/// Unlinks what this or an earlier, interrupted removal of the target moved into the trash. An entry names the
/// inode that was assessed; anything else under such a name is left alone.
fn empty_trash_of(target: &RemovalTarget) -> Result<bool, GitError> {
    let trash = trash_dir(&target.managed_root);
    let entries = match trash.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(GitError::io("listing", &trash)(error)),
    };
    let mut is_emptied = false;
    for entry in entries {
        let path: PathBuf = entry.map_err(GitError::io("listing", &trash))?.path();
        let metadata = path.symlink_metadata().map_err(GitError::io("looking at", &path))?;
        if metadata.is_dir() && path == trash_entry(target, metadata.ino()) {
            unlink_directory(&path, None)?;
            is_emptied = true;
        }
    }
    _ = std::fs::remove_dir(&trash);
    Ok(is_emptied)
}

/// Removes the branch if it still is where it was assessed. One that moved meanwhile is judged anew.
fn remove_branch(
    git: &Git,
    target: &RemovalTarget,
    lock: &RepositoryLock,
    assessed: BranchFate,
) -> Result<bool, RemovalError> {
    let BranchFate::Goes(tip) = assessed else { return Ok(false) };
    let Err(error) = delete_branch(git, target, lock, &tip) else { return Ok(true) };
    match fate_of_branch(git, target, None)? {
        BranchFate::Absent => Ok(true),
        BranchFate::Stays => Ok(false),
        BranchFate::Goes(moved) if moved != tip => {
            delete_branch(git, target, lock, &moved)?;
            Ok(true)
        }
        BranchFate::Goes(_) => Err(error.into()),
        BranchFate::WouldLose(finding) => {
            let mut look = assess(git, target)?;
            if look.assessment.is_safe() {
                look.assessment.findings.push(finding);
            }
            Err(RemovalError::AtStake(look.assessment))
        }
    }
}

fn delete_branch(
    git: &Git,
    target: &RemovalTarget,
    lock: &RepositoryLock,
    tip: &Oid,
) -> Result<(), GitError> {
    let reference = format!("refs/heads/{}", target.branch);
    let command = git.write("removing a branch of", &target.repo, lock);
    command.args(["update-ref", "-d", &reference, tip.as_str()]).run()
}

/// Success is what disk and refs say, not what a command returned.
fn verify(
    git: &Git,
    target: &RemovalTarget,
    common_dir: &Path,
    branch_removed: bool,
) -> Result<(), GitError> {
    let still_there = |what| Err(GitError::StillThere { path: target.path.clone(), what });
    if target.path.symlink_metadata().is_ok() {
        return still_there("the directory");
    }
    let is_registered = registration::list_at(common_dir, &target.path)?.into_iter().any(|registration| {
        target.expected.as_ref().is_none_or(|expected| expected.registration == registration.name)
    });
    if is_registered {
        return still_there("the registration");
    }
    let reference = format!("refs/heads/{}", target.branch);
    if branch_removed && crate::command::commit_of(git, &target.repo, &reference)?.is_some() {
        return still_there("the branch");
    }
    Ok(())
}
