//! Unlinks what removals left in the trash: nobody waits for it, so it is done in small steps, and can be paused.
//!
//! An entry is known by its name, which removals alone make, and by its inode; a directory that a person put at the
//! place, or into the trash folder, is none. Each step can be repeated, so a reaping that was cut short goes on.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::unlink::{Unlinking, unlink_directory, unlink_slowly};
use super::{Reaped, TRASH, TrashEntry};
use crate::GitError;

/// Unlinks an entry until it is gone or the caller does not want to go on.
pub(super) fn reap(entry: &TrashEntry, goes_on: &mut dyn FnMut() -> bool) -> Result<Reaped, GitError> {
    match is_own(entry)? {
        None => {}
        Some(false) => return Ok(Reaped::Foreign),
        Some(true) if unlink_slowly(&entry.path, goes_on)? == Unlinking::Stopped => {
            return Ok(Reaped::Paused);
        }
        Some(true) => {}
    }
    leave(entry);
    Ok(Reaped::Gone)
}

/// Unlinks an entry at once.
pub(super) fn unlink(entry: &TrashEntry) -> Result<(), GitError> {
    if is_own(entry)? == Some(true) {
        unlink_directory(&entry.path, None)?;
    }
    leave(entry);
    Ok(())
}

/// Whether what is at the place is what a removal moved there; none when nothing is.
pub(super) fn is_own(entry: &TrashEntry) -> Result<Option<bool>, GitError> {
    let metadata = match entry.path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(GitError::io("looking at", &entry.path)(error)),
    };
    let is_the_one = metadata.is_dir() && metadata.ino() == entry.inode && is_named(&entry.path, entry.inode);
    Ok(Some(is_the_one))
}

/// Whether a path is one to which removals move an inode.
fn is_named(path: &Path, inode: u64) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
    let is_name = name.is_some_and(|(hash, number)| {
        hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && number == inode.to_string()
    });
    is_name && path.parent().and_then(Path::file_name).is_some_and(|folder| folder == TRASH)
}

/// Removes the trash folder with the last entry; fails, as it should, before that.
fn leave(entry: &TrashEntry) {
    if let Some(trash) = entry.path.parent().filter(|folder| folder.ends_with(TRASH)) {
        _ = std::fs::remove_dir(trash);
    }
}
