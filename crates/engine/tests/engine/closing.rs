//! Closing tasks: the one path that gives a workspace back.

use freehold_domain::cleanup::{CleanupState, StakeKind};
use freehold_engine::EngineError;
use freehold_engine::cleanup::{CloseAction, Decision};
use freehold_engine::session::NewSession;

use crate::harness::{
    World, add_repository, close, commit_all, new_task, on_both_engines, wait_for_job, wait_until_idle,
    worktree_of,
};

#[test]
fn an_archived_task_gives_its_directory_back_and_keeps_its_branch() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "done", "Improve it")).await.unwrap();
        let view = wait_until_idle(&engine, &id).await;
        let worktree = worktree_of(&view);
        commit_all(world, &worktree);
        let branches = world.branches();

        let job = close(&engine, &id, CloseAction::Archive).await;

        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        assert_eq!(world.worktrees(), [] as [&str; 0]);
        assert_eq!(world.branches(), branches);
        assert!(world.task_directories().is_empty(), "{:?}", world.task_directories());
        let refused = engine.create_session(id.clone(), NewSession::default()).await;
        assert!(matches!(refused, Err(EngineError::TaskClosed { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}

#[test]
fn work_at_stake_waits_for_a_person_and_nothing_is_removed() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "dirty", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);

        let report = engine.close_report(id.clone(), CloseAction::Archive).await.unwrap();
        let job = close(&engine, &id, CloseAction::Archive).await;

        assert_eq!(job.state, CleanupState::NeedsDecision);
        assert_eq!(job.stakes, report.stakes, "the dialog told the same beforehand");
        let kinds: Vec<StakeKind> = job.stakes.iter().map(|stake| stake.kind).collect();
        assert_eq!(kinds, [StakeKind::Uncommitted, StakeKind::Untracked]);
        assert!(worktree.join("freehold-demo.md").is_file());
        assert_eq!(world.worktrees().len(), 1);

        let kept = engine.decide(job.id.clone(), Decision::Keep).await.unwrap();
        assert_eq!(kept.state, CleanupState::Cancelled);
        assert!(engine.task(id.clone()).await.unwrap().summary.task.is_open());

        let job = close(&engine, &id, CloseAction::Archive).await;
        commit_all(world, &worktree);
        engine.decide(job.id.clone(), Decision::Retry).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        engine.shutdown().await;
    });
}

#[test]
fn a_deleted_task_waits_while_its_commits_are_only_on_its_branch() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "unmerged", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        commit_all(world, &worktree);

        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        assert_eq!(job.stakes[0].kind, StakeKind::Commits);
        let barred = engine.create_session(id.clone(), NewSession::default()).await;
        assert!(matches!(barred, Err(EngineError::Barrier { .. })), "{barred:?}");

        engine.decide(job.id.clone(), Decision::KeepBranch).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        assert_eq!(world.branches().len(), 1, "the branch stays");
        let gone = engine.task(id).await;
        assert!(matches!(gone, Err(EngineError::NotFound { .. })), "{gone:?}");
        engine.shutdown().await;
    });
}

#[test]
fn a_deleted_task_without_work_leaves_no_branch() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "nothing", "")).await.unwrap();
        wait_until_idle(&engine, &id).await;
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert_eq!((world.branches().len(), world.worktrees().len()), (0, 0));
        assert!(world.task_directories().is_empty(), "{:?}", world.task_directories());
        engine.shutdown().await;
    });
}

#[test]
fn a_task_can_be_closed_only_once_at_a_time() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "twice", "Improve it")).await.unwrap();
        wait_until_idle(&engine, &id).await;
        close(&engine, &id, CloseAction::Archive).await;
        let second = engine.close_task(id.clone(), CloseAction::Delete).await;
        assert!(matches!(second, Err(EngineError::Barrier { .. })), "{second:?}");
        engine.shutdown().await;
    });
}
