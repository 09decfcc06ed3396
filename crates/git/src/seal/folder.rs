//! Seals of folders that are no worktrees: scratch folders, and what lies beside the worktrees of a task.
//!
//! Terms: what *stands apart* in a folder are the worktrees in it, which have seals of their own. The seals are in
//! a *vault*, a repository that holds nothing else (`vault`), in the form of every other seal: without HEAD, index
//! and registration, and with every file as an untracked one.
//!
//! No ignore file speaks of such a folder, so a directory is only left out where its name leaves no doubt, or where
//! the tool that made it says so with a `CACHEDIR.TAG`: a chat may well have put its result into `out/`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::disk::{Known, Look, open_file};
use super::manifest::ManifestFolder;
use super::restore::{COMPLETE, absent, damaged, files, staging_of};
use super::{RestoreError, Seal, SealError, SealLimits, SealRequest, SealedWorktree, read, reference, take};
use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::registration::read_if_present;
use crate::{Git, GitError, failpoint, removal};

/// Directories whose names are those of made-up things and of work alike.
const AMBIGUOUS: [&[u8]; 6] = [b"target", b"dist", b"build", b"out", b".cache", b"coverage"];

/// The file by which a tool says that a directory can be made again, and what it begins with.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// The folder of a vault that says which directories were restored from it.
const RESTORED: &str = "freehold-restored";

/// A folder to be sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSealRequest {
    /// The repository that holds seals of folders; made when it is missing.
    pub vault: PathBuf,
    /// The absolute path of the folder.
    pub path: PathBuf,
    /// The name of the seal, as that of a worktree's.
    pub id: String,
    /// When it is taken, in seconds since 1970.
    pub created_at_unix: i64,
    /// Names at its top that are no part of it, such as the worktrees in it.
    pub apart: Vec<OsString>,
    /// How much is kept.
    pub limits: SealLimits,
}

impl FolderSealRequest {
    /// Asks for a seal with limits that are those of a folder: all of it is work, so they are far.
    #[must_use]
    pub fn new(vault: &Path, path: &Path, id: &str, created_at_unix: i64) -> Self {
        Self {
            vault: vault.to_owned(),
            path: path.to_owned(),
            id: id.to_owned(),
            created_at_unix,
            apart: Vec::new(),
            limits: SealLimits { ignored_file_bytes: 1 << 30, ignored_total_bytes: 4 << 30 },
        }
    }
}

/// A seal of a folder together with what the folder was like; what a removal of the folder asks for.
#[derive(Debug)]
pub struct SealedFolder(SealedWorktree);

impl SealedFolder {
    /// The seal.
    #[must_use]
    pub const fn seal(&self) -> &Seal {
        &self.0.seal
    }

    /// As it is taken for a worktree, to compare and to tell what was left out.
    pub(crate) const fn witness(&self) -> &SealedWorktree {
        &self.0
    }
}

/// A folder to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderRestoreRequest {
    /// The repository that holds the seal.
    pub vault: PathBuf,
    /// The name of the seal.
    pub id: String,
    /// The absolute path of the folder to make; nothing but an empty folder may be there.
    pub path: PathBuf,
}

/// A folder that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFolder {
    /// Where it is.
    pub path: PathBuf,
    /// The seal, which stays until it is purged.
    pub seal: Seal,
}

impl Git {
    /// Copies everything in a folder into the vault and gives the copy a name, as [`Git::seal_for_removal`] does
    /// with a worktree.
    pub fn seal_folder(&self, request: &FolderSealRequest) -> Result<SealedFolder, SealError> {
        if !request.path.is_absolute() {
            return Err(GitError::RelativePath { path: request.path.clone() }.into());
        }
        reference(&request.id)?;
        self.ensure_vault(&request.vault)?;
        let mut inner = SealRequest::new(&request.vault, &request.path, &request.id, request.created_at_unix);
        inner.limits = request.limits;
        take::seal_folder(self, &inner, &names(&request.apart)).map(SealedFolder)
    }

    /// Makes the folder of a seal again. What exists is never overwritten; a restoration that was cut short is
    /// undone first, and one that came to its end is found.
    pub fn restore_folder(&self, request: &FolderRestoreRequest) -> Result<RestoredFolder, RestoreError> {
        restore(self, request)
    }

    /// Looks whether the folder at a path is one that was restored from a seal.
    pub fn is_restored_folder(&self, vault: &Path, id: &str, path: &Path) -> Result<bool, RestoreError> {
        reference(id)?;
        if !vault.exists() {
            return Ok(false);
        }
        Ok(is_marked(&self.common_dir(vault)?, id, path)?)
    }
}

fn names(apart: &[OsString]) -> BTreeSet<Vec<u8>> {
    apart.iter().map(|name| name.as_encoded_bytes().to_vec()).collect()
}

/// What the record of a folder says beyond its files.
pub(super) fn record(path: &Path) -> Result<ManifestFolder, GitError> {
    let metadata = path.symlink_metadata().map_err(GitError::io("looking at", path))?;
    Ok(ManifestFolder { permissions: metadata.mode() & 0o7777 })
}

/// Which of these directories, disposable by their names, can be made again.
pub(super) fn judge(top: &Path, directories: &BTreeSet<Vec<u8>>) -> BTreeMap<Vec<u8>, bool> {
    let is_disposable = |path: &Vec<u8>| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        !AMBIGUOUS.contains(&name) || is_tagged(&top.join(path_from_bytes(path)))
    };
    directories.iter().map(|path| (path.clone(), is_disposable(path))).collect()
}

fn is_tagged(directory: &Path) -> bool {
    let Ok(file) = open_file(&directory.join(CACHE_TAG)) else { return false };
    let mut start = Vec::new();
    let read = file.take(CACHE_SIGNATURE.len() as u64).read_to_end(&mut start);
    read.is_ok() && start == CACHE_SIGNATURE
}

/// Lists the files and links that a seal of a folder would hold, relative to its top.
pub(crate) fn look_at_folder(top: &Path, apart: &[OsString]) -> Result<Vec<PathBuf>, GitError> {
    let disposable: Vec<String> = removal::DISPOSABLE.map(str::to_owned).into();
    let (submodules, untracked, apart) = (BTreeSet::new(), BTreeSet::new(), names(apart));
    let mut known = Known {
        tracked: &[],
        submodules: &submodules,
        untracked: &untracked,
        disposable: &disposable,
        ignored: BTreeMap::new(),
        apart: &apart,
    };
    let look = loop {
        let look = Look::take(top, &known)?;
        let judged = judge(top, &look.unjudged);
        let is_complete = judged.values().all(|is_disposable| *is_disposable);
        known.ignored.extend(judged);
        if is_complete {
            break look;
        }
    };
    Ok(look.files().map(|path| path_from_bytes(path)).collect())
}

fn restore(git: &Git, request: &FolderRestoreRequest) -> Result<RestoredFolder, RestoreError> {
    reference(&request.id)?;
    let path = &request.path;
    let staged = staging_of(path, &request.id).filter(|_| path.is_absolute());
    let Some((staging, inner)) = staged else {
        return Err(GitError::RelativePath { path: path.clone() }.into());
    };
    let lock = git.lock_repository_of(&request.vault)?;
    let stored = read::find(git, &request.vault, &request.id)?;
    let Some(folder) = stored.manifest.folder.clone() else {
        return Err(RestoreError::OtherKind { id: request.id.clone(), is: "a worktree" });
    };
    let done = RestoredFolder { path: path.clone(), seal: stored.seal.clone() };
    let marker = staging.join(COMPLETE);
    if read_if_present(&marker)?.is_some() && is_marked(lock.common_dir(), &request.id, path)? {
        leave_staging(&staging, &inner, &marker)?;
        return Ok(done);
    }
    removal::undo_folder_restoration(&staging)?;
    refuse_taken(path)?;
    let make = || {
        failpoint!("git.folder.restore.before_staging");
        std::fs::create_dir_all(&inner).map_err(GitError::io("making the folder", &inner))?;
        failpoint!("git.folder.restore.after_staging");
        let leaves = read::leaves(git, lock.common_dir(), &stored.seal.commit)?;
        files::write(git, &lock, &stored, &leaves, &inner, None)?;
        files::set_permissions(&inner, folder.permissions)?;
        failpoint!("git.folder.restore.after_files");
        mark(&lock, &request.id, &inner, path)?;
        std::fs::write(&marker, b"").map_err(GitError::io("writing", &marker))?;
        failpoint!("git.folder.restore.before_rename");
        move_to(&inner, path)?;
        failpoint!("git.folder.restore.after_rename");
        Ok::<_, RestoreError>(leave_staging(&staging, &inner, &marker)?)
    };
    match make() {
        Ok(()) => Ok(done),
        Err(error) => {
            if let Err(error) = removal::undo_folder_restoration(&staging) {
                tracing::error!(path = %path.display(), %error, "a failed restoration left something behind");
            }
            Err(error)
        }
    }
}

/// Something at the path stays as it is; a folder with nothing in it is as good as none.
fn refuse_taken(path: &Path) -> Result<(), RestoreError> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(GitError::io("looking at", path))?,
    };
    let by = if metadata.is_symlink() {
        "a symbolic link is there"
    } else if !metadata.is_dir() {
        "a file is there"
    } else if path.read_dir().map_err(GitError::io("listing", path))?.next().is_some() {
        "a folder with something in it is there"
    } else {
        return Ok(());
    };
    Err(RestoreError::PathTaken { path: path.to_owned(), by: by.to_owned() })
}

/// One rename, which replaces an empty folder and nothing else.
fn move_to(inner: &Path, path: &Path) -> Result<(), RestoreError> {
    let Err(error) = std::fs::rename(inner, path) else { return Ok(()) };
    let is_taken = matches!(
        error.kind(),
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory
    );
    if is_taken {
        let by = "something came there meanwhile".to_owned();
        return Err(RestoreError::PathTaken { path: path.to_owned(), by });
    }
    Err(GitError::io("moving a restored folder to", path)(error).into())
}

fn leave_staging(staging: &Path, inner: &Path, marker: &Path) -> Result<(), GitError> {
    std::fs::remove_dir(inner).or_else(absent).map_err(GitError::io("removing", inner))?;
    std::fs::remove_file(marker).or_else(absent).map_err(GitError::io("removing", marker))?;
    std::fs::remove_dir(staging).or_else(absent).map_err(GitError::io("removing", staging))
}

/// Records which directory is the restored one, before it comes to its place.
fn mark(lock: &RepositoryLock, id: &str, inner: &Path, path: &Path) -> Result<(), RestoreError> {
    let metadata = inner.symlink_metadata().map_err(GitError::io("looking at", inner))?;
    let directory = lock.common_dir().join(RESTORED);
    std::fs::create_dir_all(&directory).map_err(GitError::io("making the folder", &directory))?;
    let note = serde_json::to_vec(&(metadata.ino(), path.as_os_str().as_encoded_bytes()))
        .map_err(|error| damaged(id, error.to_string()))?;
    let file = directory.join(id);
    std::fs::write(&file, note).map_err(GitError::io("writing", &file))?;
    Ok(())
}

/// Whether the directory at a path is the one that was restored from the seal.
fn is_marked(common_dir: &Path, id: &str, path: &Path) -> Result<bool, GitError> {
    let Some(note) = read_if_present(&common_dir.join(RESTORED).join(id))? else { return Ok(false) };
    let Ok((inode, at)) = serde_json::from_slice::<(u64, Vec<u8>)>(&note) else { return Ok(false) };
    let is_there = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.ino() == inode);
    Ok(is_there && at == path.as_os_str().as_encoded_bytes())
}
