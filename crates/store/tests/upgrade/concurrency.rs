//! Several servers, or other programs, on one database at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use freehold_store::upgrade::{Initialised, Resolutions, Shape, plan};
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{LegacyDatabase, Revision, dump, large, rows};

use crate::fixture::upgrade;

/// Large enough that one upgrade is still at work when the other begins.
const SIZE: large::Size = large::Size { tasks: 20, sessions: 40, messages: 200 };

/// Two servers begin at the same moment.
fn upgrade_twice(url: &str) -> [Result<Initialised, StoreError>; 2] {
    let begin = Arc::new(Barrier::new(2));
    std::thread::scope(|scope| {
        let servers = [(); 2].map(|()| {
            let begin = Arc::clone(&begin);
            scope.spawn(move || {
                begin.wait();
                upgrade(url)
            })
        });
        servers.map(|server| server.join().unwrap())
    })
}

#[track_caller]
fn assert_one_upgrades(url: &str) {
    let outcomes = upgrade_twice(url).map(Result::unwrap);
    let upgraded = outcomes.iter().filter(|outcome| outcome.upgrade.is_some()).count();
    assert_eq!(upgraded, 1, "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| outcome.found == Shape::Legacy), "{outcomes:?}");
}

#[track_caller]
fn assert_usable(url: &str) {
    Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap().close();
    assert_eq!(upgrade(url).unwrap().found, Shape::Final);
}

#[test]
fn of_two_servers_on_one_database_of_postgres_one_upgrades_and_the_other_finds_it_done() {
    for round in 1..=20 {
        let database = TestDatabase::postgres();
        large::create(database.url(), SIZE);
        assert_one_upgrades(database.url());
        if round % 10 == 0 {
            assert_usable(database.url());
        }
    }
}

#[test]
fn of_two_processes_on_one_file_one_upgrades_and_the_other_finds_it_done() {
    for has_lock in [false, false, false, true, true] {
        let database = TestDatabase::sqlite();
        large::create(database.url(), SIZE);
        if has_lock {
            // The old program leaves its lock file when it ends.
            std::fs::write(format!("{}.lock", database.url().strip_prefix("sqlite://").unwrap()), "")
                .unwrap();
        }
        assert_one_upgrades(database.url());
        assert_usable(database.url());
    }
}

#[test]
fn a_table_that_another_program_holds_stops_the_upgrade_in_good_time() {
    let database = TestDatabase::postgres();
    let url = database.url();
    LegacyDatabase::create(url, Revision::Release085).task("a").flat_environment("e", "a", "w");
    let before = dump(url);
    let mut other = postgres::Client::connect(url, postgres::NoTls).unwrap();
    other.batch_execute("BEGIN; UPDATE tasks SET title = 'Mine' WHERE id = 'a'").unwrap();
    let begin = Instant::now();
    let refused = upgrade(url).unwrap_err();
    let waited = begin.elapsed().as_secs();
    assert!((9..30).contains(&waited), "{waited} s");
    assert!(matches!(&refused, StoreError::InUse { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("is in use: another program uses its tables"), "{text}");
    assert!(text.contains("lock timeout") && text.ends_with("Nothing was changed"), "{text}");
    other.batch_execute("ROLLBACK").unwrap();
    assert_eq!(dump(url), before);
    upgrade(url).unwrap();
    assert_eq!(rows(url, "SELECT title FROM tasks"), ["Title of a"]);
}

#[test]
fn a_plan_beside_an_upgrade_sees_the_database_before_or_after() {
    for _ in 0..5 {
        TestDatabase::each("plan beside an upgrade", |url| {
            large::create(url, SIZE);
            let is_done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let planner = scope.spawn(|| {
                    let mut shapes = Vec::new();
                    while !is_done.load(Ordering::SeqCst) {
                        let parsed = DatabaseUrl::parse(url).unwrap();
                        shapes.push(plan(&parsed, &Resolutions::default()).map(|plan| plan.shape));
                    }
                    shapes
                });
                let upgraded = upgrade(url);
                is_done.store(true, Ordering::SeqCst);
                upgraded.unwrap();
                for shape in planner.join().unwrap() {
                    assert!(matches!(shape, Ok(Shape::Legacy | Shape::Final)), "{shape:?}");
                }
            });
        });
    }
}
