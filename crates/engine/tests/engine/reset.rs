//! Reset: a task stays open and gets a fresh workspace; the one before is sealed.

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::id::TaskId;
use freehold_engine::cleanup::{ResetEnvironment, ResetStart};
use freehold_engine::session::NewSession;
use freehold_engine::task::TaskView;
use freehold_engine::{Engine, EngineError};

use crate::borrowing::borrower;
use crate::harness::{
    World, add_repository, new_task, on_both_engines, wait_for_job, wait_for_task, wait_until_idle,
    worktree_of,
};

async fn wait_for_another(engine: &Engine, id: &TaskId, before: &TaskView) -> TaskView {
    let old = before.environment.as_ref().unwrap().environment.id.clone();
    wait_for_task(engine, id, "a fresh workspace", |view| {
        view.environment.as_ref().is_some_and(|fresh| fresh.environment.id != old)
    })
    .await
}

#[test]
fn a_reset_seals_the_workspace_and_makes_a_fresh_one_at_the_same_base() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "again", "Improve it")).await.unwrap();
        let before = wait_until_idle(&engine, &id).await;
        let old = worktree_of(&before);
        std::fs::write(old.join("notes.txt"), "precious\n").unwrap();
        world.repo.write("later.txt", "later\n");
        world.repo.commit("the base moves on");

        let refused = engine.reset_environment(id.clone(), ResetEnvironment::default()).await;
        assert!(matches!(refused, Err(EngineError::AtStake { .. })), "{refused:?}");
        let consent = ResetEnvironment { seals: true, ..ResetEnvironment::default() };
        let job = engine.reset_environment(id.clone(), consent).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!((job.trigger, job.state), (CleanupTrigger::EnvironmentReset, CleanupState::Succeeded));
        let view = wait_for_another(&engine, &id, &before).await;
        let fresh = worktree_of(&view);
        assert!(view.summary.task.is_open() && !old.exists() && fresh != old);
        assert!(!fresh.join("later.txt").exists() && !fresh.join("notes.txt").exists());
        assert_eq!(view.sessions.len(), before.sessions.len(), "its conversations stay");
        let seals = engine.seals(id.clone()).await.unwrap();
        assert_eq!(seals.len(), 1);
        let diff = engine.sealed_file_diff(seals[0].id.clone(), "notes.txt".into()).await.unwrap();
        assert!(diff.patch.contains("+precious"), "{diff:?}");
        engine.prompt(view.sessions[0].session.id.clone(), "Improve it".into()).await.unwrap();

        let now = ResetEnvironment { start: ResetStart::BaseBranch, ..consent };
        let job = engine.reset_environment(id.clone(), now).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        let newest = worktree_of(&wait_for_another(&engine, &id, &view).await);
        assert!(newest.join("later.txt").is_file());
        engine.shutdown().await;
    });
}

#[test]
fn a_task_gets_no_session_while_its_workspace_is_reset() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "nested", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &id).await);
        world.repo.git_in(&worktree, &["init", "-q", "inner"]);
        let consent = ResetEnvironment { seals: true, ..ResetEnvironment::default() };
        let job = engine.reset_environment(id.clone(), consent).await.unwrap();
        let job = wait_for_job(&engine, &job).await;
        assert_eq!(job.state, CleanupState::NeedsDecision);
        let barred = engine.create_session(id.clone(), NewSession::default()).await;
        assert!(matches!(barred, Err(EngineError::Barrier { .. })), "{barred:?}");
        engine.decide(job.id, freehold_engine::cleanup::Decision::Keep).await.unwrap();
        engine.create_session(id, NewSession::default()).await.unwrap();
        assert!(worktree.join("inner").is_dir());
        engine.shutdown().await;
    });
}

#[test]
fn a_workspace_that_others_work_in_is_theirs_after_a_reset_and_a_visitor_cannot_reset_it() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let id = engine.create_task(new_task(&repository, "owner", "Improve it")).await.unwrap();
        let before = wait_until_idle(&engine, &id).await;
        let visitor = borrower(&engine, &id, "visitor").await;
        let refused = engine.reset_environment(visitor.clone(), ResetEnvironment::default()).await;
        assert!(matches!(refused, Err(EngineError::NotTheOwner { .. })), "{refused:?}");
        let job = engine.reset_environment(id.clone(), ResetEnvironment::default()).await.unwrap();
        assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        let view = wait_for_another(&engine, &id, &before).await;
        assert_eq!(view.environment.as_ref().unwrap().environment.task_id, id);
        let kept = engine.task(visitor.clone()).await.unwrap();
        assert_eq!(worktree_of(&kept), worktree_of(&before));
        assert_eq!(kept.environment.unwrap().environment.task_id, visitor);
        assert!(worktree_of(&before).join("freehold-demo.md").is_file());
        engine.shutdown().await;
    });
}
