//! Trees of a seal: paths are put into folders, and each folder becomes one object.

use std::collections::BTreeMap;

use super::object::{Format, Id, Kind, id_of};
use super::pack::Objects;

pub(super) const FILE: u32 = 0o100_644;
pub(super) const EXECUTABLE: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;
pub(super) const TREE: u32 = 0o040_000;
pub(super) const SUBMODULE: u32 = 0o160_000;

/// A folder that is being filled.
#[derive(Debug, Default)]
pub(super) struct Folder {
    leaves: BTreeMap<Vec<u8>, (u32, Id)>,
    folders: BTreeMap<Vec<u8>, Self>,
}

impl Folder {
    /// Puts an object at a path.
    pub(super) fn put(&mut self, path: &[u8], mode: u32, id: Id) {
        match path.iter().position(|byte| *byte == b'/') {
            None => _ = self.leaves.insert(path.to_owned(), (mode, id)),
            Some(end) => self.folder(&path[..end]).put(&path[end + 1..], mode, id),
        }
    }

    /// The folder of this name.
    pub(super) fn folder(&mut self, name: &[u8]) -> &mut Self {
        self.folders.entry(name.to_owned()).or_default()
    }

    /// Calls for every object that is put somewhere, with its path.
    pub(super) fn each_leaf(&self, call: &mut impl FnMut(&[u8], Id)) {
        self.walk(&mut Vec::new(), call);
    }

    fn walk(&self, prefix: &mut Vec<u8>, call: &mut impl FnMut(&[u8], Id)) {
        let length = prefix.len();
        for (name, (_, id)) in &self.leaves {
            prefix.extend_from_slice(name);
            call(prefix, *id);
            prefix.truncate(length);
        }
        for (name, folder) in &self.folders {
            prefix.extend_from_slice(name);
            prefix.push(b'/');
            folder.walk(prefix, call);
            prefix.truncate(length);
        }
    }

    /// Makes the objects of this folder and of those in it; returns its own.
    pub(super) fn finish(&self, format: Format, objects: &mut Objects) -> Id {
        let leaves = self.leaves.iter().map(|(name, (mode, id))| (name, *mode, *id));
        let mut entries: Vec<(&Vec<u8>, u32, Id)> = leaves.collect();
        for (name, folder) in &self.folders {
            entries.push((name, TREE, folder.finish(format, objects)));
        }
        // Git sorts a folder as if its name ended with a slash.
        let key = |name: &[u8], mode: u32| {
            let mut key = name.to_owned();
            key.extend((mode == TREE).then_some(b'/'));
            key
        };
        entries.sort_by_cached_key(|(name, mode, _)| key(name, *mode));
        let mut bytes = Vec::new();
        for (name, mode, id) in &entries {
            bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_bytes());
        }
        let id = id_of(format, Kind::Tree, &bytes);
        objects.add(id, Kind::Tree, bytes);
        id
    }
}

/// Whether Git might refuse a path in a tree: names that are `.git` on some system, or that another system
/// would split or shorten.
pub(super) fn is_odd(path: &[u8], mode: u32) -> bool {
    path.split(|byte| *byte == b'/').any(|name| {
        let plain: Vec<u8> = name.iter().filter(|byte| byte.is_ascii()).map(u8::to_ascii_lowercase).collect();
        let after_git = plain.strip_prefix(b".git");
        let is_git = after_git.is_some_and(|after| !after.first().is_some_and(u8::is_ascii_alphanumeric));
        let is_special_link = mode == LINK && after_git.is_some();
        name.is_empty()
            || name == b"."
            || name == b".."
            || name.contains(&b'\\')
            || is_git
            || is_special_link
            || plain.starts_with(b"git~")
            || (mode == LINK && plain.contains(&b'~'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_git_somewhere_are_odd() {
        for odd in [&b"a/.git"[..], b".GIT/x", b"git~1", b"a\\b", b".git /x", "\u{200c}.git".as_bytes()] {
            assert!(is_odd(odd, FILE), "{}", String::from_utf8_lossy(odd));
        }
        assert!(is_odd(b".gitmodules", LINK));
        for plain in [&b".gitignore"[..], b".github/x", b"a/.gitkeep", b"-x", b"\xff\n", b".gitmodules"] {
            assert!(!is_odd(plain, FILE), "{}", String::from_utf8_lossy(plain));
        }
    }
}
