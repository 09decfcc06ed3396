//! What surrounds a database: the files of SQLite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The path of an SQLite database; none for PostgreSQL.
pub(crate) fn path_of(url: &str) -> Option<&Path> {
    url.strip_prefix("sqlite://").map(Path::new)
}

/// Names and contents of the files in the folder of an SQLite database, without what is in its folders.
pub(crate) fn files(url: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let Some(path) = path_of(url) else { return BTreeMap::new() };
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(path).unwrap_or_default())).collect()
}

/// Fails unless the files are what they were.
#[track_caller]
pub(crate) fn assert_same_files(url: &str, before: &BTreeMap<PathBuf, Vec<u8>>) {
    let now = files(url);
    assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    // Not with `assert_eq`, which would show every byte.
    let changed: Vec<_> =
        now.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes)).map(|(path, _)| path).collect();
    assert!(changed.is_empty(), "{changed:?} changed");
}
