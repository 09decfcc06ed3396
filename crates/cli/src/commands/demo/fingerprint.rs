//! A main checkout written down byte for byte, to show later that nobody changed it.
//!
//! Everything in the folder counts, tracked, untracked or ignored; of Git's own folder `HEAD`, the index, the
//! settings and the refs. The branch and the seals of the task are left out, since the task is what made them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::program::{git, output_of};

/// What a main checkout was like.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    entries: BTreeMap<PathBuf, Entry>,
    refs: Vec<String>,
}

/// What one file or link was like.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    mode: u32,
    length: u64,
    hash: u64,
}

impl Fingerprint {
    /// Writes a checkout down.
    pub(crate) fn take(checkout: &Path, without_branch: Option<&str>) -> Result<Self, Failure> {
        let mut entries = BTreeMap::new();
        walk(checkout, &mut entries)?;
        for name in ["HEAD", "index", "config"] {
            let path = checkout.join(".git").join(name);
            let entry = Entry::read(&path)?;
            entries.insert(path, entry);
        }
        let mut list = git(checkout);
        list.args(["for-each-ref", "--format=%(refname) %(objectname) %(symref)"]);
        let left_out = without_branch.map(|branch| format!("refs/heads/{branch} "));
        // Seals are refs of Freehold's own.
        let is_counted = |line: &&str| {
            left_out.as_ref().is_none_or(|prefix| !line.starts_with(prefix))
                && !line.starts_with("refs/freehold/")
        };
        let refs = output_of(&mut list)?.lines().filter(is_counted).map(str::to_owned).collect();
        Ok(Self { entries, refs })
    }

    /// How many files and links were written down.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Names the first thing that differs; none when nothing does.
    pub(crate) fn first_difference(&self, later: &Self) -> Option<String> {
        let paths = self.entries.keys().chain(later.entries.keys());
        let differs = |path: &&PathBuf| self.entries.get(*path) != later.entries.get(*path);
        if let Some(path) = paths.into_iter().find(differs) {
            return Some(path.display().to_string());
        }
        let is_in_one = |line: &&String| self.refs.contains(line) != later.refs.contains(line);
        self.refs.iter().chain(&later.refs).find(is_in_one).cloned()
    }
}

impl Entry {
    fn read(path: &Path) -> Result<Self, Failure> {
        let read = || {
            let metadata = path.symlink_metadata()?;
            let content = if metadata.is_symlink() {
                std::fs::read_link(path)?.as_os_str().as_bytes().to_vec()
            } else {
                std::fs::read(path)?
            };
            let mut hasher = DefaultHasher::new();
            content.hash(&mut hasher);
            let (mode, length) = (metadata.permissions().mode(), metadata.len());
            Ok(Self { mode, length, hash: hasher.finish() })
        };
        read().map_err(|source| Failure::file("read", path, &source))
    }
}

pub(crate) fn walk(folder: &Path, entries: &mut BTreeMap<PathBuf, Entry>) -> Result<(), Failure> {
    let unreadable = |source: std::io::Error| Failure::file("read the folder", folder, &source);
    for child in std::fs::read_dir(folder).map_err(unreadable)? {
        let child = child.map_err(unreadable)?;
        let path = child.path();
        if child.file_type().map_err(unreadable)?.is_dir() {
            if child.file_name() != ".git" {
                walk(&path, entries)?;
            }
        } else {
            entries.insert(path.clone(), Entry::read(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_repository::{NewCommit, make};

    #[test]
    fn one_changed_byte_and_one_new_branch_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let checkout = folder.path().join("checkout");
        let files = vec![("a.txt".to_owned(), "one\n".to_owned())];
        make(&checkout, &[NewCommit { message: "Begin".to_owned(), files }]).unwrap();
        let before = Fingerprint::take(&checkout, None).unwrap();
        assert_eq!(before.first_difference(&Fingerprint::take(&checkout, None).unwrap()), None);

        output_of(git(&checkout).args(["branch", "task"])).unwrap();
        let later = Fingerprint::take(&checkout, None).unwrap();
        assert!(before.first_difference(&later).unwrap().starts_with("refs/heads/task "));
        assert_eq!(before.first_difference(&Fingerprint::take(&checkout, Some("task")).unwrap()), None);

        std::fs::write(checkout.join("a.txt"), "two\n").unwrap();
        let later = Fingerprint::take(&checkout, Some("task")).unwrap();
        assert!(before.first_difference(&later).unwrap().ends_with("a.txt"));
    }
}
