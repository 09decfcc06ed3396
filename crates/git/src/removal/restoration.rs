//! Takes back what a restoration left that was cut short. It was never exposed, and everything in it is in the
//! seal.

use std::io::ErrorKind;
use std::path::Path;

use super::remove::remove_registration;
use super::unlink::unlink_directory;
use crate::GitError;
use crate::command::path_from_bytes;
use crate::lock::RepositoryLock;
use crate::registration::{self, Registration, settled};

/// Removes a staging folder with the worktree in it, and the registration of that worktree.
pub(crate) fn undo_restoration(
    lock: &RepositoryLock,
    staging: &Path,
    inner: &Path,
    path: &Path,
) -> Result<(), GitError> {
    let metadata = match staging.symlink_metadata() {
        Ok(metadata) => Some(metadata),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => return Err(GitError::io("looking at", staging)(error)),
    };
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
        let by = "the folder for a restoration is none".to_owned();
        return Err(GitError::Occupied { path: staging.to_owned(), by });
    }
    let linked = linked_registration(inner)?;
    for registration in registration::list(lock.common_dir())? {
        // The directory leads to it, and it leads to the directory or to the place where that was to go.
        let is_linked = linked.as_ref() == Some(&registration.dir);
        if registration.is_at(inner) || (is_linked && leads_back(&registration, path)?) {
            remove_registration(lock.common_dir(), &registration)?;
        }
    }
    if metadata.is_some() { unlink_directory(staging, None) } else { Ok(()) }
}

/// Removes the staging folder of a folder that was being restored.
pub(crate) fn undo_folder_restoration(staging: &Path) -> Result<(), GitError> {
    unlink_directory(staging, None)
}

/// Whether a registration is that of a directory beside the place: what is at the place does not name it.
fn leads_back(registration: &Registration, path: &Path) -> Result<bool, GitError> {
    let is_free = linked_registration(path)?.as_ref() != Some(&registration.dir);
    Ok(registration.worktree.is_none() || (registration.is_at(path) && is_free))
}

/// The registration that a directory names.
fn linked_registration(directory: &Path) -> Result<Option<std::path::PathBuf>, GitError> {
    let link = directory.join(".git");
    match std::fs::read(&link) {
        Ok(content) => {
            let target = content.trim_ascii_end().strip_prefix(b"gitdir: ").map(path_from_bytes);
            Ok(target.map(|target| settled(&directory.join(target))))
        }
        // A repository of its own has a directory there.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(GitError::io("reading", &link)(error)),
    }
}
