//! Unlinks a directory and everything in it, and nothing outside it.
//!
//! Each directory is opened relative to its parent and without following a link; what is not a directory is
//! unlinked itself, so that a link goes and its target stays. A directory on another file system stops the
//! work.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::GitError;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Unlinks the directory at the path; one that is gone already is no error. The entry of the given name goes
/// last, so that a removal that is cut short can be recognised by it.
pub(super) fn unlink_directory(path: &Path, last: Option<&str>) -> Result<(), GitError> {
    unlink_by_steps(path, last, &mut Steps { left: usize::MAX, goes_on: &mut || true }).map(drop)
}

/// How an unlinking in steps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unlinking {
    Done,
    Stopped,
}

/// Unlinks the directory at the path in steps of some hundred entries; after each it asks whether to go on.
pub(super) fn unlink_slowly(path: &Path, goes_on: &mut dyn FnMut() -> bool) -> Result<Unlinking, GitError> {
    unlink_by_steps(path, None, &mut Steps { left: STEP, goes_on })
}

/// How many entries are unlinked in one step.
const STEP: usize = 256;

/// The steps of an unlinking.
struct Steps<'a> {
    /// How many entries of the present step are left.
    left: usize,
    goes_on: &'a mut dyn FnMut() -> bool,
}

impl Steps<'_> {
    /// Counts one entry; false when the work is to stop.
    fn count(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return true;
        }
        self.left = STEP;
        (self.goes_on)()
    }
}

fn unlink_by_steps(path: &Path, last: Option<&str>, steps: &mut Steps<'_>) -> Result<Unlinking, GitError> {
    let failed = |error: io::Error| GitError::io("unlinking", path)(error);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let parent = match openat(CWD, parent, DIRECTORY, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(Unlinking::Done),
        Err(error) => return Err(failed(error.into())),
    };
    let name = std::ffi::CString::new(name.as_encoded_bytes()).map_err(|error| failed(error.into()))?;
    let directory = match open_directory(parent.as_fd(), &name) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(Unlinking::Done),
        Err(error) => return Err(failed(error.into())),
    };
    let device = fstat(&directory).map_err(|error| failed(error.into()))?.st_dev;
    if empty(&directory, device, last, steps).map_err(failed)? == Unlinking::Stopped {
        return Ok(Unlinking::Stopped);
    }
    if let Some(last) = last {
        remove_entry(directory.as_fd(), last, AtFlags::empty()).map_err(failed)?;
    }
    remove_entry(parent.as_fd(), name.as_c_str(), AtFlags::REMOVEDIR).map_err(failed)?;
    Ok(Unlinking::Done)
}

/// Removes everything in an open directory but the entry of the given name.
fn empty(
    directory: &OwnedFd,
    device: u64,
    spared: Option<&str>,
    steps: &mut Steps<'_>,
) -> io::Result<Unlinking> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." || spared.is_some_and(|spared| spared.as_bytes() == bytes) {
            continue;
        }
        if !steps.count() {
            return Ok(Unlinking::Stopped);
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                FileType::from_raw_mode(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
            }
            kind => kind,
        };
        if kind != FileType::Directory {
            remove_entry(directory.as_fd(), name, AtFlags::empty())?;
            continue;
        }
        let inner = open_directory(directory.as_fd(), name)?;
        if fstat(&inner)?.st_dev != device {
            return Err(io::Error::other(format!("{} is on another file system", name.to_string_lossy())));
        }
        if empty(&inner, device, None, steps)? == Unlinking::Stopped {
            return Ok(Unlinking::Stopped);
        }
        remove_entry(directory.as_fd(), name, AtFlags::REMOVEDIR)?;
    }
    Ok(Unlinking::Done)
}

/// Opens a directory without following a link; one that forbids reading is made readable, as package caches
/// are often write- and read-protected.
fn open_directory(parent: BorrowedFd<'_>, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    match openat(parent, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let metadata = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(metadata.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(parent, name, DIRECTORY, Mode::empty())
        }
        other => other,
    }
}

/// Unlinks one entry; a directory that forbids writing is made writable first.
fn remove_entry<N: rustix::path::Arg + Copy>(
    directory: BorrowedFd<'_>,
    name: N,
    flags: AtFlags,
) -> io::Result<()> {
    let removed = match unlinkat(directory, name, flags) {
        Err(Errno::ACCESS) => {
            rustix::fs::fchmod(directory, Mode::RWXU)?;
            unlinkat(directory, name, flags)
        }
        other => other,
    };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_go_and_their_targets_stay() {
        let home = tempfile::tempdir().unwrap();
        let (canary, doomed) = (home.path().join("canary"), home.path().join("doomed"));
        std::fs::create_dir(&canary).unwrap();
        std::fs::write(canary.join("file"), "alive").unwrap();
        std::fs::create_dir_all(doomed.join("a/b/c")).unwrap();
        std::fs::write(doomed.join("a/b/file"), "x").unwrap();
        symlink(&canary, doomed.join("a/link")).unwrap();
        symlink(canary.join("file"), doomed.join("a/b/c/link")).unwrap();
        symlink("nowhere", doomed.join("dangling")).unwrap();
        unlink_directory(&doomed, None).unwrap();
        assert!(!doomed.exists());
        assert_eq!(std::fs::read_to_string(canary.join("file")).unwrap(), "alive");
    }

    #[test]
    fn a_link_is_not_taken_for_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let (canary, link) = (home.path().join("canary"), home.path().join("link"));
        std::fs::create_dir(&canary).unwrap();
        std::fs::write(canary.join("file"), "alive").unwrap();
        symlink(&canary, &link).unwrap();
        assert!(unlink_directory(&link, None).is_err());
        assert!(canary.join("file").exists() && link.exists());
    }

    #[test]
    fn write_protected_directories_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let doomed = home.path().join("doomed");
        std::fs::create_dir_all(doomed.join("module/inner")).unwrap();
        std::fs::write(doomed.join("module/inner/file"), "x").unwrap();
        for directory in ["module/inner", "module"] {
            let permissions = std::fs::Permissions::from_mode(0o555);
            std::fs::set_permissions(doomed.join(directory), permissions).unwrap();
        }
        unlink_directory(&doomed, None).unwrap();
        assert!(!doomed.exists());
    }

    #[test]
    fn what_is_gone_already_is_no_error() {
        let home = tempfile::tempdir().unwrap();
        unlink_directory(&home.path().join("nothing"), None).unwrap();
        unlink_directory(&home.path().join("no/where"), None).unwrap();
    }
}
