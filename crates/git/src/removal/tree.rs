//! Walking and unlinking directory trees without following links and without leaving the file system.

use std::fs::{Metadata, ReadDir};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::GitError;

/// What a walk through a worktree found besides its own files, relative to the worktree.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Directories, other than the top, that hold a `.git`.
    pub(super) nested: Vec<String>,
    /// Directories on which another file system is mounted.
    pub(super) mounts: Vec<String>,
}

/// Walks a worktree; links are not followed.
pub(super) fn walk(top: &Path) -> Result<Walk, GitError> {
    let device = look(top)?.dev();
    let mut walk = Walk::default();
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in read(&directory)? {
            let entry = entry.map_err(|source| failed("read the folder", &directory, source))?;
            let path = entry.path();
            let found = look(&path)?;
            if directory != *top && entry.file_name() == ".git" {
                walk.nested.push(relative(top, &directory));
            }
            let is_own_git = directory == *top && entry.file_name() == ".git";
            if found.is_dir() && !is_own_git {
                if found.dev() == device {
                    waiting.push(path);
                } else {
                    walk.mounts.push(relative(top, &path));
                }
            }
        }
    }
    walk.nested.sort();
    walk.mounts.sort();
    Ok(walk)
}

/// Whether a directory holds nothing but, at most, the `.git` file that Git writes first.
pub(super) fn is_bare_beginning(path: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    entries.flatten().all(|entry| entry.file_name() == ".git" && entry.path().is_file())
}

/// Unlinks a tree; a missing one is fine. Links are removed, not followed; another file system is an error.
#[expect(clippy::disallowed_methods, reason = "the one place that unlinks, reached only through a removal")]
pub(super) fn unlink(path: &Path) -> Result<(), GitError> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if !found.is_dir() {
        return std::fs::remove_file(path).map_err(|source| failed("unlink", path, source));
    }
    if let Some(mount) = mounts_below(path)?.first() {
        let source = std::io::Error::other("another file system is mounted inside");
        return Err(failed("unlink", mount, source));
    }
    std::fs::remove_dir_all(path).map_err(|source| failed("unlink", path, source))
}

fn mounts_below(top: &Path) -> Result<Vec<PathBuf>, GitError> {
    Ok(walk(top)?.mounts.into_iter().map(|mount| top.join(mount)).collect())
}

fn read(directory: &Path) -> Result<ReadDir, GitError> {
    std::fs::read_dir(directory).map_err(|source| failed("read the folder", directory, source))
}

fn look(path: &Path) -> Result<Metadata, GitError> {
    path.symlink_metadata().map_err(|source| failed("look at", path, source))
}

fn relative(top: &Path, path: &Path) -> String {
    path.strip_prefix(top).unwrap_or(path).to_string_lossy().into_owned()
}

fn failed(operation: &'static str, path: &Path, source: std::io::Error) -> GitError {
    GitError::FileSystem { operation, path: path.to_owned(), source }
}
