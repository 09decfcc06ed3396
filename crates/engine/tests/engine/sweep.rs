//! What closes by itself: quick chats that expire, and tasks that stood in a column long enough.

use std::time::Duration;

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::id::TaskId;
use freehold_domain::workflow::AutoArchive;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::task::NewTask;
use freehold_engine::{Engine, EngineError};

use crate::harness::{
    World, add_repository, close, commit_all, new_task, on_both_engines, wait_for_job, wait_for_task,
    wait_until_idle, whole, worktree_of,
};

/// Waits until the task has a job, and the job is at rest.
async fn closed_by_itself(engine: &Engine, id: &TaskId) -> freehold_domain::cleanup::CleanupJob {
    loop {
        let jobs = engine.cleanup_jobs(Some(id.clone()), None).await.unwrap();
        if let Some(job) = jobs.first() {
            return wait_for_job(engine, job).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_quick_chat_goes_to_the_trash_when_it_expires_and_stays_once_it_is_brought_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let quick = NewTask { expires_in_ms: Some(1), ..new_task(&repository, "quick", "Improve it") };
        let id = engine.create_task(quick).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let before = whole(world, &worktree);
        engine.shutdown().await;

        let engine = world.start().await;
        let job = closed_by_itself(&engine, &id).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::QuickChatExpire, CleanupState::Succeeded));
        assert_eq!(engine.trash(None).await.unwrap().len(), 1);
        engine.reopen_task(id.clone(), Reopening::default()).await.unwrap();
        engine.shutdown().await;

        let engine = world.start().await;
        let view = engine.task(id.clone()).await.unwrap();
        assert!(!view.summary.task.is_quick && view.summary.task.expires_at.is_none());
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_quick_chat_that_a_person_closes_goes_the_same_way() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let hour = 60 * 60 * 1_000;
        let quick = NewTask { expires_in_ms: Some(hour), ..new_task(&repository, "quick", "Improve it") };
        let id = engine.create_task(quick).await.unwrap();
        wait_until_idle(&engine, &id).await;
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::QuickChatExpire, CleanupState::Succeeded));
        for odd in [0, -1, i64::MAX] {
            let quick = NewTask { expires_in_ms: Some(odd), ..new_task(&repository, "odd", "") };
            let refused = engine.create_task(quick).await;
            assert!(
                matches!(refused, Err(EngineError::InvalidField { field: "expires_in_ms", .. })),
                "{refused:?}"
            );
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_column_archives_what_stood_there_and_spares_work_that_exists_nowhere_else() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let clean = engine.create_task(new_task(&repository, "clean", "Improve it")).await.unwrap();
        commit_all(world, &worktree_of(&wait_until_idle(&engine, &clean).await));
        let dirty = engine.create_task(new_task(&repository, "dirty", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &dirty).await);
        let before = whole(world, &worktree);
        let step = engine.task(clean.clone()).await.unwrap().summary.task.step_id;
        let rule = AutoArchive { after_ms: 1, seals: false };
        engine.set_auto_archive(step.clone(), Some(rule)).await.unwrap();
        engine.shutdown().await;

        let engine = world.start().await;
        let job = closed_by_itself(&engine, &clean).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::Archive, CleanupState::Succeeded));
        assert!(engine.task(dirty.clone()).await.unwrap().summary.task.is_open());
        assert_eq!(whole(world, &worktree), before);
        engine.set_auto_archive(step.clone(), Some(AutoArchive { seals: true, ..rule })).await.unwrap();
        engine.shutdown().await;

        let engine = world.start().await;
        assert_eq!(closed_by_itself(&engine, &dirty).await.state, CleanupState::Succeeded);
        engine.set_auto_archive(step, None).await.unwrap();
        engine.reopen_task(dirty.clone(), Reopening::default()).await.unwrap();
        wait_for_task(&engine, &dirty, "it is open", |view| view.summary.task.is_open()).await;
        assert_eq!(whole(world, &worktree), before);
        engine.shutdown().await;
    });
}

#[test]
fn a_rule_needs_a_column_and_a_time() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let rule = AutoArchive { after_ms: 0, seals: false };
        let step = engine.workspaces().await.unwrap()[0].workflows[0].1[0].id.clone();
        let refused = engine.set_auto_archive(step, Some(rule)).await;
        assert!(matches!(refused, Err(EngineError::InvalidField { .. })), "{refused:?}");
        let refused = engine.set_auto_archive("nowhere".parse().unwrap(), None).await;
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}
