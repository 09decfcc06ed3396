//! An upgrade that fails or dies at any point leaves the database as it was. Run with `--features failpoints`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also in what tests share")]

#[path = "../fixture.rs"]
mod fixture;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use freehold_store::upgrade::Shape;
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::legacy::{Revision, dump};

use fixture::{fill, upgrade};

/// Every boundary before the commit, in order.
const BOUNDARIES: [&str; 17] = [
    "upgrade.create_shadow",
    "upgrade.copy",
    "upgrade.backfill",
    "upgrade.link",
    "upgrade.validate",
    "upgrade.before_swap",
    "upgrade.drop.task_session_worktrees",
    "upgrade.drop.task_environment_repos",
    "upgrade.drop.task_environments",
    "upgrade.rename.task_environments",
    "upgrade.rename.task_environment_repos",
    "upgrade.after_swap",
    "upgrade.adopt",
    "upgrade.messages",
    "upgrade.indexes",
    "upgrade.check",
    "upgrade.commit",
];

const AFTER_COMMIT: &str = "upgrade.after_commit";

/// Names the database to the process that dies.
const DATABASE: &str = "PART_DATABASE";

#[test]
fn every_boundary_is_known_here() {
    let mut known: Vec<String> = BOUNDARIES.iter().map(|name| (*name).to_owned()).collect();
    known.push(AFTER_COMMIT.to_owned());
    // A name that is put together stands for one of each table.
    let is_known = |name: &str| match name.split_once('{') {
        Some((start, _)) => known.iter().any(|known| known.starts_with(start)),
        None => known.iter().any(|known| known == name),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut named = 0;
    for file in
        ["upgrade.rs", "upgrade/swap.rs", "upgrade/adopt.rs", "upgrade/snapshot.rs", "upgrade/plan.rs"]
    {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for call in text.split("boundary(").skip(1) {
            let Some(name) = call.split('"').nth(1).filter(|name| name.starts_with("upgrade.")) else {
                continue;
            };
            assert!(is_known(name), "{file} has {name}");
            named += 1;
        }
    }
    assert_eq!(named, 15, "calls of boundary()");
}

#[test]
fn an_upgrade_that_fails_anywhere_changes_nothing() {
    let scenario = fail::FailScenario::setup();
    TestDatabase::each("fails", |url| {
        fill(url, Revision::Release085);
        let before = dump(url);
        for point in BOUNDARIES {
            fail::cfg(point, "return(error)").unwrap();
            let refused = upgrade(url).unwrap_err();
            fail::remove(point);
            assert!(
                matches!(&refused, StoreError::UpgradeCheck { what } if what.contains(point)),
                "{refused}"
            );
            assert_same(&dump(url), &before, point);
        }
        upgrade(url).unwrap();
        assert_final(url);
    });
    scenario.teardown();
}

#[test]
fn an_upgrade_whose_process_dies_anywhere_changes_nothing_and_the_next_one_succeeds() {
    let scenario = fail::FailScenario::setup();
    TestDatabase::each("dies", |url| {
        fill(url, Revision::BeforeCutover);
        let before = dump(url);
        for point in BOUNDARIES {
            die_at(point, url);
            if url.starts_with("sqlite:") {
                // With the journal that the process left; looking at it would tidy that up.
                let left = copy_of(url);
                assert_eq!(upgrade(left.url()).unwrap().found, Shape::Legacy, "{point}");
                assert_final(left.url());
            }
            assert_same(&dump(url), &before, point);
        }
        upgrade(url).unwrap();
        assert_final(url);
        if let Some(path) = url.strip_prefix("sqlite://") {
            let backups = Path::new(path).parent().unwrap().join("backups");
            let kept: Vec<_> =
                std::fs::read_dir(backups).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(kept.len(), 1, "each attempt uses the first one's snapshot: {kept:?}");
        }
    });
    scenario.teardown();
}

#[test]
fn a_hybrid_whose_upgrade_dies_is_as_it_was() {
    let scenario = fail::FailScenario::setup();
    TestDatabase::each("hybrid dies", |url| {
        fill(url, Revision::Hybrid);
        let before = dump(url);
        for point in ["upgrade.drop.task_environments", "upgrade.rename.task_environments", "upgrade.commit"]
        {
            die_at(point, url);
            assert_same(&dump(url), &before, point);
        }
        upgrade(url).unwrap();
        assert_final(url);
    });
    scenario.teardown();
}

#[test]
fn an_upgrade_that_has_committed_is_complete_whatever_follows() {
    let scenario = fail::FailScenario::setup();
    TestDatabase::each("after the commit", |url| {
        fill(url, Revision::Release085);
        die_at(AFTER_COMMIT, url);
        assert_final(url);
        let after = dump(url);
        assert_eq!(upgrade(url).unwrap().found, Shape::Final);
        assert_same(&dump(url), &after, "replay");
    });
    scenario.teardown();
}

#[track_caller]
fn assert_same(now: &[String], before: &[String], point: &str) {
    let gone: Vec<_> = before.iter().filter(|line| !now.contains(line)).collect();
    let new: Vec<_> = now.iter().filter(|line| !before.contains(line)).collect();
    assert!(now == before, "{point}: gone {gone:#?}, new {new:#?}");
}

fn assert_final(url: &str) {
    let url = DatabaseUrl::parse(url).unwrap();
    let store = Store::open(&url, StoreOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.verify_statements()).unwrap();
    store.close();
}

/// Upgrades in a process of its own, which dies at the failpoint.
fn die_at(point: &str, url: &str) {
    #[expect(clippy::disallowed_methods, reason = "the test lets another process die")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "part_upgrades", "--ignored", "--quiet"]).env(DATABASE, url);
    command.env("FAILPOINTS", format!("{point}=return")).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().unwrap();
    assert!(status.signal().is_some(), "{point} was not reached: {status}");
}

#[test]
#[ignore = "a part of the tests here"]
fn part_upgrades() {
    let _scenario = fail::FailScenario::setup();
    upgrade(&std::env::var(DATABASE).unwrap()).unwrap();
}

/// A copy of an SQLite database with all that its process left beside it.
fn copy_of(url: &str) -> TestDatabase {
    let copy = TestDatabase::sqlite();
    let path = |url: &str| url.strip_prefix("sqlite://").unwrap().to_owned();
    for suffix in ["", "-wal", "-shm"] {
        let [from, to] = [path(url), path(copy.url())].map(|path| format!("{path}{suffix}"));
        if Path::new(&from).exists() {
            std::fs::copy(from, to).unwrap();
        }
    }
    copy
}
