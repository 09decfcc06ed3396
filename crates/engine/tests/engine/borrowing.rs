//! Borrowing: tasks that work in the workspace of another, and what becomes of it when its owner is closed.

use freehold_domain::cleanup::CleanupState;
use freehold_domain::id::TaskId;
use freehold_engine::cleanup::{BorrowerPolicy, CloseAction, CloseTask, Reach};
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::session::NewSession;
use freehold_engine::task::NewTask;
use freehold_engine::{Engine, EngineError};

use crate::family::wait_for_jobs;
use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_until_idle, whole, worktree_of,
};

/// An open task that works in the workspace of `lender` and has a session there.
pub(crate) async fn borrower(engine: &Engine, lender: &TaskId, title: &str) -> TaskId {
    let task = NewTask {
        title: Some(title.into()),
        prompt: "list".into(),
        parent_id: Some(lender.clone()),
        borrow_from: Some(lender.clone()),
        start: true,
        ..NewTask::default()
    };
    let id = engine.create_task(task).await.unwrap();
    wait_until_idle(engine, &id).await;
    id
}

async fn owner(engine: &Engine, world: &World) -> (TaskId, std::path::PathBuf) {
    let repository = add_repository(engine, world).await;
    let id = engine.create_task(new_task(&repository, "owner", "Improve it")).await.unwrap();
    let worktree = worktree_of(&wait_until_idle(engine, &id).await);
    (id, worktree)
}

async fn owner_of_workspace(engine: &Engine, visitor: &TaskId) -> TaskId {
    engine.task(visitor.clone()).await.unwrap().environment.unwrap().environment.task_id
}

const fn reach(sub_tasks: bool, borrowers: BorrowerPolicy) -> Reach {
    Reach { sub_tasks, borrowers }
}

const ARCHIVE: CloseTask = CloseTask { action: CloseAction::Archive, seals: true };

#[test]
fn a_borrowed_workspace_survives_the_closing_of_its_borrower() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner(&engine, world).await;
        let visitor = borrower(&engine, &owner, "visitor").await;
        let before = whole(world, &worktree);
        let branches = world.branches();
        for action in [CloseAction::Archive, CloseAction::Delete] {
            let job = close(&engine, &visitor, action).await;
            assert_eq!(job.state, CleanupState::Succeeded, "{job:#?}");
            assert_eq!(job.resources().unwrap().worktrees, [], "it owned no workspace");
            assert_eq!(whole(world, &worktree), before);
            assert_eq!(world.branches(), branches);
            engine.reopen_task(visitor.clone(), Reopening::default()).await.unwrap();
            assert_eq!(owner_of_workspace(&engine, &visitor).await, owner, "it visits again");
        }
        engine.shutdown().await;
    });
}

#[test]
fn a_closed_owner_hands_its_workspace_to_the_oldest_borrower() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner(&engine, world).await;
        let first = borrower(&engine, &owner, "first").await;
        // A chain: who borrows from a borrower works in the owner's workspace too.
        let second = borrower(&engine, &first, "second").await;
        let before = whole(world, &worktree);

        let report = engine.close_report(owner.clone(), CloseAction::Delete).await.unwrap();
        assert_eq!((report.borrowers.len(), report.heir), (2, Some(first.clone())));
        assert!(report.sealed.is_empty(), "nothing is given back: {:?}", report.sealed);
        let refused = engine
            .close_tasks(owner.clone(), ARCHIVE, reach(false, BorrowerPolicy::Refuse))
            .await
            .unwrap_err();
        let EngineError::Borrowed { borrowers, has_heir: true, .. } = &refused else { panic!("{refused:?}") };
        assert_eq!(borrowers.len(), 2);
        assert!(refused.to_string().contains("second"), "{refused}");
        assert!(engine.cleanup_jobs(None, None).await.unwrap().is_empty());

        // Nothing is at stake, so no consent to a seal is needed.
        let delete = CloseTask { action: CloseAction::Delete, seals: false };
        let job = engine.close_task(owner.clone(), delete).await.unwrap();
        let job = wait_for_jobs(&engine, vec![job]).await.remove(0);
        assert_eq!((job.state, job.resources().unwrap().worktrees.len()), (CleanupState::Succeeded, 0));
        assert_eq!(whole(world, &worktree), before);
        assert_eq!(owner_of_workspace(&engine, &first).await, first);
        assert_eq!(owner_of_workspace(&engine, &second).await, first);
        engine.create_session(second.clone(), NewSession::default()).await.unwrap();

        engine.reopen_task(owner.clone(), Reopening::default()).await.unwrap();
        assert_eq!(owner_of_workspace(&engine, &owner).await, first, "brought back, it is a visitor");
        for id in [&owner, &second] {
            close(&engine, id, CloseAction::Archive).await;
        }
        let job = close(&engine, &first, CloseAction::Archive).await;
        assert_eq!((job.state, job.resources().unwrap().worktrees.len()), (CleanupState::Succeeded, 1));
        assert!(!worktree.exists());
        engine.reopen_task(first.clone(), Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before, "the new owner brings every byte back");
        engine.shutdown().await;
    });
}

#[test]
fn an_owner_is_not_closed_while_none_of_its_borrowers_can_take_the_workspace() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner(&engine, world).await;
        let visitor = borrower(&engine, &owner, "visitor").await;
        let other = engine
            .create_task(new_task(&engine.repositories().await.unwrap()[0].id.clone(), "other", "Improve it"))
            .await
            .unwrap();
        wait_until_idle(&engine, &other).await;
        // The visitor comes to own another workspace while its session stays where it is.
        engine.transfer_workspace(other.clone(), visitor.clone()).await.unwrap();
        let refused = engine.close_task(owner.clone(), ARCHIVE).await.unwrap_err();
        let EngineError::Borrowed { borrowers, has_heir: false, .. } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(borrowers[0].id, visitor);
        assert!(worktree.is_dir() && engine.task(owner.clone()).await.unwrap().summary.task.is_open());

        close(&engine, &visitor, CloseAction::Archive).await;
        let job = close(&engine, &owner, CloseAction::Archive).await;
        assert_eq!(job.state, CleanupState::Succeeded, "a closed borrower holds nothing");
        assert!(!worktree.exists());
        engine.shutdown().await;
    });
}

#[test]
fn an_owner_and_its_borrowers_that_are_closed_together_give_the_workspace_back() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner(&engine, world).await;
        let visitor = borrower(&engine, &owner, "visitor").await;
        let before = whole(world, &worktree);
        let jobs =
            engine.close_tasks(owner.clone(), ARCHIVE, reach(true, BorrowerPolicy::Refuse)).await.unwrap();
        let jobs = wait_for_jobs(&engine, jobs).await;
        let owned: Vec<usize> = jobs.iter().map(|job| job.resources().unwrap().worktrees.len()).collect();
        assert_eq!(owned, [1, 0]);
        assert!(!worktree.exists());
        engine.reopen_family(owner.clone(), Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        assert_eq!(owner_of_workspace(&engine, &visitor).await, owner);
        engine.shutdown().await;
    });
}

#[test]
fn a_borrower_whose_lender_was_closed_meanwhile_gets_a_workspace_of_its_own() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, worktree) = owner(&engine, world).await;
        let visitor = borrower(&engine, &owner, "visitor").await;
        close(&engine, &visitor, CloseAction::Archive).await;
        close(&engine, &owner, CloseAction::Archive).await;
        engine.reopen_task(visitor.clone(), Reopening::default()).await.unwrap();
        assert!(engine.task(visitor.clone()).await.unwrap().environment.is_none());
        engine.create_session(visitor.clone(), NewSession::default()).await.unwrap();
        let view = engine.task(visitor.clone()).await.unwrap();
        assert_ne!(worktree_of(&view), worktree);
        assert_eq!(view.environment.unwrap().environment.task_id, visitor);
        engine.shutdown().await;
    });
}

#[test]
fn a_workspace_can_be_borrowed_only_from_an_open_task_that_has_one() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let (owner, _) = owner(&engine, world).await;
        let repository = engine.repositories().await.unwrap()[0].id.clone();
        let idle = NewTask { start: false, ..new_task(&repository, "idle", "") };
        let idle = engine.create_task(idle).await.unwrap();
        let ask = |lender: &TaskId| NewTask {
            borrow_from: Some(lender.clone()),
            start: false,
            ..new_task(&repository, "visitor", "")
        };
        let refused = engine.create_task(ask(&idle)).await;
        assert!(matches!(refused, Err(EngineError::NoWorkspace { .. })), "{refused:?}");
        close(&engine, &owner, CloseAction::Archive).await;
        let refused = engine.create_task(ask(&owner)).await;
        assert!(matches!(refused, Err(EngineError::TaskClosed { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}
