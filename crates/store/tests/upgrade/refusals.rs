//! Databases that are not upgraded now: those of a newer program, and those that somebody works with.

use std::fs::File;

use freehold_domain::clock::Timestamp;
use freehold_store::upgrade::{Initialise, Resolutions, Shape, initialise, plan};
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, dump};

use crate::fixture::{fill, is_flat, upgrade};
use crate::world::{assert_same_files, files, path_of};

#[test]
fn a_database_of_a_newer_program_is_refused_before_anything_is_written() {
    TestDatabase::each("newer", |url| {
        Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap().close();
        LegacyDatabase::open(url, 0).sql(
            "UPDATE freehold_meta SET value = '3' WHERE key = 'schema_version'; \
             UPDATE freehold_meta SET value = '9.8.7' WHERE key = 'written_by'; \
             INSERT INTO freehold_meta (key, value) VALUES ('snapshot', '/backups/before.db')",
        );
        let (before, beside) = (dump(url), files(url));
        let parsed = DatabaseUrl::parse(url).unwrap();
        let refusals = [
            upgrade(url).unwrap_err(),
            plan(&parsed, &Resolutions::default()).unwrap_err(),
            Store::open(&parsed, StoreOptions::default()).map(drop).unwrap_err(),
        ];
        for refused in refusals {
            assert_eq!(
                refused.to_string(),
                format!(
                    "{parsed} has schema version \"3\", written by Freehold 9.8.7; this is Freehold {}, which knows \
                     version 2. Nothing was changed: use the version that wrote it or a newer one, or go back to \
                     /backups/before.db",
                    env!("CARGO_PKG_VERSION")
                )
            );
        }
        if let Some(path) = path_of(url) {
            assert!(files(url)[path] == beside[path], "its file changed");
        }
        assert_eq!(dump(url), before);
        // Also where an old program was started on it since.
        LegacyDatabase::open(url, 0).sql("CREATE TABLE task_session_worktrees (id TEXT)");
        let (before, beside) = (dump(url), files(url));
        assert!(matches!(upgrade(url).unwrap_err(), StoreError::UnknownSchema { .. }));
        assert_same_files(url, &beside);
        assert_eq!(dump(url), before);
    });
}

#[test]
fn a_database_that_may_not_be_upgraded_is_refused_and_says_what_would_happen() {
    for revision in Revision::ALL {
        TestDatabase::each("may not", |url| {
            fill(url, revision);
            let (before, beside) = (dump(url), files(url));
            let request = Initialise {
                may_upgrade: false,
                resolutions: Resolutions::default(),
                now: Timestamp::from_micros(0),
                progress: &|_| {},
            };
            let refused = initialise(&DatabaseUrl::parse(url).unwrap(), &request).unwrap_err();
            assert!(
                refused.to_string().ends_with("it must be upgraded first, and nothing was changed"),
                "{refused}"
            );
            let StoreError::UpgradeNeeded { plan, .. } = refused else { panic!("{refused}") };
            assert_eq!(plan.shape == Shape::Legacy, is_flat(revision));
            assert_same_files(url, &beside);
            assert_eq!(dump(url), before);
        });
    }
}

#[test]
fn a_plan_says_what_the_upgrade_then_does_and_writes_nothing() {
    for revision in Revision::ALL {
        TestDatabase::each("plan", |url| {
            fill(url, revision);
            let (before, beside) = (dump(url), files(url));
            let planned = plan(&DatabaseUrl::parse(url).unwrap(), &Resolutions::default()).unwrap();
            assert_same_files(url, &beside);
            assert_eq!(dump(url), before);
            assert_eq!(upgrade(url).unwrap().upgrade.unwrap().plan, planned);
        });
    }
}

#[test]
fn a_database_whose_old_program_runs_is_refused() {
    for name in ["freehold.db.lock", ".kandev-backend.lock", "../.kandev-backend.lock"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let url = format!("sqlite://{}", data.join("freehold.db").display());
        fill(&url, Revision::Release085);
        let path = data.join(name);
        let lock = File::create(&path).unwrap();
        lock.lock().unwrap();
        let before = dump(&url);
        let refused = upgrade(&url).unwrap_err();
        assert!(matches!(&refused, StoreError::InUse { .. }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains("the program that made it still runs and holds"), "{text}");
        assert!(text.contains("backend.lock") || text.contains("freehold.db.lock"), "{text}");
        assert_eq!(dump(&url), before);
        assert!(!data.join("backups").exists());
        // What is left of a program that ended is no hindrance.
        drop(lock);
        upgrade(&url).unwrap();
    }
}

#[test]
fn a_view_of_a_table_that_is_swapped_stops_the_upgrade() {
    TestDatabase::each("view", |url| {
        fill(url, Revision::Release085);
        LegacyDatabase::open(url, 60)
            .sql("CREATE VIEW mine AS SELECT id, worktree_path FROM task_environments");
        let before = dump(url);
        let refused = upgrade(url).unwrap_err();
        let expected = "the view mine reads task_environments; drop it first, and make it again afterwards";
        assert!(matches!(&refused, StoreError::UpgradeCheck { what } if what == expected), "{refused}");
        assert_eq!(dump(url), before);
        LegacyDatabase::open(url, 60).sql("DROP VIEW mine");
        upgrade(url).unwrap();
    });
}
