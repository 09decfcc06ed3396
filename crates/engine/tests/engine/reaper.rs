//! The reaper: what was given back is unlinked later, and nothing else is.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use freehold_domain::cleanup::CleanupState;
use freehold_engine::cleanup::CloseAction;
use freehold_testkit::repo::{tree, write_file};

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_until_idle, wait_until_reaped, worktree_of,
};

/// Puts into the trash folder what no removal moved there, also under a name that looks as if one had.
fn put_strangers(world: &World) -> PathBuf {
    let trash = world.root().join(".trash");
    write_file(&trash.join("notes/idea.txt"), "mine");
    write_file(&trash.join("note.txt"), "mine");
    let inode = trash.join("notes").metadata().unwrap().ino();
    std::fs::rename(trash.join("notes"), trash.join(format!("0123456789abcdef-{inode}"))).unwrap();
    std::os::unix::fs::symlink(world.repo.path(), trash.join("link")).unwrap();
    trash
}

async fn wait_for_entries(trash: &Path, count: usize) {
    let begun = Instant::now();
    while trash.read_dir().unwrap().count() != count {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", tree(trash).keys());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn what_no_removal_moved_into_the_trash_folder_stays_there() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "reap", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let trash = put_strangers(world);
        let before = tree(&trash);
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded);
        assert!(!worktree.exists(), "its place is free when the job is done");
        wait_for_entries(&trash, 3).await;
        engine.shutdown().await;
        let engine = world.start().await;
        let id = engine.create_task(new_task(&repository, "another", "Improve it")).await.unwrap();
        wait_until_idle(&engine, &id).await;
        close(&engine, &id, CloseAction::Delete).await;
        wait_for_entries(&trash, 3).await;
        engine.shutdown().await;
        assert_eq!(tree(&trash), before);
        assert!(world.repo.path().join("README.md").exists());
    });
}

#[test]
fn workspaces_of_many_tasks_are_unlinked_one_after_the_other() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let mut ids = Vec::new();
        for number in 0..4 {
            let title = format!("many {number}");
            ids.push(engine.create_task(new_task(&repository, &title, "list")).await.unwrap());
        }
        for id in &ids {
            wait_until_idle(&engine, id).await;
        }
        for id in &ids {
            assert_eq!(close(&engine, id, CloseAction::Delete).await.state, CleanupState::Succeeded);
        }
        assert!(world.worktrees().is_empty());
        wait_until_reaped(&world.root(), "four tasks").await;
        engine.shutdown().await;
        assert!(world.task_directories().is_empty(), "{:?}", world.task_directories());
    });
}
