//! Closing tasks: the one path that gives a workspace back.

use freehold_domain::cleanup::{CleanupState, StakeKind};
use freehold_engine::EngineError;
use freehold_engine::cleanup::{CloseAction, CloseTask, Decision, discard_phrase};
use freehold_engine::session::NewSession;

use crate::harness::{
    World, add_repository, close, commit_all, files_of, new_task, on_both_engines, wait_for_job,
    wait_until_idle, worktree_of,
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
fn a_task_with_work_is_not_closed_without_consent() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "dirty", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);

        for action in [CloseAction::Archive, CloseAction::Delete] {
            let report = engine.close_report(id.clone(), action).await.unwrap();
            let refused = engine.close_task(id.clone(), CloseTask { action, seals: false }).await;
            let Err(EngineError::AtStake { stakes, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(stakes, report.sealed, "the dialog told the same beforehand");
            let kinds: Vec<StakeKind> = stakes.iter().map(|stake| stake.kind).collect();
            assert_eq!(kinds, [StakeKind::Uncommitted, StakeKind::Untracked]);
            assert!(report.stakes.is_empty(), "a seal holds all of it");
            let goes_into_the_trash = action == CloseAction::Delete;
            assert_eq!(report.restorable_until.is_some(), goes_into_the_trash, "an archive is kept");
        }
        assert!(engine.cleanup_jobs(None, None).await.unwrap().is_empty());
        assert!(engine.task(id.clone()).await.unwrap().summary.task.is_open());
        assert!(worktree.join("freehold-demo.md").is_file());

        commit_all(world, &worktree);
        let clean = CloseTask { action: CloseAction::Archive, seals: false };
        let job = engine.close_task(id, clean).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        engine.shutdown().await;
    });
}

#[test]
fn what_no_seal_holds_waits_for_a_person_and_nothing_is_removed() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "nested", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        world.repo.git_in(&worktree, &["init", "-q", "inner"]);
        let before = files_of(&worktree);

        let report = engine.close_report(id.clone(), CloseAction::Archive).await.unwrap();
        let job = close(&engine, &id, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        assert_eq!(job.stakes, report.stakes, "the dialog told the same beforehand");
        let kinds: Vec<StakeKind> = job.stakes.iter().map(|stake| stake.kind).collect();
        assert_eq!(kinds, [StakeKind::NestedRepository]);
        assert_eq!(files_of(&worktree), before);

        let kept = engine.decide(job.id.clone(), Decision::Keep).await.unwrap();
        assert_eq!(kept.state, CleanupState::Cancelled);
        assert!(engine.task(id.clone()).await.unwrap().summary.task.is_open());

        let job = close(&engine, &id, CloseAction::Archive).await;
        let barred = engine.create_session(id.clone(), NewSession::default()).await;
        assert!(matches!(barred, Err(EngineError::Barrier { .. })), "{barred:?}");
        let vague = Decision::Discard { phrase: "discard".into() };
        let refused = engine.decide(job.id.clone(), vague).await.unwrap_err();
        assert!(refused.to_string().contains("discard 1"), "{refused}");
        let phrase = discard_phrase(&job.stakes);
        engine.decide(job.id.clone(), Decision::Discard { phrase }).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
        assert!(!worktree.exists());
        engine.shutdown().await;
    });
}

#[test]
fn a_program_that_works_inside_is_named_and_nothing_is_taken_from_under_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "busy", "")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        let mut sleeper = sleep_in(&worktree);

        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        assert_eq!(job.stakes[0].kind, StakeKind::InUse);
        assert!(job.stakes[0].items[0].ends_with(" sleep"), "{:?}", job.stakes);
        assert!(worktree.join("src/lib.rs").is_file());

        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        engine.decide(job.id.clone(), Decision::Retry).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        engine.shutdown().await;
    });
}

#[expect(clippy::disallowed_methods, reason = "a program of a person is what the test is about")]
fn sleep_in(directory: &std::path::Path) -> std::process::Child {
    std::process::Command::new("sleep").arg("600").current_dir(directory).spawn().unwrap()
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
        let again = CloseTask { action: CloseAction::Archive, seals: true };
        let second = engine.close_task(id.clone(), again).await;
        assert!(matches!(second, Err(EngineError::TaskClosed { .. })), "{second:?}");
        let job = close(&engine, &id, CloseAction::Delete).await;
        assert_eq!(job.state, CleanupState::Succeeded, "an archived task can be deleted: {job:#?}");
        let third =
            engine.close_task(id.clone(), CloseTask { action: CloseAction::Delete, seals: true }).await;
        assert!(matches!(third, Err(EngineError::TaskClosed { .. })), "{third:?}");
        engine.shutdown().await;
    });
}
