//! Crashes while something goes into quarantine, comes back from it, or goes for good.

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::CleanupState;
use freehold_domain::storage::QuarantineState;
use freehold_engine::Engine;

use super::crash;
use crate::harness::{World, add_repository, on_both_engines, wait_for_job, whole};
use crate::storage::{request, stray};

const GOING_IN: [&str; 9] = [
    "engine.quarantine.assessed",
    "engine.quarantine.reserved",
    "engine.quarantine.claimed",
    "git.seal.after_objects",
    "engine.quarantine.sealed",
    "git.quarantine.before_rename",
    "git.quarantine.moved",
    "git.quarantine.registered",
    "engine.quarantine.moved",
];

const COMING_BACK: [&str; 4] = [
    "engine.quarantine.restoring",
    "git.quarantine.before_return",
    "git.quarantine.returned",
    "engine.quarantine.restored",
];

const GOING_FOR_GOOD: [&str; 4] =
    ["git.removal.moved", "git.removal.after_registration", "engine.quarantine.emptied", "engine.purge.seal"];

/// Carries out one scene in the child; the place is the only one that there is.
pub(super) async fn play(engine: &Engine, scene: &str) {
    if scene == "quarantine" {
        let place = engine.unowned_places().await.unwrap().remove(0);
        let entry = engine.quarantine(request(Path::new(&place.path))).await.unwrap().entry;
        let job = engine.cleanup_job(entry.job_id).await.unwrap();
        wait_for_job(engine, &job).await;
        return;
    }
    let id = engine.quarantine_entries().await.unwrap().remove(0).entry.id;
    if scene == "take back" {
        engine.restore_quarantined(id, None).await.unwrap();
    } else {
        let job = engine.purge_quarantined(id).await.unwrap();
        wait_for_job(engine, &job).await;
    }
}

/// Waits until every job is at rest.
async fn settle(engine: &Engine) {
    for job in engine.cleanup_jobs(None, None).await.unwrap() {
        assert_eq!(wait_for_job(engine, &job).await.state, CleanupState::Succeeded);
    }
}

#[test]
fn a_crash_at_any_step_into_quarantine_ends_with_every_byte_in_one_place_that_is_listed() {
    for failpoint in GOING_IN {
        on_both_engines(async |world: &World| {
            let engine = world.start().await;
            add_repository(&engine, world).await;
            let worktree = stray(world, "crash");
            let before = whole(world, &worktree);
            engine.shutdown().await;
            crash(world, "quarantine", failpoint);

            let engine = world.start().await;
            settle(&engine).await;
            let (held, unowned) =
                (engine.quarantine_entries().await.unwrap(), engine.unowned_places().await.unwrap());
            let place = match (held.as_slice(), unowned.as_slice()) {
                ([held], []) => {
                    assert_eq!(held.entry.state, QuarantineState::Held, "{failpoint}");
                    PathBuf::from(&held.entry.held_path)
                }
                ([], [unowned]) => PathBuf::from(&unowned.path),
                other => panic!("{failpoint}: {other:#?}"),
            };
            assert_eq!(whole(world, &place), before, "{failpoint}");
            assert_eq!(world.worktrees(), [place.display().to_string()], "{failpoint}");
            engine.shutdown().await;
        });
    }
}

/// Puts the one worktree of a world into quarantine; gives where it was.
async fn with_one_held(world: &World) -> PathBuf {
    let engine = world.start().await;
    add_repository(&engine, world).await;
    let worktree = stray(world, "crash");
    play(&engine, "quarantine").await;
    settle(&engine).await;
    engine.shutdown().await;
    worktree
}

#[test]
fn a_crash_at_any_step_back_from_quarantine_ends_with_it_back() {
    for failpoint in COMING_BACK {
        on_both_engines(async |world: &World| {
            let worktree = with_one_held(world).await;
            let before = whole(world, Path::new(&world.worktrees()[0]));
            crash(world, "take back", failpoint);

            let engine = world.start().await;
            assert!(engine.quarantine_entries().await.unwrap().is_empty(), "{failpoint}");
            assert_eq!(whole(world, &worktree), before, "{failpoint}");
            assert_eq!(world.worktrees(), [worktree.display().to_string()], "{failpoint}");
            engine.shutdown().await;
        });
    }
}

#[test]
fn a_crash_at_any_step_of_a_purge_ends_with_all_of_it_gone() {
    for failpoint in GOING_FOR_GOOD {
        on_both_engines(async |world: &World| {
            let worktree = with_one_held(world).await;
            crash(world, "purge", failpoint);

            let engine = world.start().await;
            settle(&engine).await;
            assert!(engine.quarantine_entries().await.unwrap().is_empty(), "{failpoint}");
            assert!(!worktree.exists() && world.worktrees().is_empty(), "{failpoint}");
            assert_eq!(world.repo.git(&["for-each-ref", "refs/freehold/seals"]), "", "{failpoint}");
            assert_eq!(engine.unowned_places().await.unwrap(), [], "{failpoint}");
            engine.shutdown().await;
        });
    }
}
