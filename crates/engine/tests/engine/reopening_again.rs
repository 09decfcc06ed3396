//! What is left when a task cannot be brought back, and what other programs leave in a repository.

use freehold_domain::cleanup::CleanupState;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;

use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, on_sqlite, wait_for_job, wait_until_idle,
    worktree_of,
};

#[test]
fn a_deleted_task_that_cannot_be_brought_back_is_still_given_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "again", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        close(&engine, &id, CloseAction::Archive).await;
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        world.repo.git_in(&worktree, &["init", "-q", "inner"]);
        let waiting = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(waiting.state, CleanupState::NeedsDecision);
        // A person takes the workspace away.
        std::fs::rename(&worktree, world.home.join("away")).unwrap();

        let refused = engine.reopen_task(id.clone(), Reopening::default()).await.unwrap_err();
        assert_eq!(refused.code(), "path_taken", "{refused}");

        let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        assert!(jobs.iter().any(|job| job.id == waiting.id && job.state == CleanupState::Cancelled));
        for job in &jobs {
            wait_for_job(&engine, job).await;
        }
        let trash = engine.trash(None).await.unwrap();
        assert!(trash.iter().any(|entry| entry.summary.task.id == id), "it is in the trash, not nowhere");
        engine.shutdown().await;
    });
}

#[test]
fn a_lock_file_that_another_git_left_stays_whatever_its_age() {
    on_sqlite(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let lock = world.repo.path().join(".git/index.lock");
        std::fs::write(&lock, "somebody's").unwrap();
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        std::fs::File::options().write(true).open(&lock).unwrap().set_modified(long_ago).unwrap();
        let id = engine.create_task(new_task(&repository, "locked", "Improve it")).await.unwrap();
        wait_until_idle(&engine, &id).await;
        assert_eq!(close(&engine, &id, CloseAction::Delete).await.state, CleanupState::Succeeded);
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), "somebody's");
        engine.shutdown().await;
    });
}
