//! What a crash on either side of a commit leaves. Run with `--features failpoints`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also in what tests share")]

use freehold_domain::clock::Timestamp;
use freehold_domain::workflow::Workspace;
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions, workspace};
use freehold_testkit::database::TestDatabase;

#[test]
fn a_crash_before_the_commit_leaves_nothing_and_one_after_it_leaves_everything() {
    let scenario = fail::FailScenario::setup();
    TestDatabase::each("failpoints", |url| {
        let store = Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (point, stored) in [("store.write.before_commit", 0), ("store.write.after_commit", 1)] {
            fail::cfg(point, "panic").unwrap();
            let crashed: Result<(), StoreError> = runtime.block_on(store.write(|tx| {
                let now = Timestamp::from_micros(0);
                let id = "workspace".parse().map_err(|_| StoreError::Closed)?;
                let (created_at, updated_at) = (now, now);
                workspace::insert(tx, &Workspace { id, name: "Mine".to_owned(), created_at, updated_at })
            }));
            fail::remove(point);
            assert!(matches!(crashed, Err(StoreError::Panicked { .. })), "{crashed:?}");
            let found: Result<Vec<Workspace>, StoreError> = runtime.block_on(store.read(workspace::list));
            assert_eq!(found.unwrap().len(), stored, "{point} on {url}");
        }
        store.close();
    });
    scenario.teardown();
}
