//! A Kandev home: where its database is, and a copy of it that leaves the original as it was.

use std::path::{Path, PathBuf};

use super::holder;
use crate::{DatabaseUrl, StoreError};

/// Finds the database of a Kandev home: where it is, or where very old versions kept it; none when there is no
/// such file.
#[must_use]
pub fn find_database(home: &Path) -> Option<PathBuf> {
    let places = [home.join("data").join("kandev.db"), home.join("kandev.db")];
    places.into_iter().find(|place| place.is_file())
}

/// Copies an SQLite database to a path where no file is; blocking. Fails while the program that made it runs, and
/// leaves no file of its own beside the original.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let _kept = holder::keep_out(&DatabaseUrl::Sqlite(from.to_owned()))?;
    let beside = ["-wal", "-shm"].map(|suffix| {
        let mut name = from.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let were_there = [beside[0].exists(), beside[1].exists()];
    let copied = crate::dialect::copy_database(from, to);
    for (path, was_there) in beside.iter().zip(were_there) {
        if !was_there {
            // Reading makes them and cannot remove them; they hold nothing.
            let _ = std::fs::remove_file(path);
        }
    }
    copied
}
