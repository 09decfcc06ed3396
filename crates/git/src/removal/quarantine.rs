//! Moves what is no task's into quarantine, and back: one rename on the same file system, under the lock of the
//! repository, with the same last look as a removal.
//!
//! A worktree stays one in quarantine: its registration follows it, so that Git neither forgets it nor lets its
//! branch be taken for a free one. Each step can be repeated after a crash: what already is at the new place is
//! recognised by its inode and by the link to its registration.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::assess::assess;
use super::remove::refuse_changed;
use super::survey::survey;
use super::unlink::unlink_directory;
use super::{
    Assessment, ExpectedIdentity, Finding, FindingKind, Presence, RemovalError, RemovalOutcome,
    RemovalTarget, Remover, accepts, in_use, target,
};
use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant, Registration, settled};
use crate::{Git, GitError, SealedWorktree, failpoint};

/// A directory that is no worktree, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceTarget {
    /// Its absolute path.
    pub path: PathBuf,
    /// The folder that it must lie in, with no link on the way.
    pub managed_root: PathBuf,
    /// Its inode.
    pub inode: u64,
    /// What a person agreed to lose; it counts only as long as exactly that is found.
    pub accepted: Vec<Finding>,
}

/// A directory that is moved from one place to another, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceMove {
    /// Where it is.
    pub from: PathBuf,
    /// Where it goes; nothing is overwritten there.
    pub to: PathBuf,
    /// What proves its identity; the registration is empty for a directory that is no worktree.
    pub identity: ExpectedIdentity,
    /// The repository of a worktree; none for a directory that is none.
    pub repo: Option<PathBuf>,
}

impl Remover {
    /// Tells what stands in the way of moving or removing a directory that is no worktree; changes nothing.
    pub fn assess_place(target: &PlaceTarget) -> Result<Assessment, GitError> {
        let found =
            |presence, findings| Assessment { presence, head: None, findings, found_elsewhere: Vec::new() };
        target::require_inside(&target.path, &target.managed_root)?;
        let path = &target.path;
        let occupied = |by: String| {
            let detail = format!("{} is not what was found there: {by}.", path.display());
            let findings = vec![Finding::new(FindingKind::Occupied, Vec::new(), detail)];
            found(Presence::Occupied { by }, findings)
        };
        if let Some(link) = target::link_on_the_way(path, &target.managed_root) {
            return Ok(occupied(link));
        }
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(found(Presence::Missing, Vec::new()));
            }
            Err(error) => return Err(GitError::io("looking at", path)(error)),
        };
        if !metadata.is_dir() {
            return Ok(occupied("it is no directory".into()));
        }
        if metadata.ino() != target.inode {
            return Ok(occupied("another directory is there".into()));
        }
        if path
            .parent()
            .is_some_and(|parent| parent.metadata().is_ok_and(|parent| parent.dev() != metadata.dev()))
        {
            return Ok(occupied("another file system is mounted there".into()));
        }
        let mut findings = match survey(path) {
            Ok(found) => found.into_findings(path),
            Err(error) => vec![Finding::unknown(&error)],
        };
        findings.extend(in_use::after_a_moment(path));
        findings.retain(|finding| !accepts(&target.accepted, finding));
        Ok(found(Presence::Present, findings))
    }

    /// Moves a sealed worktree into quarantine. It must still be as it was sealed, before and after the move;
    /// otherwise it stays, or comes back, and the error says what changed.
    pub fn quarantine_worktree(
        &self,
        target: &RemovalTarget,
        sealed: &SealedWorktree,
        to: &Path,
    ) -> Result<(), RemovalError> {
        let lock = self.git.lock_repository_of(&target.repo)?;
        let mut look = assess(&self.git, target, Some(sealed), lock.common_dir())?;
        if look.assessment.presence == Presence::Present && look.assessment.is_safe() {
            look.assessment.findings.extend(in_use::after_a_moment(&target.path));
        }
        // What a seal does not hold goes along; nothing is lost by a move.
        look.assessment.findings.retain(|finding| finding.kind != FindingKind::Unsealed);
        if !look.assessment.is_safe() {
            return Err(RemovalError::AtStake(look.assessment));
        }
        let (Some(inode), Some(registration)) = (look.inode, &look.registration) else {
            return Err(GitError::PathMissing { path: target.path.clone() }.into());
        };
        refuse_relative_link(&target.path)?;
        refuse_changed(&self.git, sealed, registration, &target.path)?;
        failpoint!("git.quarantine.before_rename");
        rename(&target.path, to, inode)?;
        failpoint!("git.quarantine.moved");
        if let Err(error) = self.look_behind(&look.assessment, sealed, registration, to) {
            rename(to, &target.path, inode)?;
            return Err(error);
        }
        point_to(registration, to, &lock)?;
        failpoint!("git.quarantine.registered");
        Ok(())
    }

    fn look_behind(
        &self,
        looked: &Assessment,
        sealed: &SealedWorktree,
        registration: &Registration,
        to: &Path,
    ) -> Result<(), RemovalError> {
        if let Some(finding) = in_use::after_a_moment(to) {
            return Err(RemovalError::AtStake(Assessment { findings: vec![finding], ..looked.clone() }));
        }
        refuse_changed(&self.git, sealed, registration, to)
    }

    /// Moves a directory that is no worktree into quarantine, when nothing stands in the way.
    pub fn quarantine_place(&self, target: &PlaceTarget, to: &Path) -> Result<(), RemovalError> {
        let mut looked = Self::assess_place(target)?;
        if looked.presence == Presence::Present && looked.is_safe() {
            looked.findings.extend(in_use::after_a_moment(&target.path));
        }
        if !looked.is_safe() {
            return Err(RemovalError::AtStake(looked));
        }
        if looked.presence == Presence::Missing {
            return Err(GitError::PathMissing { path: target.path.clone() }.into());
        }
        failpoint!("git.quarantine.before_rename");
        rename(&target.path, to, target.inode)?;
        failpoint!("git.quarantine.moved");
        if let Some(finding) = in_use::after_a_moment(to) {
            rename(to, &target.path, target.inode)?;
            return Err(RemovalError::AtStake(Assessment { findings: vec![finding], ..looked }));
        }
        Ok(())
    }

    /// Removes a directory that is no worktree from the quarantine, for good.
    pub fn remove_place(&self, target: &PlaceTarget) -> Result<RemovalOutcome, RemovalError> {
        let looked = Self::assess_place(target)?;
        if !looked.is_safe() {
            return Err(RemovalError::AtStake(looked));
        }
        if looked.presence == Presence::Missing {
            return Ok(RemovalOutcome::AlreadyGone);
        }
        unlink_directory(&target.path, None)?;
        Ok(RemovalOutcome::Removed { branch_removed: false })
    }
}

impl Git {
    /// Whether what was to be moved is at its new place already; a registration that a crash kept from following
    /// it does so now.
    pub fn finish_move(&self, moved: &PlaceMove) -> Result<bool, GitError> {
        if !is_at(&moved.to, moved.identity.inode) {
            return Ok(false);
        }
        let Some(repo) = &moved.repo else { return Ok(true) };
        let lock = self.lock_repository_of(repo)?;
        follow(moved, &lock)?;
        Ok(true)
    }

    /// Moves a directory to a place where nothing is, with its registration. Can be repeated. Tells whether Git knows
    /// a worktree at its new place; false when its registration was removed meanwhile.
    pub fn move_place(&self, moved: &PlaceMove) -> Result<bool, GitError> {
        let lock = moved.repo.as_ref().map(|repo| self.lock_repository_of(repo)).transpose()?;
        let is_registered = || lock.as_ref().map_or(Ok(true), |lock| follow(moved, lock));
        if is_at(&moved.to, moved.identity.inode) {
            return is_registered();
        }
        let found = moved.from.symlink_metadata().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => GitError::PathMissing { path: moved.from.clone() },
            _ => GitError::io("looking at", &moved.from)(error),
        })?;
        if !found.is_dir() || found.ino() != moved.identity.inode {
            let by = "another directory is there than the one that was put into quarantine".to_owned();
            return Err(GitError::Occupied { path: moved.from.clone(), by });
        }
        failpoint!("git.quarantine.before_return");
        rename(&moved.from, &moved.to, moved.identity.inode)?;
        failpoint!("git.quarantine.returned");
        is_registered()
    }
}

fn is_at(path: &Path, inode: u64) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.ino() == inode)
}

/// Lets the registration name the new place, when the directory there leads to it; false when it is gone.
fn follow(moved: &PlaceMove, lock: &RepositoryLock) -> Result<bool, GitError> {
    let listed = registration::list(lock.common_dir())?;
    let own = listed.into_iter().find(|registration| registration.name == moved.identity.registration);
    let Some(own) = own else { return Ok(false) };
    if !own.is_at(&moved.to) {
        point_to(&own, &moved.to, lock)?;
    }
    match registration::occupant(lock.common_dir(), &moved.to)? {
        Occupant::Worktree(found, _) if found.name == own.name => Ok(true),
        _ => {
            let by = "the directory and its registration do not name each other".to_owned();
            Err(GitError::Occupied { path: moved.to.clone(), by })
        }
    }
}

/// Writes where a worktree is into its registration.
fn point_to(registration: &Registration, to: &Path, _lock: &RepositoryLock) -> Result<(), GitError> {
    let link = settled(to).join(".git");
    let text = [link.as_os_str().as_bytes(), b"\n"].concat();
    crate::pool::replace(&registration.dir.join("gitdir"), &text)
}

/// Moves a directory in one step, and puts back what was not meant.
fn rename(from: &Path, to: &Path, inode: u64) -> Result<(), GitError> {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(GitError::io("making the folder", folder))?;
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|error| match error {
        rustix::io::Errno::EXIST | rustix::io::Errno::NOTEMPTY => GitError::PathTaken { path: to.to_owned() },
        other => GitError::io("moving", from)(other.into()),
    })?;
    let moved = to.symlink_metadata().map_err(GitError::io("looking at", to))?;
    if moved.ino() == inode {
        return Ok(());
    }
    let back = renameat_with(CWD, to, CWD, from, RenameFlags::NOREPLACE);
    back.map_err(|error| GitError::io("moving back", to)(error.into()))?;
    let by = "something else was put there meanwhile".to_owned();
    Err(GitError::Occupied { path: from.to_owned(), by })
}

/// A worktree that names its repository by a relative path would name another one from another place.
fn refuse_relative_link(path: &Path) -> Result<(), RemovalError> {
    let link = path.join(".git");
    let content = std::fs::read(&link).map_err(GitError::io("reading", &link))?;
    if content.strip_prefix(b"gitdir: ").is_some_and(|target| target.starts_with(b"/")) {
        return Ok(());
    }
    let detail = "It names its repository by a relative path, so it cannot be moved.";
    let findings = vec![Finding::new(FindingKind::Unknown, Vec::new(), detail)];
    let presence = Presence::Present;
    Err(RemovalError::AtStake(Assessment { presence, head: None, findings, found_elsewhere: Vec::new() }))
}
