//! Removes what was assessed as safe, step by step, under the lock of the repository.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::assess::{Look, assess, fate_of_branch, remaining_registration, trash_entry};
use super::commits::BranchFate;
use super::unlink::unlink_directory;
use super::{
    Assessment, BranchPolicy, Presence, RemovalError, RemovalOutcome, RemovalTarget, in_use, trash_dir,
};
use crate::lock::RepositoryLock;
use crate::registration::{self, Registration};
use crate::{BranchUse, Git, GitError, Oid, SealedWorktree, WorktreePlan, failpoint};

/// Looks again and removes; the lock is that of the target's repository.
pub(super) fn remove(
    git: &Git,
    target: &RemovalTarget,
    sealed: Option<&SealedWorktree>,
    lock: &RepositoryLock,
) -> Result<RemovalOutcome, RemovalError> {
    put_back(target, lock)?;
    let mut look = assess(git, target, sealed)?;
    let inode = look.inode.filter(|_| look.assessment.presence == Presence::Present);
    if inode.is_some() && look.assessment.is_safe() {
        look.assessment.findings.extend(in_use::after_a_moment(&target.path));
    }
    if !look.assessment.is_safe() {
        return Err(RemovalError::AtStake(look.assessment));
    }
    if let Some(inode) = inode {
        let registration = look.registration.as_ref();
        if let (Some(sealed), Some(registration)) = (sealed, registration) {
            refuse_changed_record(git, sealed, registration)?;
            refuse_changed_files(sealed, &target.path)?;
        }
        failpoint!("git.removal.before_rename");
        let entry = move_to_trash(target, inode)?;
        failpoint!("git.removal.moved");
        if let Err(error) = look_behind(git, &look, sealed, &entry) {
            move_back(target, &entry)?;
            return Err(error);
        }
        // From here on the worktree goes, whatever happens.
        let decided = trash_entry(target, inode);
        std::fs::rename(&entry, &decided).map_err(GitError::io("moving in the trash", &entry))?;
    }
    failpoint!("git.removal.after_rename");
    if let Some(registration) = &look.registration {
        remove_registration(lock.common_dir(), registration)?;
    }
    failpoint!("git.removal.after_registration");
    let emptied = empty_trash_of(target)?;
    let branch_removed = remove_branch(git, target, sealed, lock, look.branch.clone())?;
    failpoint!("git.removal.after_branch");
    verify(git, target, lock.common_dir(), branch_removed)?;
    Ok(outcome(&look, emptied, branch_removed))
}

/// Removes what a failed creation made; a branch that it made is still at the start commit.
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
        branch_policy: match plan.branch_use {
            BranchUse::Make => BranchPolicy::RemoveIfFoundElsewhere,
            BranchUse::CheckOut => BranchPolicy::Keep,
        },
        never_exposed: true,
        accepted: Vec::new(),
        planted: Vec::new(),
        pushed: Vec::new(),
        sealed: Vec::new(),
    };
    remove(git, &target, None, lock)
}

fn refuse_changed_record(
    git: &Git,
    sealed: &SealedWorktree,
    registration: &Registration,
) -> Result<(), RemovalError> {
    if sealed.has_same_record(git, &registration.dir)? {
        return Ok(());
    }
    Err(RemovalError::Changed { path: ".git".into() })
}

fn refuse_changed_files(sealed: &SealedWorktree, top: &Path) -> Result<(), RemovalError> {
    match sealed.changed_file(top)? {
        Some(path) => Err(RemovalError::Changed { path }),
        None => Ok(()),
    }
}

/// Looks once more when nobody can find the worktree by its path any longer: what came into it between the look
/// and the move is still there, and so is who made it.
fn look_behind(
    git: &Git,
    look: &Look,
    sealed: Option<&SealedWorktree>,
    entry: &Path,
) -> Result<(), RemovalError> {
    if let Some(finding) = in_use::now(entry) {
        let findings = vec![finding];
        return Err(RemovalError::AtStake(Assessment { findings, ..look.assessment.clone() }));
    }
    let (Some(sealed), Some(registration)) = (sealed, &look.registration) else { return Ok(()) };
    refuse_changed_files(sealed, entry)?;
    refuse_changed_record(git, sealed, registration)
}

const fn outcome(look: &Look, emptied: bool, branch_removed: bool) -> RemovalOutcome {
    let was_there = matches!(look.assessment.presence, Presence::Present) || look.registration.is_some();
    if was_there || emptied || branch_removed {
        RemovalOutcome::Removed { branch_removed }
    } else {
        RemovalOutcome::AlreadyGone
    }
}

/// Puts back what a removal moved away that died before its second look.
pub(super) fn put_back(target: &RemovalTarget, lock: &RepositoryLock) -> Result<bool, GitError> {
    if target.path.symlink_metadata().is_ok() || remaining_registration(target, lock.common_dir())?.is_none()
    {
        return Ok(false);
    }
    match entries_of(target, undecided)?.as_slice() {
        [entry] => move_back(target, entry).map(|()| true),
        _ => Ok(false),
    }
}

/// Frees the path in one step. The rename takes whatever has the name at that moment, so what was moved is
/// looked at again, and put back when it is not what was assessed.
fn move_to_trash(target: &RemovalTarget, inode: u64) -> Result<PathBuf, GitError> {
    let trash = trash_dir(&target.managed_root);
    std::fs::create_dir_all(&trash).map_err(GitError::io("making the folder", &trash))?;
    let entry = undecided(trash_entry(target, inode));
    std::fs::rename(&target.path, &entry).map_err(GitError::io("moving into the trash", &target.path))?;
    let moved = entry.symlink_metadata().map_err(GitError::io("looking at", &entry))?;
    if moved.ino() != inode {
        move_back(target, &entry)?;
        let by = "something else was put there during the removal".to_owned();
        return Err(GitError::Occupied { path: target.path.clone(), by });
    }
    Ok(entry)
}

/// Puts back what must not go. Something that came to the path meanwhile is not overwritten: then the worktree
/// stays in the trash folder, which nothing empties of what is registered.
fn move_back(target: &RemovalTarget, entry: &Path) -> Result<(), GitError> {
    let moved = renameat_with(CWD, entry, CWD, &target.path, RenameFlags::NOREPLACE);
    moved.map_err(|error| GitError::io("moving out of the trash", entry)(error.into()))?;
    if let Some(trash) = entry.parent() {
        // Fails, as it should, while anything else is in it.
        _ = std::fs::remove_dir(trash);
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

/// Unlinks what this or an earlier, interrupted removal of the target moved into the trash.
fn empty_trash_of(target: &RemovalTarget) -> Result<bool, GitError> {
    let entries = entries_of(target, |entry| entry)?;
    for entry in &entries {
        unlink_directory(entry, None)?;
    }
    _ = std::fs::remove_dir(trash_dir(&target.managed_root));
    Ok(!entries.is_empty())
}

/// The name of an entry until it was looked at once more.
fn undecided(mut entry: PathBuf) -> PathBuf {
    entry.as_mut_os_string().push(".undecided");
    entry
}

/// What removals of the target moved into the trash. An entry names the inode that was assessed; anything else
/// under such a name is left alone.
fn entries_of(target: &RemovalTarget, named: fn(PathBuf) -> PathBuf) -> Result<Vec<PathBuf>, GitError> {
    let trash = trash_dir(&target.managed_root);
    let listed = match trash.read_dir() {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(GitError::io("listing", &trash)(error)),
    };
    let mut entries = Vec::new();
    for entry in listed {
        let path: PathBuf = entry.map_err(GitError::io("listing", &trash))?.path();
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() && path == named(trash_entry(target, metadata.ino())) => {
                entries.push(path);
            }
            Ok(_) => {}
            // Another removal has just finished.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(GitError::io("looking at", &path)(error)),
        }
    }
    Ok(entries)
}

/// Removes the branch if it still is where it was assessed. One that moved meanwhile is judged anew.
fn remove_branch(
    git: &Git,
    target: &RemovalTarget,
    sealed: Option<&SealedWorktree>,
    lock: &RepositoryLock,
    assessed: BranchFate,
) -> Result<bool, RemovalError> {
    let BranchFate::Goes(tip) = assessed else { return Ok(false) };
    let Err(error) = delete_branch(git, target, lock, &tip) else { return Ok(true) };
    match fate_of_branch(git, target, None, sealed)? {
        BranchFate::Absent => Ok(true),
        BranchFate::Stays => Ok(false),
        BranchFate::Goes(moved) if moved != tip => {
            delete_branch(git, target, lock, &moved)?;
            Ok(true)
        }
        BranchFate::Goes(_) => Err(error.into()),
        BranchFate::WouldLose(_, finding) => {
            let mut look = assess(git, target, sealed)?;
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
