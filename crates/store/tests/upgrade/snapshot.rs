//! The snapshot of an SQLite database: complete before anything changes, and kept whatever happens then.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use freehold_store::upgrade::{Initialise, Progress, Resolutions, initialise};
use freehold_store::{DatabaseUrl, StoreError};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, dump, rows};

use crate::fixture::{NOW, fill, upgrade};
use crate::world::path_of;

/// Upgrades, and does something whenever progress is told.
fn upgrade_while(url: &str, hear: &(dyn Fn(Progress) + Sync)) -> Result<Option<PathBuf>, StoreError> {
    let request =
        Initialise { may_upgrade: true, resolutions: Resolutions::default(), now: NOW, progress: hear };
    let done = initialise(&DatabaseUrl::parse(url)?, &request)?;
    Ok(done.upgrade.and_then(|upgraded| upgraded.snapshot))
}

fn snapshots(url: &str) -> Vec<PathBuf> {
    let folder = path_of(url).unwrap().parent().unwrap().join("backups");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The rows and the schema of a file, opened as a copy so that looking leaves nothing beside it.
fn dump_of_file(path: &Path) -> Vec<String> {
    let copy = TestDatabase::sqlite();
    std::fs::copy(path, path_of(copy.url()).unwrap()).unwrap();
    dump(copy.url())
}

#[test]
fn a_snapshot_is_complete_before_anything_changes_and_is_recorded() {
    for revision in Revision::ALL {
        let database = TestDatabase::sqlite();
        let url = database.url();
        fill(url, revision);
        let before = dump(url);
        let seen = Mutex::new(None);
        let path = upgrade_while(url, &|progress| {
            if let Progress::SnapshotTaken(path) = progress {
                *seen.lock().unwrap() = Some((dump_of_file(&path), dump(url)));
            }
        });
        let path = path.unwrap().unwrap();
        let (of_snapshot, of_database) = seen.into_inner().unwrap().unwrap();
        assert!(of_snapshot == before && of_database == before, "{revision:?}");
        assert!(dump_of_file(&path) == before, "the upgrade changed its snapshot");
        assert_eq!(snapshots(url), std::slice::from_ref(&path));
        assert_eq!(
            rows(url, "SELECT value FROM freehold_meta WHERE key = 'snapshot'"),
            [path.display().to_string()]
        );
        assert!(path.is_absolute());
    }
}

#[test]
fn a_snapshot_of_a_database_can_be_upgraded_itself() {
    let database = TestDatabase::sqlite();
    fill(database.url(), Revision::Release085);
    let path = upgrade_while(database.url(), &|_| {}).unwrap().unwrap();
    let back = TestDatabase::sqlite();
    std::fs::copy(path, path_of(back.url()).unwrap()).unwrap();
    upgrade(back.url()).unwrap();
    let owners = "SELECT id, task_environment_id, worktree_id FROM task_environment_repos ORDER BY id";
    assert_eq!(rows(back.url(), owners), rows(database.url(), owners));
}

#[test]
fn no_snapshot_is_taken_where_nothing_will_change() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    LegacyDatabase::create(url, Revision::Release085).task("a").session_worktree("gone", "w");
    assert!(matches!(upgrade(url).unwrap_err(), StoreError::UpgradeConflicts { .. }));
    let request =
        Initialise { may_upgrade: false, resolutions: Resolutions::default(), now: NOW, progress: &|_| {} };
    let before = dump(url);
    let refused = initialise(&DatabaseUrl::parse(url).unwrap(), &request).unwrap_err();
    assert!(matches!(refused, StoreError::UpgradeNeeded { .. }), "{refused}");
    assert_eq!(snapshots(url), [""; 0].map(PathBuf::from));
    assert_eq!(dump(url), before);
}

/// Lets the upgrade of a database fail in its transaction.
fn let_it_fail(url: &str) -> LegacyDatabase {
    fill(url, Revision::Release085);
    let mut old = LegacyDatabase::open(url, 60);
    // A view of a table that is swapped is refused.
    old.sql("CREATE VIEW worktrees AS SELECT worktree_id, worktree_path FROM task_environments");
    old
}

#[test]
fn a_snapshot_stays_when_the_upgrade_fails_and_the_next_attempt_uses_it() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    let mut old = let_it_fail(url);
    let before = dump(url);
    let refused = upgrade(url).unwrap_err();
    assert!(refused.to_string().contains("worktrees"), "{refused}");
    assert_eq!(dump(url), before);
    let kept = snapshots(url);
    assert_eq!(kept.len(), 1);
    assert!(dump_of_file(&kept[0]) == before);
    for _ in 0..3 {
        upgrade(url).unwrap_err();
    }
    assert_eq!(snapshots(url), kept);
    assert_eq!(dump(url), before);

    // Other data are another snapshot, and the first stays.
    old.sql("DROP VIEW worktrees");
    let changed = dump(url);
    let second = upgrade_while(url, &|_| {}).unwrap().unwrap();
    assert_eq!(snapshots(url).len(), 2);
    assert!(dump_of_file(&second) == changed);
    assert!(dump_of_file(&kept[0]) == before);
}

#[test]
fn a_snapshot_never_takes_the_place_of_a_file() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    fill(url, Revision::Release085);
    let folder = path_of(url).unwrap().parent().unwrap().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let mine = folder.join("before-freehold-freehold-20261130T081500Z.db");
    std::fs::write(&mine, "mine").unwrap();
    let path = upgrade_while(url, &|_| {}).unwrap().unwrap();
    assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
    assert_eq!(snapshots(url), [path, mine]);
}

#[test]
fn a_folder_that_takes_no_snapshot_stops_the_upgrade() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    fill(url, Revision::Release085);
    let before = dump(url);
    let folder = path_of(url).unwrap().parent().unwrap().join("backups");
    // A file in the folder's place holds for every user, also for one whom no permission stops.
    std::fs::write(&folder, "not a folder").unwrap();
    let refused = upgrade(url).unwrap_err();
    assert!(matches!(&refused, StoreError::Snapshot { .. }), "{refused}");
    assert!(refused.to_string().contains("before the upgrade"), "{refused}");
    assert_eq!(dump(url), before);
    std::fs::remove_file(&folder).unwrap();

    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_err() {
        let refused = upgrade(url).unwrap_err();
        assert!(matches!(refused, StoreError::Snapshot { .. }), "{refused}");
        assert_eq!(dump(url), before);
    }
}

#[test]
fn a_snapshot_is_taken_again_when_another_program_wrote_meanwhile() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    fill(url, Revision::Release085);
    let taken = Mutex::new(RefCell::new(Vec::new()));
    let path = upgrade_while(url, &|progress| {
        if let Progress::SnapshotTaken(path) = progress {
            let taken = taken.lock().unwrap();
            taken.borrow_mut().push(path);
            if taken.borrow().len() == 1 {
                LegacyDatabase::open(url, 70).task("written-meanwhile");
            }
        }
    });
    let path = path.unwrap().unwrap();
    let taken = taken.into_inner().unwrap().into_inner();
    assert_eq!((taken.len(), &taken[1]), (2, &path));
    let has_it = |path: &Path| dump_of_file(path).iter().any(|line| line.contains("written-meanwhile"));
    assert_eq!((has_it(&taken[0]), has_it(&taken[1])), (false, true));
    assert_eq!(rows(url, "SELECT count(*) FROM tasks WHERE id = 'written-meanwhile'"), ["1"]);
    assert_eq!(
        rows(url, "SELECT value FROM freehold_meta WHERE key = 'snapshot'"),
        [path.display().to_string()]
    );
}

#[test]
fn a_program_that_never_stops_writing_stops_the_upgrade() {
    let database = TestDatabase::sqlite();
    let url = database.url();
    fill(url, Revision::Release085);
    let count = Mutex::new(0_u32);
    let refused = upgrade_while(url, &|progress| {
        if let Progress::SnapshotTaken(_) = progress {
            let mut count = count.lock().unwrap();
            *count += 1;
            LegacyDatabase::open(url, 70 + *count).task(&format!("another-{count}"));
        }
    });
    let refused = refused.unwrap_err();
    let expected = "is in use: another program keeps writing to it; stop it first. Nothing was changed";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    assert_eq!(*count.lock().unwrap(), 3);
    assert!(rows(url, "SELECT name FROM sqlite_schema WHERE name = 'freehold_meta'").is_empty());
}
