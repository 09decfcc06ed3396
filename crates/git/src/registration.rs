//! Registrations: Git's records of linked worktrees, read from `<common>/worktrees`.
//!
//! A directory is a certain worktree when its `.git` file names the registration and the registration names
//! the directory. One pointer alone proves nothing: a directory can be moved, replaced by a sibling, or be a
//! clone that came to sit at the path of a worktree long gone.
//!
//! A registration is *hidden* while its worktree is being given back: Git lists it no longer and finds no branch
//! checked out by it, and everything in it is as it was, so that one step shows it again.

use std::fs::{Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::GitError;
use crate::command::path_from_bytes;

/// The reason with which Git itself locks a worktree that it is still making.
pub(crate) const INITIALIZING: &str = "initializing";

/// What the pointer `gitdir` is called in a hidden registration.
pub(crate) const HIDDEN: &str = "freehold-gitdir";

/// The reason with which a hidden registration is locked, so that no `git worktree prune` takes it away.
const RETURNING: &str = "Freehold is giving it back\n";

/// One directory under `<common>/worktrees`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    /// Where it says that its worktree is; none in a registration that is half made or half removed.
    pub(crate) worktree: Option<PathBuf>,
    /// The reason for which it is locked; may be empty.
    pub(crate) lock: Option<String>,
}

impl Registration {
    fn read(dir: PathBuf) -> Result<Self, GitError> {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pointer = match read_if_present(&dir.join(HIDDEN))? {
            // A git that ran inside meanwhile may have written another one, which names the wrong place.
            Some(hidden) => Some(hidden),
            None => read_if_present(&dir.join("gitdir"))?,
        };
        let worktree = pointer.and_then(|link| {
            let link = dir.join(path_from_bytes(link.trim_ascii_end()));
            link.parent().map(settled)
        });
        let lock = read_if_present(&dir.join("locked"))?.filter(|reason| reason != RETURNING.as_bytes());
        let lock = lock.map(|reason| String::from_utf8_lossy(&reason).trim().to_owned());
        Ok(Self { name, dir, worktree, lock })
    }

    /// Hides it from Git, in one step. One that is half made or half removed has nothing to hide.
    pub(crate) fn hide(&self) -> Result<(), GitError> {
        let (lock, pointer) = (self.dir.join("locked"), self.dir.join("gitdir"));
        if !pointer.exists() {
            return Ok(());
        }
        match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(mut file) => {
                file.write_all(RETURNING.as_bytes()).map_err(GitError::io("locking", &self.dir))?;
            }
            // Git's own lock of a worktree that it did not finish protects as well.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(GitError::io("locking", &self.dir)(error)),
        }
        std::fs::rename(&pointer, self.dir.join(HIDDEN)).map_err(GitError::io("hiding", &self.dir))
    }

    /// Shows it to Git again as it was; one that is not hidden stays as it is.
    pub(crate) fn show(&self) -> Result<(), GitError> {
        let (lock, hidden) = (self.dir.join("locked"), self.dir.join(HIDDEN));
        match std::fs::rename(&hidden, self.dir.join("gitdir")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(GitError::io("showing", &self.dir)(error));
            }
            _ => {}
        }
        if read_if_present(&lock)?.is_some_and(|reason| reason == RETURNING.as_bytes()) {
            std::fs::remove_file(&lock).map_err(GitError::io("unlocking", &self.dir))?;
        }
        Ok(())
    }

    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.worktree.as_deref() == Some(&settled(path))
    }
}

/// All registrations of a repository.
pub(crate) fn list(common_dir: &Path) -> Result<Vec<Registration>, GitError> {
    let folder = common_dir.join("worktrees");
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(GitError::io("listing", &folder)(error)),
    };
    let mut registrations = Vec::new();
    for entry in entries {
        let entry = entry.map_err(GitError::io("listing", &folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            registrations.push(Registration::read(entry.path())?);
        }
    }
    Ok(registrations)
}

/// The registrations that say that their worktree is at the path.
pub(crate) fn list_at(common_dir: &Path, path: &Path) -> Result<Vec<Registration>, GitError> {
    Ok(list(common_dir)?.into_iter().filter(|registration| registration.is_at(path)).collect())
}

/// What is at the path where a worktree of the repository should be.
#[derive(Debug)]
pub(crate) enum Occupant {
    Nothing,
    /// A worktree; both pointers were followed.
    Worktree(Registration, Metadata),
    /// A directory that Git began to fill or did not remove entirely: it leads to no registration.
    Unlinked(Metadata),
    /// Something else, in words.
    Other(String),
}

/// Looks at the path without following a link in its last part.
pub(crate) fn occupant(common_dir: &Path, path: &Path) -> Result<Occupant, GitError> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Occupant::Nothing);
        }
        Err(error) => return Err(GitError::io("looking at", path)(error)),
    };
    if metadata.is_symlink() {
        return Ok(Occupant::Other("a symbolic link is there".into()));
    }
    if !metadata.is_dir() {
        return Ok(Occupant::Other("a file is there".into()));
    }
    let parent = path.parent().unwrap_or(path);
    let parent_metadata = parent.metadata().map_err(GitError::io("looking at", parent))?;
    if parent_metadata.dev() != metadata.dev() {
        return Ok(Occupant::Other("another file system is mounted there".into()));
    }
    follow(common_dir, path, metadata)
}

/// Follows the `.git` file of a directory to its registration and back.
fn follow(common_dir: &Path, path: &Path, metadata: Metadata) -> Result<Occupant, GitError> {
    let link = path.join(".git");
    let content = match link.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Occupant::Unlinked(metadata)),
        Err(error) => return Err(GitError::io("looking at", &link)(error)),
        Ok(link) if link.is_dir() => return Ok(Occupant::Other("a repository of its own is there".into())),
        Ok(link) if !link.is_file() => return Ok(Occupant::Other("its .git is no plain file".into())),
        Ok(_) => std::fs::read(&link).map_err(GitError::io("reading", &link))?,
    };
    if content.is_empty() {
        return Ok(Occupant::Unlinked(metadata));
    }
    let Some(target) = content.trim_ascii_end().strip_prefix(b"gitdir: ") else {
        return Ok(Occupant::Other("its .git file is none of Git's".into()));
    };
    let dir = settled(&path.join(path_from_bytes(target)));
    if dir.parent() != Some(&common_dir.join("worktrees")) {
        return Ok(Occupant::Other(format!("a checkout of another repository, {}, is there", dir.display())));
    }
    if !dir.is_dir() {
        return Ok(Occupant::Unlinked(metadata));
    }
    let registration = Registration::read(dir)?;
    Ok(match &registration.worktree {
        Some(_) if registration.is_at(path) => Occupant::Worktree(registration, metadata),
        Some(home) => {
            let (name, home) = (&registration.name, home.display());
            Occupant::Other(format!("the worktree {name:?} is there, which belongs at {home}"))
        }
        None => Occupant::Unlinked(metadata),
    })
}

/// A path whose folders are free of links, as far as they exist. Its last part is left as it is, so that a
/// link there is not taken for what it leads to.
pub(crate) fn settled(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    match parent.canonicalize() {
        Ok(parent) => parent.join(name),
        Err(_) => settled(parent).join(name),
    }
}

/// The content of a file that may be absent.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    match std::fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(GitError::io("reading", path)(error)),
    }
}
