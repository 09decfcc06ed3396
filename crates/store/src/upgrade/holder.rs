//! Whether the old program still works with an SQLite database: it holds a lock file beside it while it runs.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::{DatabaseUrl, StoreError};

/// Keeps the old program from starting until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Kept {
    _locks: Vec<File>,
}

/// Takes the old program's locks; fails when it runs.
pub(super) fn keep_out(url: &DatabaseUrl) -> Result<Kept, StoreError> {
    let DatabaseUrl::Sqlite(path) = url else { return Ok(Kept::default()) };
    let mut locks = Vec::new();
    for lock in lock_files(path) {
        // Without the file, or without the right to read it, the program never locked it for this user.
        let Ok(file) = File::open(&lock) else { continue };
        // Shared, so that another Freehold waits for its turn instead of being taken for that program.
        match file.try_lock_shared() {
            Ok(()) => locks.push(file),
            Err(TryLockError::WouldBlock) => {
                let holder = format!("the program that made it still runs and holds {}", lock.display());
                return Err(StoreError::InUse { url: url.to_string(), holder });
            }
            // A file system without locks has none that is held.
            Err(TryLockError::Error(_)) => {}
        }
    }
    Ok(Kept { _locks: locks })
}

fn lock_files(database: &Path) -> Vec<PathBuf> {
    let folder = std::path::absolute(database).ok().and_then(|path| path.parent().map(Path::to_owned));
    let mut beside = database.as_os_str().to_owned();
    beside.push(".lock");
    let mut files = vec![PathBuf::from(beside)];
    if let Some(folder) = folder {
        files.extend(folder.parent().map(|home| home.join(".kandev-backend.lock")));
        files.push(folder.join(".kandev-backend.lock"));
    }
    files
}
