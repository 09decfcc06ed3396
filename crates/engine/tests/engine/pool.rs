//! The idle pool: a task gets what was made ahead of time, nobody counts it, and nothing of it leaks.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use freehold_domain::id::TaskId;
use freehold_engine::Engine;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::task::TaskListQuery;
use freehold_testkit::repo::write_file;

use crate::harness::{
    Files, World, add_repository, close, new_task, on_both_engines, on_sqlite, start_engine_with,
    wait_for_task, wait_until_idle, whole, worktree_of,
};

const LIMIT: Duration = Duration::from_secs(60);

/// The idle worktrees on disk that Git lists.
fn idle(world: &World) -> Vec<PathBuf> {
    let folder = world.root().join(".idle");
    world.worktrees().into_iter().map(PathBuf::from).filter(|path| path.starts_with(&folder)).collect()
}

async fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_met() {
        assert!(begun.elapsed() < LIMIT, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Runs a first task, so that the pool has a reason to fill; stops the engine, so that it is filled for certain.
async fn fill(world: &World) -> PathBuf {
    let engine = world.start_with_pool(1).await;
    let repository = add_repository(&engine, world).await;
    let id = engine.create_task(new_task(&repository, "first", "list")).await.unwrap();
    wait_until_idle(&engine, &id).await;
    wait_until("an idle worktree", || idle(world).len() == 1).await;
    engine.shutdown().await;
    idle(world)[0].clone()
}

#[test]
fn the_second_task_gets_the_worktree_that_was_made_after_the_first() {
    on_both_engines(async |world: &World| {
        let waiting = fill(world).await;
        let inode = inode(&waiting);
        let engine = world.start_with_pool(1).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let id = engine.create_task(new_task(&repository, "second", "list")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let worktree = worktree_of(&view);
        assert_eq!(self::inode(&worktree), inode, "it was moved, not made");
        assert_eq!(world.repo.git_in(&worktree, &["status", "--porcelain", "--ignored"]), "");
        let branch = world.repo.git_in(&worktree, &["symbolic-ref", "--short", "HEAD"]);
        assert!(branch.starts_with("freehold/second"), "{branch}");
        // Another one is made in its place, and it is nobody's.
        wait_until("the next idle worktree", || idle(world).len() == 1).await;
        assert_ne!(idle(world)[0], waiting);
        // A task that got one is closed like any other.
        close(&engine, &id, CloseAction::Delete).await;
        assert!(!worktree.exists());
        engine.shutdown().await;
        assert_eq!((world.branches().len(), world.worktrees().len()), (1, 2));
    });
}

fn inode(path: &std::path::Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap())
}

#[test]
fn a_pool_that_is_switched_off_is_given_back() {
    on_both_engines(async |world: &World| {
        let waiting = fill(world).await;
        let engine = world.start_with_pool(0).await;
        wait_until("no idle worktree", || !waiting.exists() && idle(world).is_empty()).await;
        engine.shutdown().await;
        assert_eq!(world.worktrees().len(), 1, "the task's own stays");
    });
}

#[test]
fn one_that_somebody_worked_in_is_neither_used_nor_removed() {
    on_both_engines(async |world: &World| {
        let waiting = fill(world).await;
        write_file(&waiting.join("notes.txt"), "mine");
        let engine = world.start_with_pool(1).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let id = engine.create_task(new_task(&repository, "second", "list")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        assert!(!worktree.join("notes.txt").exists());
        wait_until("another idle worktree", || idle(world).len() == 2).await;
        engine.shutdown().await;
        // Also a later server, which looks again, and one without a pool leave it alone.
        let engine = world.start_with_pool(0).await;
        wait_until("only the doubtful one", || idle(world) == [waiting.clone()]).await;
        engine.shutdown().await;
        assert_eq!(std::fs::read_to_string(waiting.join("notes.txt")).unwrap(), "mine");
    });
}

#[test]
fn a_hook_that_came_later_makes_the_pool_go_and_the_task_start_all_the_same() {
    on_sqlite(async |world: &World| {
        let waiting = fill(world).await;
        write_file(&world.repo.path().join(".git/hooks/post-checkout"), "#!/bin/sh\ntouch made-by-hook\n");
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(world.repo.path().join(".git/hooks/post-checkout"), permissions).unwrap();
        let engine = world.start_with_pool(1).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let id = engine.create_task(new_task(&repository, "second", "list")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        assert!(worktree.join("made-by-hook").exists());
        wait_until("no idle worktree", || !waiting.exists()).await;
        engine.shutdown().await;
    });
}

#[test]
fn of_many_tasks_at_once_each_has_a_worktree_of_its_own() {
    on_both_engines(async |world: &World| {
        fill(world).await;
        let engine = world.start_with_pool(1).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let mut ids = Vec::new();
        for number in 0..5 {
            let title = format!("many {number}");
            ids.push(engine.create_task(new_task(&repository, &title, "list")).await.unwrap());
        }
        let mut worktrees = Vec::new();
        for id in &ids {
            worktrees.push(worktree_of(&wait_until_idle(&engine, id).await));
        }
        worktrees.sort();
        worktrees.dedup();
        assert_eq!(worktrees.len(), 5);
        engine.shutdown().await;
    });
}

const STEPS: [&str; 13] = [
    "engine.pool.reserved",
    "git.pool.before_add",
    "git.pool.after_add",
    "engine.pool.made",
    "engine.pool.taken",
    "git.pool.after_branch",
    "git.pool.after_note",
    "git.pool.after_link",
    "git.pool.after_rename",
    "git.pool.after_head",
    "git.pool.before_end",
    "engine.pool.moved",
    "engine.creation.added",
];

/// Runs a second task, or brings the closed one back, in a child process that dies at the failpoint.
#[expect(clippy::disallowed_methods, reason = "the crash needs a process of its own")]
fn crash(world: &World, failpoint: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pool::child", "--ignored", "--nocapture"])
        .env("FREEHOLD_CRASH_HOME", &world.home)
        .env("FREEHOLD_CRASH_DATABASE", &world.url)
        .env("FAILPOINTS", format!("{failpoint}=return"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !said.contains("panicked"), "{failpoint}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the server that crashes, started by the other tests of this module"]
async fn child() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let _failpoints = fail::FailScenario::setup();
    let home = PathBuf::from(variable("FREEHOLD_CRASH_HOME"));
    let engine = start_engine_with(&home, &variable("FREEHOLD_CRASH_DATABASE"), |options| {
        options.idle_per_repository = 1;
    })
    .await;
    let repository = engine.repositories().await.unwrap()[0].id.clone();
    match closed_task(&engine).await {
        Some(id) => engine.reopen_task(id, Reopening::default()).await.unwrap(),
        None => {
            let id = engine.create_task(new_task(&repository, "second", "list")).await.unwrap();
            wait_until_idle(&engine, &id).await;
        }
    }
    tokio::time::sleep(LIMIT).await;
}

async fn closed_task(engine: &Engine) -> Option<TaskId> {
    let query = TaskListQuery { limit: 10, archived: true, ..TaskListQuery::default() };
    engine.tasks(query).await.unwrap().items.pop().map(|item| item.task.id)
}

/// Closes the first task with work in its workspace; gives the task, the place and what was there.
async fn close_first(world: &World) -> (TaskId, PathBuf, (Files, Vec<String>)) {
    let engine = world.start_with_pool(1).await;
    let query = TaskListQuery { limit: 10, ..TaskListQuery::default() };
    let id = engine.tasks(query).await.unwrap().items.remove(0).task.id;
    let worktree = worktree_of(&engine.task(id.clone()).await.unwrap());
    write_file(&worktree.join("src/lib.rs"), "changed\n");
    write_file(&worktree.join("new/notes.txt"), "mine\n");
    let before = whole(world, &worktree);
    close(&engine, &id, CloseAction::Archive).await;
    engine.shutdown().await;
    (id, worktree, before)
}

#[test]
fn a_task_comes_back_on_the_files_of_an_idle_worktree() {
    on_both_engines(async |world: &World| {
        let waiting = fill(world).await;
        let (id, worktree, before) = close_first(world).await;
        let readme = inode(&waiting.join("README.md"));
        let engine = world.start_with_pool(1).await;
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert_eq!(inode(&worktree.join("README.md")), readme, "it was moved, not written");
        assert_eq!(whole(world, &worktree), before);
        wait_until("another idle worktree", || !waiting.exists() && idle(world).len() == 1).await;
        engine.shutdown().await;
        assert_eq!(world.worktrees().len(), 2);
    });
}

#[test]
fn a_crash_while_a_task_comes_back_on_an_idle_worktree_leaves_it_whole_and_a_pool_of_its_size() {
    let steps = [
        "engine.pool.ground_taken",
        "git.restore.after_ground",
        "git.restore.after_files",
        "engine.reopen.restored",
    ];
    for failpoint in steps {
        on_both_engines(async |world: &World| {
            let waiting = fill(world).await;
            let (id, worktree, before) = close_first(world).await;
            crash(world, failpoint);
            let engine = world.start_with_pool(1).await;
            wait_for_task(&engine, &id, failpoint, |view| view.summary.task.is_open()).await;
            assert_eq!(whole(world, &worktree), before, "{failpoint}");
            wait_until(failpoint, || !waiting.exists() && idle(world).len() == 1).await;
            engine.shutdown().await;
            assert_eq!(world.worktrees().len(), 2, "{failpoint}");
        });
    }
}

#[test]
fn a_crash_at_any_step_leaves_one_workspace_per_task_and_a_pool_of_its_size() {
    for failpoint in STEPS {
        on_sqlite(async |world: &World| survives(world, failpoint).await);
    }
}

#[test]
fn a_crash_in_the_middle_of_taking_is_survived_on_postgresql_too() {
    for failpoint in ["engine.pool.taken", "git.pool.after_link", "git.pool.after_rename"] {
        on_both_engines(async |world: &World| survives(world, failpoint).await);
    }
}

async fn survives(world: &World, failpoint: &str) {
    fill(world).await;
    crash(world, failpoint);
    let engine = world.start_with_pool(1).await;
    let tasks = engine.tasks(freehold_engine::task::TaskListQuery { limit: 10, ..Default::default() });
    let tasks = tasks.await.unwrap().items;
    assert_eq!(tasks.len(), 2, "{failpoint}");
    for task in tasks {
        wait_for_task(&engine, &task.task.id, failpoint, |view| {
            !view.sessions.is_empty() && view.cleanup_jobs.iter().all(|job| job.state.is_final())
        })
        .await;
    }
    let folder = world.root().join(".idle");
    let on_disk = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    wait_until(&format!("{failpoint}: a pool of one"), || {
        idle(world).len() == 1 && on_disk() == 1 && world.worktrees().len() == 3
    })
    .await;
    assert_eq!(world.branches().len(), 2, "{failpoint}");
    engine.shutdown().await;
}
