//! Crashes while a folder that is no worktree is sealed, removed, brought back or made a new task.

use freehold_domain::id::TaskId;
use freehold_engine::Engine;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::task::TaskListQuery;
use freehold_testkit::repo::TempRepo;

use super::{archived_task, crash};
use crate::folders::task_with_a_note;
use crate::harness::{World, close, files_of, on_both_engines, wait_for_task, wait_until_reaped};

const CLOSING: [&str; 6] = [
    "engine.cleanup.folder_sealed",
    "engine.cleanup.sealed",
    "git.folder.before_rename",
    "git.folder.moved",
    "git.folder.after_rename",
    "engine.cleanup.folder_removed",
];

const REOPENING: [&str; 4] = [
    "git.folder.restore.after_staging",
    "git.folder.restore.before_rename",
    "git.folder.restore.after_rename",
    "engine.reopen.folder_restored",
];

const MAKING: [&str; 4] = [
    "engine.from_seal.planned",
    "engine.reopen.folder_restored",
    "engine.from_seal.restored",
    "engine.from_seal.persisted",
];

/// What the server that crashes does.
pub(super) async fn play(engine: &Engine) {
    let id = archived_task(engine).await;
    let seal = engine.seals(id).await.unwrap().remove(0);
    engine.task_from_seal(seal.id, Some("made".into())).await.unwrap();
}

async fn settled(engine: &Engine, id: &TaskId, failpoint: &str) {
    wait_for_task(engine, id, failpoint, |view| view.cleanup_jobs.iter().all(|job| job.state.is_final()))
        .await;
}

#[test]
fn a_crash_while_a_folder_goes_loses_nothing_of_it() {
    for failpoint in CLOSING {
        on_both_engines(async |world: &World| {
            let engine = world.start().await;
            let other = TempRepo::new();
            let (id, folder) = task_with_a_note(&engine, world, &other).await;
            let before = files_of(&folder);
            engine.shutdown().await;
            crash(world, "close", failpoint);

            let engine = world.start().await;
            settled(&engine, &id, failpoint).await;
            assert!(!folder.exists(), "{failpoint}");
            wait_until_reaped(&world.root(), failpoint).await;
            engine.reopen_task(id, Reopening::default()).await.unwrap();
            assert_eq!(files_of(&folder), before, "{failpoint}");
            engine.shutdown().await;
        });
    }
}

#[test]
fn a_crash_while_a_folder_comes_back_ends_in_the_whole_workspace() {
    for failpoint in REOPENING {
        on_both_engines(async |world: &World| {
            let engine = world.start().await;
            let other = TempRepo::new();
            let (id, folder) = task_with_a_note(&engine, world, &other).await;
            let before = files_of(&folder);
            close(&engine, &id, CloseAction::Archive).await;
            engine.shutdown().await;
            crash(world, "reopen", failpoint);

            let engine = world.start().await;
            wait_for_task(&engine, &id, failpoint, |view| view.summary.task.is_open()).await;
            assert_eq!(files_of(&folder), before, "{failpoint}");
            assert_eq!(world.task_directories(), [folder], "{failpoint}");
            engine.shutdown().await;
        });
    }
}

#[test]
fn a_crash_while_seals_become_a_task_ends_in_that_task() {
    for failpoint in MAKING {
        on_both_engines(async |world: &World| {
            let engine = world.start().await;
            let other = TempRepo::new();
            let (id, _) = task_with_a_note(&engine, world, &other).await;
            close(&engine, &id, CloseAction::Archive).await;
            engine.shutdown().await;
            crash(world, "from seal", failpoint);

            let engine = world.start().await;
            let query = TaskListQuery { limit: 10, ..TaskListQuery::default() };
            let made = engine.tasks(query).await.unwrap().items.remove(0).task;
            assert_eq!(made.title, "made", "{failpoint}");
            let view = wait_for_task(&engine, &made.id, failpoint, |view| view.environment.is_some()).await;
            let folder = view.environment.unwrap().environment.workspace_path;
            let note = std::path::Path::new(&folder).join("plan/notes.md");
            assert_eq!(std::fs::read_to_string(note).unwrap(), "beside\n", "{failpoint}");
            assert_eq!(world.task_directories().len(), 1, "{failpoint}");
            engine.shutdown().await;
        });
    }
}
