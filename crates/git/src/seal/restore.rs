//! Restores a seal: makes the worktree beside its place and moves it there when it is complete.
//!
//! Where an idle worktree of the repository is given, its files become the *ground*: what is the same is not written
//! again.
//!
//! Terms: the *staging* folder lies beside the path and is named after the seal, so that the next attempt finds
//! what an earlier one left. Everything is made in it; the last step is one rename, which fails when something
//! came to the path meanwhile. Until then the path is free, and an attempt that was cut short is undone by the
//! next one; after it, the worktree is complete, and the next attempt only says so.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::read::{self, Stored};
use super::state::RESTORED_FROM;
use super::{RestoreBranch, RestoreError, RestoreRequest, Restored, Seal, SealError, reference};
use crate::lock::RepositoryLock;
use crate::registration::{self, Occupant, Registration, read_if_present, settled};
use crate::{Git, GitError, HeadState, IdleWorktree, failpoint, removal};

mod branch;
mod commit_files;
pub(super) mod files;
pub(super) mod ground;
mod record;

pub(crate) use commit_files::{CommitFiles, Fresh, extended_attributes};
use ground::Ground;
pub use ground::GroundUse;

/// What the name of a staging folder begins with.
const STAGING: &str = ".freehold-restore-";

/// The file in a staging folder that says which directory was complete before it was moved.
pub(super) const COMPLETE: &str = "complete";

/// The staging folder for a path, and the worktree in it.
pub(super) fn staging_of(path: &Path, id: &str) -> Option<(PathBuf, PathBuf)> {
    let staging = path.parent()?.join(format!("{STAGING}{id}"));
    let inner = staging.join(path.file_name()?);
    Some((staging, inner))
}

pub(super) fn restore(
    git: &Git,
    request: &RestoreRequest,
    idle: Option<&IdleWorktree>,
) -> Result<(Restored, GroundUse), RestoreError> {
    reference(&request.id)?;
    let path = &request.path;
    let is_plain =
        |path: &Path| path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let Some((staging, inner)) =
        staging_of(path, &request.id).filter(|_| path.is_absolute() && is_plain(path))
    else {
        return Err(GitError::RelativePath { path: path.clone() }.into());
    };
    let lock = git.lock_repository_of(&request.repo)?;
    let stored = read::find(git, &request.repo, &request.id)?;
    let head = require_head(&stored)?;
    let restoration = Restoration { git, request, lock: &lock, stored: &stored, head, staging, inner };
    if let Some(restored) = restoration.finished_before()? {
        return Ok((restored, GroundUse::Unused));
    }
    for (staging, inner, path) in restoration.left_before()? {
        removal::undo_restoration(&lock, &staging, &inner, &path)?;
    }
    restoration.refuse_taken_path()?;
    let branches = branch::decide(git, request, &stored, &lock)?;
    match restoration.make(&branches, idle) {
        Ok(restored) => Ok(restored),
        Err(error) => {
            let undone = removal::undo_restoration(&lock, &restoration.staging, &restoration.inner, path);
            if let Err(error) = undone {
                tracing::error!(path = %path.display(), %error, "a failed restoration left something behind");
            }
            Err(error)
        }
    }
}

/// A restoration under way.
struct Restoration<'a> {
    git: &'a Git,
    request: &'a RestoreRequest,
    lock: &'a RepositoryLock,
    stored: &'a Stored,
    head: &'a HeadState,
    staging: PathBuf,
    inner: PathBuf,
}

impl Restoration<'_> {
    /// Whether an earlier attempt moved the worktree to its place and died before it could say so.
    fn finished_before(&self) -> Result<Option<Restored>, RestoreError> {
        let marker = self.staging.join(COMPLETE);
        let inode = match std::fs::read_to_string(&marker) {
            Ok(text) => text.trim().parse::<u64>().ok(),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => return Err(GitError::io("reading", &marker)(error).into()),
        };
        let is_there = self.request.path.symlink_metadata().is_ok_and(|there| Some(there.ino()) == inode);
        if !is_there {
            return Ok(None);
        }
        self.leave_staging()?;
        self.restored().map(Some)
    }

    /// What attempts with this seal left that were cut short, here or where a registration leads: each staging
    /// folder, the worktree in it, and its place. The lock says that none of them is still at work.
    fn left_before(&self) -> Result<Vec<(PathBuf, PathBuf, PathBuf)>, GitError> {
        let name = format!("{STAGING}{}", self.request.id);
        let mut left = vec![(self.staging.clone(), self.inner.clone(), self.request.path.clone())];
        for registration in registration::list(self.lock.common_dir())? {
            let Some(home) = registration.worktree else { continue };
            let (Some(parent), Some(last)) = (home.parent(), home.file_name()) else { continue };
            if parent.file_name().is_some_and(|parent| parent == name.as_str()) {
                let path = parent.parent().unwrap_or(parent).join(last);
                left.push((parent.to_owned(), home.clone(), path));
            } else if let Some((staging, inner)) = staging_of(&home, &self.request.id)
                && inner.join(".git").is_file()
            {
                left.push((staging, inner, home));
            }
        }
        Ok(left)
    }

    fn refuse_taken_path(&self) -> Result<(), RestoreError> {
        let path = &self.request.path;
        let taken = |by: &str| RestoreError::PathTaken { path: path.clone(), by: by.to_owned() };
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => return Err(taken("a directory is there")),
            Ok(metadata) if metadata.is_symlink() => return Err(taken("a symbolic link is there")),
            Ok(_) => return Err(taken("a file is there")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(GitError::io("looking at", path)(error).into()),
        }
        if registration::list_at(self.lock.common_dir(), path)?.is_empty() {
            Ok(())
        } else {
            Err(taken("a worktree is registered there, and its directory is missing"))
        }
    }

    fn make(
        &self,
        branches: &branch::Branches,
        idle: Option<&IdleWorktree>,
    ) -> Result<(Restored, GroundUse), RestoreError> {
        failpoint!("git.restore.before_add");
        std::fs::create_dir_all(&self.staging).map_err(GitError::io("making the folder", &self.staging))?;
        failpoint!("git.restore.after_staging");
        // Listing what the seal holds takes as long as registering, and needs nothing of it.
        let (leaves, laid) = std::thread::scope(|scope| {
            let leaves =
                scope.spawn(|| read::leaves(self.git, self.lock.common_dir(), &self.stored.seal.commit));
            let laid = self.register().and_then(|registration| Ok((registration, self.lay(idle)?)));
            (leaves.join(), laid)
        });
        let (registration, laid) = laid?;
        let lost = || GitError::io("listing a seal of", self.lock.common_dir())(ErrorKind::Other.into());
        let leaves = leaves.map_err(|_| lost())??;
        failpoint!("git.restore.after_ground");
        let ground = Some(&laid).filter(|laid| laid.used == GroundUse::Used);
        files::write(self.git, self.lock, self.stored, &leaves, &self.inner, ground)?;
        failpoint!("git.restore.after_files");
        branches.make(self.git, self.lock)?;
        failpoint!("git.restore.after_branch");
        record::write(self.git, self.lock, self.stored, &leaves, &registration, branches)?;
        failpoint!("git.restore.after_record");
        self.move_to_place(&registration)?;
        failpoint!("git.restore.after_rename");
        self.leave_staging()?;
        Ok((self.restored()?, laid.used))
    }

    fn lay(&self, idle: Option<&IdleWorktree>) -> Result<Ground, GitError> {
        failpoint!("git.restore.after_add");
        idle.map_or_else(
            || Ok(Ground::none(GroundUse::Unused)),
            |idle| ground::lay(self.git, idle, &self.inner),
        )
    }

    /// Lets Git register the staged worktree, with nothing checked out.
    fn register(&self) -> Result<Registration, RestoreError> {
        let start = self.head.tip().unwrap_or(&self.stored.seal.commit);
        let command = self.git.write("registering a restored worktree of", self.lock.common_dir(), self.lock);
        let command = command.args(["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet"]);
        let command = command.args(["--no-checkout", "--detach", "--"]);
        command.args([self.inner.as_os_str(), start.as_str().as_ref()]).run()?;
        match registration::occupant(self.lock.common_dir(), &self.inner)? {
            Occupant::Worktree(registration, _) => Ok(registration),
            _ => Err(GitError::PathMissing { path: self.inner.clone() }.into()),
        }
    }

    /// Lets the registration name the place, and moves the worktree there. Where that is interrupted in
    /// between, the directory still leads to its registration.
    fn move_to_place(&self, registration: &Registration) -> Result<(), RestoreError> {
        let metadata = self.inner.symlink_metadata().map_err(GitError::io("looking at", &self.inner))?;
        let marker = self.staging.join(COMPLETE);
        std::fs::write(&marker, metadata.ino().to_string()).map_err(GitError::io("writing", &marker))?;
        let path = &self.request.path;
        let mut link = settled(path).join(".git").into_os_string().into_encoded_bytes();
        link.push(b'\n');
        let (target, next) = (registration.dir.join("gitdir"), registration.dir.join("gitdir.lock"));
        std::fs::write(&next, link).map_err(GitError::io("writing", &next))?;
        std::fs::rename(&next, &target).map_err(GitError::io("writing", &target))?;
        failpoint!("git.restore.before_rename");
        let moved = match renameat_with(CWD, &self.inner, CWD, path, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                // A file system without this kind of rename: look once more, then move.
                self.refuse_present_path()?;
                std::fs::rename(&self.inner, path)
            }
            other => other.map_err(std::io::Error::from),
        };
        match moved {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let by = "something came there meanwhile".to_owned();
                Err(RestoreError::PathTaken { path: path.clone(), by })
            }
            Err(error) => Err(GitError::io("moving a restored worktree to", path)(error).into()),
        }
    }

    fn refuse_present_path(&self) -> Result<(), RestoreError> {
        let path = &self.request.path;
        if path.symlink_metadata().is_ok() {
            let by = "something came there meanwhile".to_owned();
            return Err(RestoreError::PathTaken { path: path.clone(), by });
        }
        Ok(())
    }

    fn leave_staging(&self) -> Result<(), GitError> {
        let marker = self.staging.join(COMPLETE);
        std::fs::remove_dir(&self.inner).or_else(absent).map_err(GitError::io("removing", &self.inner))?;
        std::fs::remove_file(&marker).or_else(absent).map_err(GitError::io("removing", &marker))?;
        std::fs::remove_dir(&self.staging).or_else(absent).map_err(GitError::io("removing", &self.staging))
    }

    fn restored(&self) -> Result<Restored, RestoreError> {
        let path = &self.request.path;
        let found = found_at(self.git, self.lock.common_dir(), path, &self.stored.seal)?;
        found.ok_or_else(|| {
            let by = "it is not the restored worktree".to_owned();
            GitError::Occupied { path: path.clone(), by }.into()
        })
    }
}

/// The worktree at a path, when it was made from the seal.
pub(super) fn found(git: &Git, repo: &Path, path: &Path, id: &str) -> Result<Option<Restored>, RestoreError> {
    let stored = read::find(git, repo, id)?;
    found_at(git, &git.common_dir(repo)?, path, &stored.seal)
}

fn found_at(
    git: &Git,
    common_dir: &Path,
    path: &Path,
    seal: &Seal,
) -> Result<Option<Restored>, RestoreError> {
    let Occupant::Worktree(registration, metadata) = registration::occupant(common_dir, path)? else {
        return Ok(None);
    };
    let mark = read_if_present(&registration.dir.join(RESTORED_FROM))?;
    if mark.as_deref() != Some(seal.id.as_bytes()) {
        return Ok(None);
    }
    Ok(Some(Restored {
        path: path.to_owned(),
        common_dir: common_dir.to_owned(),
        head: git.head(&registration.dir)?,
        registration: registration.name,
        device: metadata.dev(),
        inode: metadata.ino(),
        seal: seal.clone(),
    }))
}

pub(super) fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

pub(super) fn damaged(id: &str, reason: impl Into<String>) -> RestoreError {
    SealError::Damaged { id: id.to_owned(), reason: reason.into() }.into()
}

/// What a worktree had checked out; the seal of a folder has none.
fn require_head(stored: &Stored) -> Result<&HeadState, RestoreError> {
    let id = &stored.seal.id;
    stored.seal.head.as_ref().ok_or_else(|| RestoreError::OtherKind { id: id.clone(), is: "a folder" })
}

/// What HEAD will be, as far as the seal and the request say.
fn detached_head(stored: &Stored, id: &str) -> Result<HeadState, RestoreError> {
    let tip = stored.seal.head.as_ref().and_then(HeadState::tip).cloned();
    tip.map(|tip| HeadState::Detached { tip }).ok_or_else(|| RestoreError::NoCommit { id: id.to_owned() })
}

/// Whether the request asks for something else than what was checked out.
const fn renames(request: &RestoreRequest) -> bool {
    !matches!(request.branch, RestoreBranch::Sealed)
}
