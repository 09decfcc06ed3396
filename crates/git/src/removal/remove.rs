//! Removes what was assessed as safe, step by step, under the lock of the repository.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::assess::{Look, assess, fate_of_branch, remaining_registration};
use super::commits::BranchFate;
use super::unlink::unlink_directory;
use super::{
    Assessment, BranchPolicy, GivenBack, Presence, RemovalError, RemovalOutcome, RemovalTarget, TrashEntry,
    in_use, reap, trash_dir,
};
use crate::lock::RepositoryLock;
use crate::registration::{self, HIDDEN, Registration};
use crate::{BranchUse, Git, GitError, Oid, SealedWorktree, WorktreePlan, failpoint};

/// Where something is that goes, and the folder whose trash it goes through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) path: &'a Path,
    pub(super) managed_root: &'a Path,
}

impl<'a> Site<'a> {
    fn of(target: &'a RemovalTarget) -> Self {
        Self { path: &target.path, managed_root: &target.managed_root }
    }
}

/// Looks again and gives the worktree back; the lock is that of the target's repository. What is moved into the
/// trash stays there, for whoever empties it.
pub(super) fn give_back(
    git: &Git,
    target: &RemovalTarget,
    sealed: Option<&SealedWorktree>,
    lock: &RepositoryLock,
) -> Result<GivenBack, RemovalError> {
    put_back(target, lock)?;
    let mut look = assess(git, target, sealed, lock.common_dir())?;
    let inode = look.inode.filter(|_| look.assessment.presence == Presence::Present);
    if inode.is_some() && look.assessment.is_safe() {
        look.assessment.findings.extend(in_use::after_a_moment(&target.path));
    }
    if !look.assessment.is_safe() {
        return Err(RemovalError::AtStake(look.assessment));
    }
    if let Some(inode) = inode {
        if let (Some(sealed), Some(registration)) = (sealed, &look.registration) {
            refuse_changed(git, sealed, registration, &target.path)?;
        }
        move_away(git, target, sealed, &look, inode)?;
    }
    failpoint!("git.removal.after_rename");
    if let Some(registration) = &look.registration {
        remove_registration(lock.common_dir(), registration)?;
    }
    failpoint!("git.removal.after_registration");
    let branch_removed = remove_branch(git, target, sealed, lock, look.branch.clone())?;
    failpoint!("git.removal.after_branch");
    verify(git, target, lock.common_dir(), branch_removed)?;
    let trash = decided_of(&Site::of(target))?;
    Ok(GivenBack { outcome: outcome(&look, !trash.is_empty(), branch_removed), trash })
}

/// Takes the worktree out of everybody's sight, path and registration alike, and looks at it once more there;
/// what differs puts it back. When this returns well, the worktree goes, whatever happens.
fn move_away(
    git: &Git,
    target: &RemovalTarget,
    sealed: Option<&SealedWorktree>,
    look: &Look,
    inode: u64,
) -> Result<(), RemovalError> {
    failpoint!("git.removal.before_rename");
    let site = Site::of(target);
    let entry = move_to_trash(&site, inode)?;
    failpoint!("git.removal.moved");
    let hidden = look.registration.as_ref().map_or(Ok(()), Registration::hide);
    failpoint!("git.removal.hidden");
    let seen = hidden.map_err(RemovalError::from).and_then(|()| look_behind(git, look, sealed, &entry));
    if let Err(error) = seen {
        move_back(&site, look.registration.as_ref(), &entry)?;
        return Err(error);
    }
    let decided = trash_entry(&site, inode);
    Ok(std::fs::rename(&entry, &decided).map_err(GitError::io("moving in the trash", &entry))?)
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
    let given_back = give_back(git, &target, None, lock)?;
    for entry in &given_back.trash {
        reap::unlink(entry)?;
    }
    Ok(given_back.outcome)
}

/// Refuses a worktree that is not as it was sealed, in its files or in what the registration says. Both are looked
/// at at the same time.
pub(super) fn refuse_changed(
    git: &Git,
    sealed: &SealedWorktree,
    registration: &Registration,
    top: &Path,
) -> Result<(), RemovalError> {
    let (record, changed) = std::thread::scope(|scope| {
        let record = scope.spawn(|| sealed.has_same_record(git, &registration.dir));
        let changed = refuse_changed_files(sealed, top);
        (record.join(), changed)
    });
    let lost = || GitError::io("reading", &registration.dir)(ErrorKind::Other.into());
    changed?;
    if record.map_err(|_| lost())?? { Ok(()) } else { Err(RemovalError::Changed { path: ".git".into() }) }
}

/// Refuses a directory whose files are not as they were sealed.
pub(super) fn refuse_changed_files(sealed: &SealedWorktree, top: &Path) -> Result<(), RemovalError> {
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
    if let Some(finding) = in_use::after_a_moment(entry) {
        let findings = vec![finding];
        return Err(RemovalError::AtStake(Assessment { findings, ..look.assessment.clone() }));
    }
    let (Some(sealed), Some(registration)) = (sealed, &look.registration) else { return Ok(()) };
    refuse_changed(git, sealed, registration, entry)
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
    if target.path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let registration = remaining_registration(target, lock.common_dir())?;
    match (registration, entries_of(&Site::of(target), undecided)?.as_slice()) {
        (Some(registration), [entry]) => {
            move_back(&Site::of(target), Some(&registration), &entry.path).map(|()| true)
        }
        _ => Ok(false),
    }
}

/// Frees the path in one step. The rename takes whatever has the name at that moment, so what was moved is
/// looked at again, and put back when it is not what was assessed.
pub(super) fn move_to_trash(site: &Site<'_>, inode: u64) -> Result<PathBuf, GitError> {
    let trash = trash_dir(site.managed_root);
    let entry = undecided(trash_entry(site, inode));
    let mut tries = 0;
    loop {
        std::fs::create_dir_all(&trash).map_err(GitError::io("making the folder", &trash))?;
        tries += 1;
        match std::fs::rename(site.path, &entry) {
            // Whoever took the last entry out of the folder removed it meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound && tries < 3 && !trash.exists() => {}
            moved => break moved.map_err(GitError::io("moving into the trash", site.path))?,
        }
    }
    let moved = entry.symlink_metadata().map_err(GitError::io("looking at", &entry))?;
    if moved.ino() != inode {
        move_back(site, None, &entry)?;
        let by = "something else was put there during the removal".to_owned();
        return Err(GitError::Occupied { path: site.path.to_owned(), by });
    }
    Ok(entry)
}

/// Puts back what must not go: first the registration, then the directory. Something that came to the path meanwhile is not overwritten: then the worktree
/// stays in the trash folder, which nothing empties of what is registered.
pub(super) fn move_back(
    site: &Site<'_>,
    registration: Option<&Registration>,
    entry: &Path,
) -> Result<(), GitError> {
    registration.map_or(Ok(()), Registration::show)?;
    let moved = renameat_with(CWD, entry, CWD, site.path, RenameFlags::NOREPLACE);
    moved.map_err(|error| GitError::io("moving out of the trash", entry)(error.into()))?;
    if let Some(trash) = entry.parent() {
        // Fails, as it should, while anything else is in it.
        _ = std::fs::remove_dir(trash);
    }
    Ok(())
}

/// Removes exactly one registration. The pointer to the worktree goes last: it says whose the registration is.
pub(super) fn remove_registration(common_dir: &Path, registration: &Registration) -> Result<(), GitError> {
    let is_hidden = registration.dir.join(HIDDEN).exists();
    unlink_directory(&registration.dir, Some(if is_hidden { HIDDEN } else { "gitdir" }))?;
    // Git removes the folder of the registrations with the last of them; fails, as it should, before that.
    _ = std::fs::remove_dir(common_dir.join("worktrees"));
    Ok(())
}

/// What this or an earlier, interrupted removal moved into the trash to stay there.
fn decided_of(site: &Site<'_>) -> Result<Vec<TrashEntry>, GitError> {
    let entries = entries_of(site, |entry| entry)?;
    if entries.is_empty() {
        // Fails, as it should, while anything is in it.
        _ = std::fs::remove_dir(trash_dir(site.managed_root));
    }
    Ok(entries)
}

/// Unlinks what this or an earlier, interrupted removal moved into the trash; tells whether there was anything.
pub(super) fn empty_trash_of(site: &Site<'_>) -> Result<bool, GitError> {
    let entries = decided_of(site)?;
    entries.iter().try_for_each(reap::unlink)?;
    Ok(!entries.is_empty())
}

/// Where something goes before it is unlinked; found again after a crash by its name alone.
pub(super) fn trash_entry(site: &Site<'_>, inode: u64) -> PathBuf {
    trash_dir(site.managed_root).join(format!("{}{inode}", super::trash_name(site.path)))
}

/// The name of an entry until it was looked at once more.
pub(super) fn undecided(mut entry: PathBuf) -> PathBuf {
    entry.as_mut_os_string().push(".undecided");
    entry
}

/// What removals of the target moved into the trash. An entry names the inode that was assessed; anything else
/// under such a name is left alone.
pub(super) fn entries_of(
    site: &Site<'_>,
    named: fn(PathBuf) -> PathBuf,
) -> Result<Vec<TrashEntry>, GitError> {
    let trash = trash_dir(site.managed_root);
    let listed = match trash.read_dir() {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(GitError::io("listing", &trash)(error)),
    };
    let mut entries = Vec::new();
    for entry in listed {
        let path: PathBuf = entry.map_err(GitError::io("listing", &trash))?.path();
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() && path == named(trash_entry(site, metadata.ino())) => {
                entries.push(TrashEntry { path, inode: metadata.ino() });
            }
            Ok(_) => {}
            // Another removal has just finished.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
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
    let listed = git.list_worktrees_of(&target.repo, lock.common_dir())?;
    match fate_of_branch(git, target, None, sealed, &listed)? {
        BranchFate::Absent => Ok(true),
        BranchFate::Stays => Ok(false),
        BranchFate::Goes(moved) if moved != tip => {
            delete_branch(git, target, lock, &moved)?;
            Ok(true)
        }
        BranchFate::Goes(_) => Err(error.into()),
        BranchFate::WouldLose(_, finding) => {
            let mut look = assess(git, target, sealed, lock.common_dir())?;
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
