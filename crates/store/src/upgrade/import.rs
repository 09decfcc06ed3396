//! A Kandev home: where its database is, and a copy of it that leaves the original as it was.

use std::path::{Path, PathBuf};

use super::holder;
use super::plan::leave_nothing_beside;
use crate::dialect::Database;
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
    let url = DatabaseUrl::Sqlite(from.to_owned());
    let _kept = holder::keep_out(&url)?;
    let database = Database::new(&url)?;
    leave_nothing_beside(&database, &url, || crate::dialect::copy_database(from, to))
}
