//! Crashes while a workspace that others work in changes hands, and while one is reset.

use std::path::PathBuf;

use freehold_domain::id::TaskId;
use freehold_engine::Engine;
use freehold_engine::cleanup::{CloseAction, ResetEnvironment};
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::session::NewSession;
use freehold_engine::task::{NewTask, TaskListQuery};
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions};

use super::crash;
use crate::borrowing::borrower;
use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_for_task, wait_until_idle, whole,
    worktree_of,
};

const HANDING_OVER: [&str; 5] = [
    "engine.close.reserved",
    "engine.close.snapshot",
    "engine.transfer.before_commit",
    "engine.close.activated",
    "engine.cleanup.stopped",
];

const TRANSFER: [&str; 2] = ["engine.transfer.changed", "engine.transfer.stored"];

const RESET: [&str; 8] = [
    "engine.close.reserved",
    "engine.close.snapshot",
    "engine.close.activated",
    "engine.cleanup.stopped",
    "engine.cleanup.sealed",
    "engine.cleanup.removed",
    "engine.cleanup.verified",
    "engine.reset.given_back",
];

/// What the server that crashes does.
pub(super) async fn play(engine: &Engine, scene: &str) {
    let owner = titled(engine, "owner").await;
    match scene {
        "transfer" => engine.transfer_workspace(owner, titled(engine, "visitor").await).await.unwrap(),
        "reset" => {
            let consent = ResetEnvironment { seals: true, ..ResetEnvironment::default() };
            let job = engine.reset_environment(owner, consent).await.unwrap();
            crate::harness::wait_for_job(engine, &job).await;
        }
        _ => {
            close(engine, &owner, CloseAction::Archive).await;
        }
    }
}

async fn titled(engine: &Engine, title: &str) -> TaskId {
    let tasks = engine.tasks(TaskListQuery { limit: 10, ..TaskListQuery::default() }).await.unwrap();
    tasks.items.into_iter().find(|item| item.task.title == title).unwrap().task.id
}

/// A task with work in its workspace.
async fn owner_with_work(engine: &Engine, world: &World) -> (TaskId, PathBuf) {
    let repository = add_repository(engine, world).await;
    let id = engine.create_task(new_task(&repository, "owner", "Improve it")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(engine, &id).await);
    std::fs::write(worktree.join("notes.txt"), "precious\n").unwrap();
    (id, worktree)
}

#[test]
fn a_crash_while_a_workspace_goes_over_leaves_it_whole_with_one_owner() {
    for (scene, failpoints) in [("hand over", &HANDING_OVER[..]), ("transfer", &TRANSFER[..])] {
        for failpoint in failpoints {
            on_both_engines(async |world: &World| go_over_with_crash(world, scene, failpoint).await);
        }
    }
}

async fn go_over_with_crash(world: &World, scene: &str, failpoint: &str) {
    let engine = world.start().await;
    let (owner, worktree) = owner_with_work(&engine, world).await;
    let visitor = borrower(&engine, &owner, "visitor").await;
    let before = whole(world, &worktree);
    engine.shutdown().await;
    crash(world, scene, failpoint);

    let engine = world.start().await;
    let view = wait_for_task(&engine, &owner, failpoint, |view| {
        view.cleanup_jobs.iter().all(|job| job.state.is_final())
    })
    .await;
    assert_eq!(whole(world, &worktree), before, "{failpoint}");
    let visited = engine.task(visitor.clone()).await.unwrap().environment.unwrap();
    let expected = match view.summary.task.is_open() {
        true if failpoint != "engine.transfer.stored" => &owner,
        _ => &visitor,
    };
    assert_eq!(visited.environment.task_id, *expected, "{failpoint}");
    engine.create_session(visitor, NewSession::default()).await.unwrap();
    engine.shutdown().await;
}

#[test]
fn a_crash_at_any_step_of_a_reset_loses_nothing_and_ends_in_one_workspace() {
    for failpoint in RESET {
        on_both_engines(async |world: &World| reset_with_crash(world, failpoint).await);
    }
}

async fn reset_with_crash(world: &World, failpoint: &str) {
    let engine = world.start().await;
    let (owner, worktree) = owner_with_work(&engine, world).await;
    engine.shutdown().await;
    crash(world, "reset", failpoint);

    let engine = world.start().await;
    let view = wait_for_task(&engine, &owner, failpoint, |view| {
        view.cleanup_jobs.iter().all(|job| job.state.is_final())
    })
    .await;
    assert!(view.summary.task.is_open(), "{failpoint}");
    engine.create_session(owner.clone(), NewSession::default()).await.unwrap();
    let now = worktree_of(&engine.task(owner.clone()).await.unwrap());
    assert_eq!(world.worktrees(), [now.display().to_string()], "{failpoint}");
    if now == worktree {
        assert!(worktree.join("notes.txt").is_file(), "{failpoint}: it was called off");
    } else {
        let sealed = engine.sealed_changes(owner).await.unwrap();
        let has_notes = sealed.iter().any(|seal| seal.files.iter().any(|file| file.path == "notes.txt"));
        assert!(has_notes && !worktree.exists(), "{failpoint}: it is in the seal");
    }
    engine.shutdown().await;
}

#[test]
fn a_transfer_between_preparation_and_execution_wins_over_the_stale_snapshot() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner_with_work(&engine, world).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let heir = NewTask { start: false, ..new_task(&repository, "heir", "") };
        let heir = engine.create_task(heir).await.unwrap();
        let environment = engine.task(owner.clone()).await.unwrap().environment.unwrap().environment.id;
        let before = whole(world, &worktree);
        engine.shutdown().await;
        crash(world, "hand over", "engine.close.activated");

        // The job waits with the workspace in its snapshot; another server gives the workspace away.
        let (url, from, to) = (world.url.clone(), owner.clone(), heir.clone());
        let store = tokio::task::spawn_blocking(move || {
            Store::open(&DatabaseUrl::parse(&url).unwrap(), StoreOptions::default()).unwrap()
        });
        let store = store.await.unwrap();
        let now = freehold_domain::clock::Clock::now(&freehold_engine::system::SystemClock);
        let moved =
            store.write(move |tx| freehold_store::environment::transfer(tx, &environment, &from, &to, now));
        assert!(moved.await.map_err(|error: StoreError| error.to_string()).unwrap());
        tokio::task::spawn_blocking(move || drop(store)).await.unwrap();

        let engine = world.start().await;
        let view = wait_for_task(&engine, &owner, "the job ends", |view| {
            view.cleanup_jobs.iter().all(|job| job.state.is_final())
        })
        .await;
        assert!(!view.summary.task.is_open());
        assert_eq!(whole(world, &worktree), before);
        assert!(engine.seals(owner.clone()).await.unwrap().is_empty());
        assert_eq!(worktree_of(&engine.task(heir).await.unwrap()), worktree);
        engine.reopen_task(owner, Reopening::default()).await.unwrap();
        engine.shutdown().await;
    });
}
