//! What is at a path of which nothing is known: a worktree, another directory or something else. Only files are read.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::command::path_from_bytes;
use crate::registration::{self, Occupant, settled};
use crate::{Git, GitError, HeadState};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceLook {
    /// Nothing.
    Nothing,
    /// A linked worktree: it and its registration name each other.
    Worktree(FoundWorktree),
    /// Another directory.
    Folder {
        /// The device of the directory.
        device: u64,
        /// Its inode.
        inode: u64,
        /// Whether a `.git` is in it although it is no worktree.
        has_git: bool,
    },
    /// A file, a link, or something that is mounted there, in words.
    Other(String),
}

/// A linked worktree that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundWorktree {
    /// The common directory of its repository.
    pub common_dir: PathBuf,
    /// The name of its registration.
    pub registration: String,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// The branch that is checked out; empty when none is, or when that cannot be read.
    pub branch: String,
}

impl Git {
    /// Looks what is at a path; changes nothing.
    pub fn look_at_place(&self, path: &Path) -> Result<PlaceLook, GitError> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(PlaceLook::Nothing);
            }
            Err(error) => return Err(GitError::io("looking at", path)(error)),
        };
        if metadata.is_symlink() {
            return Ok(PlaceLook::Other("a symbolic link is there".into()));
        }
        if !metadata.is_dir() {
            return Ok(PlaceLook::Other("a file is there".into()));
        }
        let has_git = path.join(".git").symlink_metadata().is_ok();
        let folder = PlaceLook::Folder { device: metadata.dev(), inode: metadata.ino(), has_git };
        let Some(common_dir) = common_dir_of(path) else { return Ok(folder) };
        Ok(match registration::occupant(&common_dir, path)? {
            Occupant::Worktree(registration, found) => PlaceLook::Worktree(FoundWorktree {
                branch: match self.head(&registration.dir) {
                    Ok(HeadState::Branch { name, .. }) => name,
                    _ => String::new(),
                },
                registration: registration.name,
                device: found.dev(),
                inode: found.ino(),
                common_dir,
            }),
            Occupant::Nothing => PlaceLook::Nothing,
            Occupant::Unlinked(_) | Occupant::Other(_) => folder,
        })
    }

    /// The canonical common directory of a registered repository.
    pub fn common_dir_of(&self, repo: &Path) -> Result<PathBuf, GitError> {
        self.common_dir(repo)
    }
}

/// The repository to which the `.git` file of a directory leads, if it looks like one.
fn common_dir_of(path: &Path) -> Option<PathBuf> {
    let link = path.join(".git");
    if !link.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let content = std::fs::read(&link).ok()?;
    let target = content.trim_ascii_end().strip_prefix(b"gitdir: ")?;
    let dir = settled(&path.join(path_from_bytes(target)));
    let common_dir = dir.parent().filter(|parent| parent.ends_with("worktrees"))?.parent()?;
    common_dir.join("objects").is_dir().then(|| common_dir.to_owned())
}
