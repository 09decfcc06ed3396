//! Taking a database over from where the old program keeps it: the original stays as it was.

use std::fs::File;

use freehold_store::StoreError;
use freehold_store::upgrade::{copy_database, find_database};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, dump, rows};

use crate::fixture::{fill, upgrade};
use crate::world::{assert_same_files, files, path_of};

#[test]
fn a_home_keeps_its_database_in_a_folder_and_very_old_ones_at_the_top() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(find_database(home.path()), None);
    let at_the_top = home.path().join("kandev.db");
    std::fs::write(&at_the_top, "").unwrap();
    assert_eq!(find_database(home.path()), Some(at_the_top));
    let folder = home.path().join("data");
    // A folder of that name is no database.
    std::fs::create_dir_all(folder.join("kandev.db")).unwrap();
    assert_eq!(find_database(home.path()), Some(home.path().join("kandev.db")));
    std::fs::remove_dir(folder.join("kandev.db")).unwrap();
    std::fs::write(folder.join("kandev.db"), "").unwrap();
    assert_eq!(find_database(home.path()), Some(folder.join("kandev.db")));
}

#[test]
fn a_copy_holds_everything_and_leaves_the_original_as_it_was() {
    let (original, copy) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    fill(original.url(), Revision::Release085);
    let (before, beside) = (dump(original.url()), files(original.url()));
    copy_database(path_of(original.url()).unwrap(), path_of(copy.url()).unwrap()).unwrap();
    assert_same_files(original.url(), &beside);
    assert_eq!(dump(copy.url()), before);
    upgrade(copy.url()).unwrap();
    assert_eq!(dump(original.url()), before);
}

#[test]
fn a_copy_holds_also_what_is_only_in_the_journal() {
    let (original, copy) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    drop(LegacyDatabase::create(original.url(), Revision::Release085));
    // While this is open the journal is not written back.
    let open = rusqlite::Connection::open(path_of(original.url()).unwrap()).unwrap();
    open.execute_batch("UPDATE workspaces SET name = 'Only in the journal'").unwrap();
    let beside = files(original.url());
    assert_eq!(beside.len(), 3);
    copy_database(path_of(original.url()).unwrap(), path_of(copy.url()).unwrap()).unwrap();
    assert_eq!(files(original.url()).len(), 3);
    assert_eq!(rows(copy.url(), "SELECT name FROM workspaces"), ["Only in the journal"]);
    drop(open);
    assert_eq!(rows(original.url(), "SELECT name FROM workspaces"), ["Only in the journal"]);
}

#[test]
fn nothing_is_copied_while_the_old_program_runs() {
    let (original, copy) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    drop(LegacyDatabase::create(original.url(), Revision::Release085));
    let from = path_of(original.url()).unwrap();
    let lock = File::create(format!("{}.lock", from.display())).unwrap();
    lock.lock().unwrap();
    let beside = files(original.url());
    let refused = copy_database(from, path_of(copy.url()).unwrap()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    assert_same_files(original.url(), &beside);
    assert!(!path_of(copy.url()).unwrap().exists());
}
