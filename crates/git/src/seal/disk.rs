//! A worktree as it is on disk: every file, link and directory with what the system knows of it.
//!
//! No link is followed, no other file system entered and no repository inside looked into.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::LeftOutReason;
use crate::GitError;
use crate::command::path_from_bytes;

/// A time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time {
    pub(super) seconds: i64,
    pub(super) nanoseconds: i64,
}

/// What the system knows of a file; when nothing of it differs, the content is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    pub(super) mtime: Time,
    pub(super) ctime: Time,
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            uid: metadata.uid(),
            gid: metadata.gid(),
            size: metadata.size(),
            mtime: Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() },
            ctime: Time { seconds: metadata.ctime(), nanoseconds: metadata.ctime_nsec() },
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    File(Stat),
    /// A link with its target.
    Link(Vec<u8>),
    /// A directory with its permissions.
    Directory(u32),
}

/// What Git knows of paths, by which a directory is judged.
pub(super) struct Known<'a> {
    /// Tracked files and submodules, sorted.
    pub(super) tracked: &'a [&'a [u8]],
    pub(super) submodules: &'a BTreeSet<&'a [u8]>,
    pub(super) untracked: &'a BTreeSet<&'a [u8]>,
    /// Names of directories that can be made again.
    pub(super) disposable: &'a [String],
    /// Directories of such names, and whether Git ignores them.
    pub(super) ignored: BTreeMap<Vec<u8>, bool>,
    /// Names at the top that are none of it: Git's own file, or the worktrees in a folder around them.
    pub(super) apart: &'a BTreeSet<Vec<u8>>,
}

impl Known<'_> {
    fn has_disposable_name(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        self.disposable.iter().any(|pattern| matches(pattern.as_bytes(), name))
    }

    /// Whether something in a directory is tracked, or would be if it were added.
    fn is_used(&self, path: &[u8]) -> bool {
        let inside = [path, b"/"].concat();
        let at = self.tracked.partition_point(|tracked| *tracked < &inside[..]);
        let is_tracked = self.tracked.get(at).is_some_and(|tracked| tracked.starts_with(&inside));
        let untracked = self.untracked.range(&inside[..]..).next();
        is_tracked || untracked.is_some_and(|untracked| untracked.starts_with(&inside))
    }

    /// Whether a directory on the way to a path can be made again.
    pub(super) fn is_in_disposable(&self, path: &[u8]) -> bool {
        let mut path = path;
        while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
            path = &path[..end];
            if self.ignored.get(path) == Some(&true) {
                return true;
            }
        }
        false
    }
}

/// Whether a name is as the pattern says; a `*` stands for any text.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        Some((first, rest)) => name.first() == Some(first) && matches(rest, &name[1..]),
    }
}

/// Everything below the top of a worktree, by path; and what is not looked into.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) found: BTreeMap<Vec<u8>, Found>,
    pub(super) left: BTreeMap<Vec<u8>, LeftOutReason>,
    /// Directories that are disposable by their name, and of which it is not known whether Git ignores them.
    pub(super) unjudged: BTreeSet<Vec<u8>>,
}

impl Look {
    /// Looks at everything.
    pub(super) fn take(top: &Path, known: &Known<'_>) -> Result<Self, GitError> {
        let metadata = top.symlink_metadata().map_err(GitError::io("looking at", top))?;
        let open = vec![Vec::new()];
        let mut walk = Walk { top, device: metadata.dev(), known, open, look: Self::default() };
        while let Some(directory) = walk.open.pop() {
            walk.directory(&directory)?;
        }
        Ok(walk.look)
    }

    /// The files and links, by path.
    pub(super) fn files(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.found.iter().filter(|(_, found)| !matches!(found, Found::Directory(_))).map(|(path, _)| path)
    }

    /// The directories with their permissions.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&Vec<u8>, u32)> {
        self.found.iter().filter_map(|(path, found)| match found {
            Found::Directory(permissions) => Some((path, *permissions)),
            Found::File(_) | Found::Link(_) => None,
        })
    }

    /// The first path at which two looks differ.
    pub(super) fn difference(&self, other: &Self) -> Option<Vec<u8>> {
        if self == other {
            return None;
        }
        let paths = |look: &Self| -> BTreeSet<Vec<u8>> {
            look.found.keys().chain(look.left.keys()).cloned().collect()
        };
        let all: BTreeSet<Vec<u8>> = paths(self).union(&paths(other)).cloned().collect();
        let differs = |path: &Vec<u8>| {
            self.found.get(path) != other.found.get(path) || self.left.get(path) != other.left.get(path)
        };
        all.into_iter().find(differs)
    }
}

/// A look that is being taken.
struct Walk<'a> {
    top: &'a Path,
    device: u64,
    known: &'a Known<'a>,
    open: Vec<Vec<u8>>,
    look: Look,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &[u8]) -> Result<(), GitError> {
        let path = self.top.join(path_from_bytes(directory));
        let entries = path.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) && !directory.is_empty() => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !directory.is_empty() => {
                self.leave(directory, LeftOutReason::Unreadable);
                return Ok(());
            }
            Err(error) => return Err(GitError::io("listing", &path)(error)),
        };
        let has_git = entries.iter().any(|entry| entry.file_name().eq_ignore_ascii_case(".git"));
        if has_git && !directory.is_empty() {
            let is_submodule = self.known.submodules.contains(directory);
            let reason =
                if is_submodule { LeftOutReason::Submodule } else { LeftOutReason::NestedRepository };
            self.leave(directory, reason);
            return Ok(());
        }
        for entry in entries {
            let name = entry.file_name();
            if directory.is_empty() && self.known.apart.contains(name.as_bytes()) {
                continue;
            }
            let is_folder = !self.known.apart.contains(&b".git"[..]);
            if directory.is_empty() && is_folder && name.eq_ignore_ascii_case(".git") {
                self.leave(name.as_bytes(), LeftOutReason::NestedRepository);
                continue;
            }
            let mut inner = directory.to_owned();
            inner.extend((!directory.is_empty()).then_some(b'/'));
            inner.extend_from_slice(name.as_bytes());
            match entry.metadata() {
                Ok(metadata) => self.entry(&entry.path(), inner, &metadata)?,
                Err(error) if is_gone(&error) => {}
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    self.leave(&inner, LeftOutReason::Unreadable);
                }
                Err(error) => return Err(GitError::io("looking at", &entry.path())(error)),
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, inner: Vec<u8>, metadata: &Metadata) -> Result<(), GitError> {
        if metadata.is_symlink() {
            match path.read_link() {
                Ok(target) => {
                    let target = target.into_os_string().into_encoded_bytes();
                    self.look.found.insert(inner, Found::Link(target));
                }
                Err(error) if is_gone(&error) || error.kind() == ErrorKind::InvalidInput => {}
                Err(error) => return Err(GitError::io("reading the link", path)(error)),
            }
        } else if metadata.is_file() {
            self.look.found.insert(inner, Found::File(Stat::from(metadata)));
        } else if !metadata.is_dir() {
            self.leave(&inner, LeftOutReason::Special);
        } else if metadata.dev() != self.device {
            self.leave(&inner, LeftOutReason::Mount);
        } else if self.is_disposable(&inner) {
            self.leave(&inner, LeftOutReason::Disposable);
        } else {
            self.look.found.insert(inner.clone(), Found::Directory(metadata.mode() & 0o7777));
            self.open.push(inner);
        }
        Ok(())
    }

    /// Whether a directory can be made again with all that is in it: by its name, by Git's ignoring it, and by
    /// nothing in it being used all the same.
    fn is_disposable(&mut self, path: &[u8]) -> bool {
        if !self.known.has_disposable_name(path) {
            return false;
        }
        let is_ignored = self.known.ignored.get(path).copied().unwrap_or_else(|| {
            self.look.unjudged.insert(path.to_owned());
            true
        });
        is_ignored && !self.known.is_used(path)
    }

    fn leave(&mut self, path: &[u8], reason: LeftOutReason) {
        self.look.found.remove(path);
        self.look.left.insert(path.to_owned(), reason);
    }
}

/// What vanished between two calls is found to be gone by the second look.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The size of what is left out, and the repositories in a directory that is left out whole. Nothing of it is
/// kept, so that what cannot be read only makes the size unknown.
pub(super) fn measure(top: &Path, path: &[u8]) -> (Option<u64>, Vec<Vec<u8>>) {
    let (mut total, mut is_known, mut repositories) = (0, true, Vec::new());
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let on_disk = top.join(path_from_bytes(&path));
        let Ok(metadata) = on_disk.symlink_metadata() else {
            is_known = false;
            continue;
        };
        if !metadata.is_dir() {
            total += metadata.len();
            continue;
        }
        let Ok(entries) = on_disk.read_dir() else {
            is_known = false;
            continue;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                is_known = false;
                continue;
            };
            let name = entry.file_name();
            if name.eq_ignore_ascii_case(".git") {
                repositories.push(path.clone());
            }
            let inner = [&path[..], b"/", name.as_bytes()].concat();
            match entry.metadata() {
                Ok(inside) if inside.is_dir() && inside.dev() == metadata.dev() => open.push(inner),
                Ok(inside) => total += inside.len(),
                Err(_) => is_known = false,
            }
        }
    }
    (is_known.then_some(total), repositories)
}

/// Opens a plain file; a link or a pipe that was put in its place is an error.
pub(super) fn open_file(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in
            [("target", "target"), ("*.egg-info", "a.egg-info"), ("build*", "build"), ("*", "")]
        {
            assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("target", "targets"), ("*.cache", "cache"), ("", "a")] {
            assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
