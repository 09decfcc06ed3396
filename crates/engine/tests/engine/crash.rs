//! A crash between any two steps: after a restart the same state is reached, nothing is orphaned or lost.
//!
//! The server is this test binary, run again as a child that aborts at a failpoint.

mod folders;
mod lent;
mod quarantined;

use std::process::Command;

use freehold_domain::cleanup::CleanupState;
use freehold_domain::id::TaskId;
use freehold_domain::preparation::SetupState;
use freehold_domain::session::SessionState;
use freehold_engine::Engine;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::repository_settings::SettingsUpdate;
use freehold_engine::task::TaskListQuery;

use crate::harness::{
    World, add_repository, close, commit_all, new_task, on_both_engines, start_engine, wait_for_job,
    wait_for_task, wait_until_idle, wait_until_reaped, whole, worktree_of,
};

const CREATION: [&str; 11] = [
    "engine.task.stored",
    "engine.creation.planned",
    "engine.creation.materialising",
    "git.worktree.before_add",
    "git.worktree.after_add",
    "engine.creation.added",
    "engine.creation.persisted",
    "engine.preparation.planted",
    "engine.preparation.stored",
    "engine.launch.ready",
    "engine.session.stored",
];

const CLOSING: [&str; 18] = [
    "engine.close.reserved",
    "engine.close.snapshot",
    "engine.close.activated",
    "engine.cleanup.stopped",
    "git.seal.after_objects",
    "git.seal.after_ref",
    "engine.cleanup.seal",
    "engine.cleanup.sealed",
    "git.removal.moved",
    "git.removal.hidden",
    "git.removal.after_rename",
    "git.removal.after_registration",
    "engine.cleanup.in_trash",
    "engine.cleanup.removed",
    "engine.cleanup.verified",
    "engine.reaper.found",
    "engine.reaper.step",
    "engine.reaper.unlinked",
];

const REOPENING: [&str; 7] = [
    "engine.reopen.planned",
    "git.restore.after_staging",
    "git.restore.after_files",
    "git.restore.before_rename",
    "git.restore.after_rename",
    "engine.reopen.restored",
    "engine.reopen.opened",
];

/// Runs `scene` in a child process that aborts at the failpoint.
#[expect(clippy::disallowed_methods, reason = "the crash needs a process of its own")]
fn crash(world: &World, scene: &str, failpoint: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env("FREEHOLD_CRASH_SCENE", scene)
        .env("FREEHOLD_CRASH_HOME", &world.home)
        .env("FREEHOLD_CRASH_DATABASE", &world.url)
        .env("FREEHOLD_CRASH_REPOSITORY", world.repo.path())
        .env("FAILPOINTS", format!("{failpoint}=return"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "the child passed {failpoint} without a crash: {said}");
    assert!(!said.contains("panicked"), "{failpoint}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the server that crashes, started by the other tests of this module"]
async fn child() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let home = std::path::PathBuf::from(variable("FREEHOLD_CRASH_HOME"));
    let _failpoints = fail::FailScenario::setup();
    let engine = start_engine(&home, &variable("FREEHOLD_CRASH_DATABASE")).await;
    match variable("FREEHOLD_CRASH_SCENE").as_str() {
        "create" => {
            let repository = engine.repositories().await.unwrap()[0].id.clone();
            let id = engine.create_task(new_task(&repository, "crash", "list")).await.unwrap();
            wait_until_idle(&engine, &id).await;
        }
        "reopen" => {
            let id = archived_task(&engine).await;
            engine.reopen_task(id, Reopening::default()).await.unwrap();
        }
        // The reaper may come later than the job.
        "close" => {
            close(&engine, &only_task(&engine).await, CloseAction::Archive).await;
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        scene @ ("quarantine" | "take back" | "purge") => quarantined::play(&engine, scene).await,
        scene @ ("hand over" | "transfer" | "reset") => lent::play(&engine, scene).await,
        "from seal" => folders::play(&engine).await,
        scene => panic!("{scene}"),
    }
}

#[test]
fn a_crash_at_any_step_of_creating_ends_in_one_workspace_and_one_conversation() {
    for failpoint in CREATION {
        on_both_engines(async |world: &World| create_with_crash(world, failpoint).await);
    }
}

async fn create_with_crash(world: &World, failpoint: &str) {
    let engine = world.start().await;
    add_repository(&engine, world).await;
    engine.shutdown().await;
    crash(world, "create", failpoint);

    let engine = world.start().await;
    let id = only_task(&engine).await;
    let view = wait_for_task(&engine, &id, failpoint, |view| {
        let settled = |state| matches!(state, SessionState::Idle | SessionState::Interrupted);
        view.sessions.first().is_some_and(|it| settled(it.session.state))
            && view.cleanup_jobs.iter().all(|job| job.state.is_final())
    })
    .await;
    assert_eq!(view.prompt, "list", "{failpoint}");
    assert!(view.cleanup_jobs.iter().all(|job| job.state == CleanupState::Succeeded), "{failpoint}");
    assert_eq!(world.worktrees(), [worktree_of(&view).display().to_string()], "{failpoint}");
    assert_eq!((world.branches().len(), world.task_directories().len()), (1, 1), "{failpoint}");
    engine.shutdown().await;
}

#[test]
fn a_script_that_a_crash_cut_short_is_marked_and_the_task_goes_on() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let setup = Some("echo ready".to_owned());
        let update = SettingsUpdate { setup, ..SettingsUpdate::default() };
        engine.update_repository_settings(repository, update).await.unwrap();
        engine.shutdown().await;
        crash(world, "create", "engine.setup.begun");

        let engine = world.start().await;
        let id = only_task(&engine).await;
        wait_until_idle(&engine, &id).await;
        let runs = |view: &freehold_engine::task::TaskView| view.environment.as_ref().unwrap().setups.clone();
        let first = runs(&engine.task(id.clone()).await.unwrap());
        assert_eq!((first.len(), first[0].state), (1, SetupState::Interrupted));
        engine.repeat_setup(id.clone()).await.unwrap();
        let is_over = |view: &freehold_engine::task::TaskView| {
            runs(view).last().is_some_and(|run| run.state == SetupState::Succeeded)
        };
        wait_for_task(&engine, &id, "a repeated set-up", is_over).await;
        engine.shutdown().await;
    });
}

#[test]
fn a_crash_at_any_step_of_closing_ends_in_a_task_that_is_whole_or_closed() {
    for failpoint in CLOSING {
        on_both_engines(async |world: &World| close_with_crash(world, failpoint).await);
    }
}

async fn close_with_crash(world: &World, failpoint: &str) {
    let engine = world.start().await;
    let repository = add_repository(&engine, world).await;
    let id = engine.create_task(new_task(&repository, "close", "Improve it")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
    std::fs::write(worktree.join("src/lib.rs"), "changed and not committed\n").unwrap();
    // More than the reaper unlinks in one step.
    std::fs::create_dir(worktree.join("many")).unwrap();
    for number in 0..300 {
        std::fs::write(worktree.join("many").join(number.to_string()), "").unwrap();
    }
    let before = whole(world, &worktree);
    engine.shutdown().await;
    let main_before = world.repo.git(&["status", "--porcelain", "--branch"]);
    crash(world, "close", failpoint);

    let engine = world.start().await;
    let view = wait_for_task(&engine, &id, failpoint, |view| {
        view.cleanup_jobs.iter().all(|job| job.state.is_final())
    })
    .await;
    let is_open = view.summary.task.is_open();
    assert_eq!(is_open, worktree.join("freehold-demo.md").is_file(), "{failpoint}: whole or closed");
    assert_eq!(world.worktrees().len(), usize::from(is_open), "{failpoint}");
    assert_eq!(world.branches().len(), 1, "{failpoint}: the branch stays");
    if !is_open {
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
    }
    assert_eq!(whole(world, &worktree), before, "{failpoint}: every byte is back");
    assert_eq!(world.repo.git(&["status", "--porcelain", "--branch"]), main_before, "{failpoint}");
    wait_until_reaped(&world.root(), failpoint).await;
    engine.shutdown().await;
}

#[test]
fn commits_without_a_branch_survive_a_crash_right_after_their_worktree_was_moved_away() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "detached", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        world.repo.git_in(&worktree, &["switch", "-q", "--detach"]);
        commit_all(world, &worktree);
        let before = whole(world, &worktree);
        engine.shutdown().await;
        crash(world, "close", "git.removal.moved");

        let engine = world.start().await;
        let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        assert_eq!(wait_for_job(&engine, &jobs[0]).await.state, CleanupState::Succeeded);
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_crash_at_any_step_of_bringing_a_task_back_ends_in_a_task_that_is_back() {
    for failpoint in REOPENING {
        on_both_engines(async |world: &World| reopen_with_crash(world, failpoint).await);
    }
}

async fn reopen_with_crash(world: &World, failpoint: &str) {
    let engine = world.start().await;
    let repository = add_repository(&engine, world).await;
    let id = engine.create_task(new_task(&repository, "reopen", "Improve it")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
    let before = whole(world, &worktree);
    close(&engine, &id, CloseAction::Archive).await;
    engine.shutdown().await;
    crash(world, "reopen", failpoint);

    let engine = world.start().await;
    wait_for_task(&engine, &id, failpoint, |view| view.summary.task.is_open()).await;
    assert_eq!(whole(world, &worktree), before, "{failpoint}");
    assert_eq!((world.worktrees().len(), world.branches().len()), (1, 1), "{failpoint}");
    let beside = worktree.parent().unwrap().read_dir().unwrap().count();
    assert_eq!(beside, 1, "{failpoint}: nothing is left beside the worktree");
    engine.shutdown().await;
}

async fn archived_task(engine: &Engine) -> TaskId {
    let query = TaskListQuery { limit: 10, archived: true, ..TaskListQuery::default() };
    engine.tasks(query).await.unwrap().items.remove(0).task.id
}

async fn only_task(engine: &Engine) -> TaskId {
    let tasks = engine.tasks(TaskListQuery { limit: 10, ..TaskListQuery::default() }).await.unwrap();
    assert_eq!(tasks.items.len(), 1);
    tasks.items[0].task.id.clone()
}

#[test]
fn commits_without_a_branch_survive_a_crash_after_the_removal_was_decided_and_nobody_is_asked() {
    for failpoint in ["git.removal.after_rename", "git.removal.after_registration", "engine.cleanup.removed"]
    {
        on_both_engines(async |world: &World| {
            let engine = world.start().await;
            let repository = add_repository(&engine, world).await;
            let id = engine.create_task(new_task(&repository, "decided", "Improve it")).await.unwrap();
            let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
            world.repo.git_in(&worktree, &["switch", "-q", "--detach"]);
            commit_all(world, &worktree);
            let before = whole(world, &worktree);
            engine.shutdown().await;
            crash(world, "close", failpoint);

            let engine = world.start().await;
            let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
            let job = wait_for_job(&engine, &jobs[0]).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{failpoint}: {job:#?}");
            wait_until_reaped(&world.root(), failpoint).await;
            engine.reopen_task(id, Reopening::default()).await.unwrap();
            assert_eq!(whole(world, &worktree), before, "{failpoint}");
            engine.shutdown().await;
        });
    }
}
