//! The snapshot of an SQLite database before it is upgraded: complete on disk before anything changes, and never
//! overwritten or removed by a later attempt.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use freehold_domain::clock::Timestamp;

use crate::StoreError;

/// A snapshot on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) path: PathBuf,
    /// Whether this attempt made it; an equal one of an earlier attempt is used again.
    pub(super) is_new: bool,
}

/// Takes a snapshot of the database file; `copy_into` writes a whole copy to the path that it is given.
pub(super) fn take(
    database: &Path,
    now: Timestamp,
    copy_into: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<Snapshot, StoreError> {
    // By its absolute path, because the path is recorded and read again from elsewhere.
    let database = std::path::absolute(database)
        .map_err(|error| StoreError::Snapshot { path: database.to_owned(), source: error.into() })?;
    let folder = database.parent().unwrap_or(Path::new("/")).join("backups");
    let failed = |path: &Path, source: io::Error| StoreError::Snapshot {
        path: path.to_owned(),
        source: source.into(),
    };
    std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let prefix = prefix(&database);
    remove_leftovers(&folder, &prefix).map_err(|error| failed(&folder, error))?;
    let earlier = earlier(&folder, &prefix).map_err(|error| failed(&folder, error))?;
    let (draft, _being_written) = new_draft(&folder, &prefix).map_err(|error| failed(&folder, error))?;
    let outcome = copy_into(&draft).and_then(|()| keep(&draft, &folder, &prefix, now, &earlier));
    if outcome.is_err() || draft.exists() {
        // What is left over is only a copy; the error that matters is the one already there.
        let _ = std::fs::remove_file(&draft);
    }
    outcome
}

/// What the name of a copy that is being written ends in.
const DRAFT: &str = ".partial";

/// Makes an empty file of a name that no other attempt has, of this process or of another, and locks it. Another
/// attempt may take it for left over before it is locked; then it is gone, or soon will be, and the next name is tried.
fn new_draft(folder: &Path, prefix: &str) -> io::Result<(PathBuf, File)> {
    let mut number = 1_u32;
    loop {
        let path = folder.join(format!(".{prefix}{}-{number}{DRAFT}", std::process::id()));
        match File::create_new(&path) {
            Ok(file) => match file.try_lock() {
                Ok(()) if !is_at(&file, &path)? => {}
                Err(TryLockError::WouldBlock) => {}
                // A file system without locks only keeps what was left over.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok((path, file)),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        number += 1;
    }
}

/// Whether the file is what its name leads to.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match path.symlink_metadata() {
        Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the copies of processes that died while they wrote them: nobody holds a lock on these.
fn remove_leftovers(folder: &Path, prefix: &str) -> io::Result<()> {
    let prefix = format!(".{prefix}");
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_draft = name.starts_with(&prefix) && name.ends_with(DRAFT);
        let Some(file) = is_draft.then(|| File::open(entry.path()).ok()).flatten() else { continue };
        // By the time it is locked, another one may have its name.
        if file.try_lock().is_ok() && is_at(&file, &entry.path()).unwrap_or(false) {
            // One that stays only takes space.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Puts a finished copy in place, unless an equal one is there.
fn keep(
    draft: &Path,
    folder: &Path,
    prefix: &str,
    now: Timestamp,
    earlier: &[PathBuf],
) -> Result<Snapshot, StoreError> {
    let failed = |source: io::Error| StoreError::Snapshot { path: draft.to_owned(), source: source.into() };
    File::open(draft).and_then(|file| file.sync_all()).map_err(failed)?;
    for path in earlier {
        if is_equal(draft, path).map_err(failed)? {
            return Ok(Snapshot { path: path.clone(), is_new: false });
        }
    }
    let stamp: String = now.to_string().chars().filter(|c| c.is_ascii_alphanumeric()).take(15).collect();
    let names = std::iter::once(String::new()).chain((2..).map(|number| format!("-{number}")));
    for suffix in names {
        let path = folder.join(format!("{prefix}{stamp}Z{suffix}.db"));
        // A link fails where a rename would replace a file that somebody else just made.
        match std::fs::hard_link(draft, &path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(_) if !path.exists() => std::fs::rename(draft, &path).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        return Ok(Snapshot { path, is_new: true });
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

fn prefix(database: &Path) -> String {
    let stem = database.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    format!("before-freehold-{stem}-")
}

fn earlier(folder: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut ours, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let (mut one, mut other) = (BufReader::new(&mut one), BufReader::new(&mut other));
    loop {
        let read = one.read(&mut ours)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut theirs[..read])?;
        if ours[..read] != theirs[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn an_equal_snapshot_is_used_again_and_another_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("shop.db");
        let now = Timestamp::from_micros(1_796_026_500_000_001);
        let take = |content: &str| {
            let write = |path: &Path| {
                std::fs::write(path, content).unwrap();
                Ok(())
            };
            take(&database, now, write).unwrap()
        };
        let first = take("one");
        assert!(first.is_new && first.path.ends_with("backups/before-freehold-shop-20261130T081500Z.db"));
        assert_eq!(take("one"), Snapshot { is_new: false, ..first.clone() });
        let second = take("two");
        assert!(second.path.ends_with("backups/before-freehold-shop-20261130T081500Z-2.db"), "{second:?}");
        assert_eq!(std::fs::read_to_string(&first.path).unwrap(), "one");
        assert_eq!(take("one").path, first.path);
        assert_eq!(std::fs::read_dir(folder.path().join("backups")).unwrap().count(), 2);
    }

    #[test]
    fn the_copy_of_a_process_that_died_is_no_hindrance_and_one_that_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let backups = folder.path().join("backups");
        std::fs::create_dir(&backups).unwrap();
        let draft = |number: u32| {
            let name = format!(".before-freehold-a-{}-{number}.partial", std::process::id());
            std::fs::write(backups.join(&name), "half").unwrap();
            backups.join(name)
        };
        let (dead, alive) = (draft(1), draft(2));
        let writer = File::open(&alive).unwrap();
        writer.try_lock().unwrap();
        let now = Timestamp::from_micros(0);
        take(&folder.path().join("a.db"), now, |path| {
            assert!(std::fs::read(path).unwrap().is_empty());
            std::fs::write(path, "whole").unwrap();
            Ok(())
        })
        .unwrap();
        assert!(!dead.exists());
        assert_eq!(std::fs::read(&alive).unwrap(), b"half");
        assert_eq!(std::fs::read_dir(&backups).unwrap().count(), 2);
    }

    #[test]
    fn a_draft_that_was_just_begun_is_never_taken_for_left_over() {
        let folder = tempfile::tempdir().unwrap();
        let is_done = AtomicBool::new(false);
        let taken_away = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    remove_leftovers(folder.path(), "a-").unwrap();
                }
            });
            let taken_away = (0..3_000).find(|_| {
                let (path, file) = new_draft(folder.path(), "a-").unwrap();
                let is_there = is_at(&file, &path).unwrap();
                let _ = std::fs::remove_file(path);
                !is_there
            });
            is_done.store(true, Ordering::SeqCst);
            taken_away
        });
        assert_eq!(taken_away, None);
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_micros(0);
        let refused = take(&folder.path().join("a.db"), now, |path| {
            std::fs::write(path, "half").unwrap();
            Err(StoreError::Closed)
        });
        assert!(refused.is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("backups")).unwrap().count(), 0);
    }
}
