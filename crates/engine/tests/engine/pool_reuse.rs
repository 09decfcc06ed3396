//! A given-back workspace that is clean returns to the pool, and one that is not never does.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use freehold_domain::id::TaskId;
use freehold_engine::Engine;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::task::TaskListQuery;
use freehold_testkit::repo::write_file;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, start_engine_with, wait_for_task,
    wait_until_idle, wait_until_reaped, whole, worktree_of,
};

const LIMIT: Duration = Duration::from_secs(60);

/// A pool that is not full for as long as these tests take.
const LARGE: u32 = 200;

fn inode(path: &Path) -> u64 {
    path.symlink_metadata().unwrap().ino()
}

/// Makes a task whose agent only looks, without a pool.
async fn with_task(world: &World) -> (TaskId, PathBuf) {
    let engine = world.start().await;
    let repository = add_repository(&engine, world).await;
    let id = engine.create_task(new_task(&repository, "clean", "list")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
    engine.shutdown().await;
    (id, worktree)
}

/// The inodes of a file in all idle worktrees; of none where it is just being made.
fn idle_inodes(world: &World, name: &str) -> Vec<u64> {
    let Ok(entries) = world.root().join(".idle").read_dir() else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path().join(name));
    files.filter_map(|file| file.symlink_metadata().ok()).map(|metadata| metadata.ino()).collect()
}

#[test]
fn a_clean_workspace_becomes_an_idle_worktree_when_it_is_given_back() {
    on_both_engines(async |world: &World| {
        let (id, worktree) = with_task(world).await;
        let readme = inode(&worktree.join("README.md"));
        let before = whole(world, &worktree);
        let engine = world.start_with_pool(LARGE).await;
        close(&engine, &id, CloseAction::Archive).await;
        let begun = Instant::now();
        while !idle_inodes(world, "README.md").contains(&readme) {
            assert!(begun.elapsed() < LIMIT, "it did not return to the pool");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        wait_until_reaped(&world.root(), "what was left of it").await;
        engine.shutdown().await;
        let engine = world.start().await;
        engine.reopen_task(id, Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_workspace_with_anything_besides_its_tracked_files_does_not_return() {
    type Dirt = fn(&Path);
    let dirt: [Dirt; 3] = [
        |top| write_file(&top.join("secret.txt"), "SECRET"),
        |top| write_file(&top.join("node_modules/module/index.js"), "x"),
        |top| write_file(&top.join(".env"), "SECRET"),
    ];
    on_both_engines(async |world: &World| {
        world.repo.write(".gitignore", "node_modules/\n.env\n");
        world.repo.commit("Ignore");
        for dirty in dirt {
            let (id, worktree) = with_task(world).await;
            dirty(&worktree);
            let readme = inode(&worktree.join("README.md"));
            // So that no other file gets its number.
            let held = std::fs::File::open(worktree.join("README.md")).unwrap();
            let kept = world.home.join("kept");
            std::fs::hard_link(worktree.join("README.md"), &kept).unwrap();
            drop(held);
            let engine = world.start_with_pool(LARGE).await;
            close(&engine, &id, CloseAction::Archive).await;
            wait_until_reaped(&world.root(), "all of it").await;
            assert!(!idle_inodes(world, "README.md").contains(&readme));
            std::fs::remove_file(&kept).unwrap();
            engine.shutdown().await;
        }
    });
}

const STEPS: [&str; 5] = [
    "engine.reuse.reserved",
    "git.reuse.after_add",
    "git.reuse.after_clearing",
    "git.reuse.after_moving",
    "engine.reuse.made",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the server that crashes, started by the other tests of this module"]
async fn child() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let _failpoints = fail::FailScenario::setup();
    let (home, url) = (PathBuf::from(variable("FREEHOLD_CRASH_HOME")), variable("FREEHOLD_CRASH_DATABASE"));
    let engine = start_engine_with(&home, &url, |options| options.idle_per_repository = LARGE).await;
    close(&engine, &only_task(&engine).await, CloseAction::Archive).await;
    tokio::time::sleep(LIMIT).await;
}

async fn only_task(engine: &Engine) -> TaskId {
    let query = TaskListQuery { limit: 10, ..TaskListQuery::default() };
    engine.tasks(query).await.unwrap().items.remove(0).task.id
}

#[expect(clippy::disallowed_methods, reason = "the crash needs a process of its own")]
fn crash(world: &World, failpoint: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pool_reuse::child", "--ignored", "--nocapture"])
        .env("FREEHOLD_CRASH_HOME", &world.home)
        .env("FREEHOLD_CRASH_DATABASE", &world.url)
        .env("FAILPOINTS", format!("{failpoint}=return"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !said.contains("panicked"), "{failpoint}: {said}");
}

#[test]
fn a_crash_at_any_step_of_returning_leaves_a_task_that_comes_back_and_a_pool_of_its_size() {
    for failpoint in STEPS {
        on_both_engines(async |world: &World| {
            let (id, worktree) = with_task(world).await;
            let before = whole(world, &worktree);
            crash(world, failpoint);
            let engine = world.start_with_pool(1).await;
            wait_for_task(&engine, &id, failpoint, |view| {
                view.cleanup_jobs.iter().all(|job| job.state.is_final())
            })
            .await;
            wait_until_reaped(&world.root(), failpoint).await;
            engine.reopen_task(id, Reopening::default()).await.unwrap();
            assert_eq!(whole(world, &worktree), before, "{failpoint}");
            let begun = Instant::now();
            while idle_inodes(world, ".git").len() != 1 || world.worktrees().len() != 2 {
                assert!(begun.elapsed() < LIMIT, "{failpoint}: {:?}", world.worktrees());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            engine.shutdown().await;
        });
    }
}
