//! Deleting whole workspaces and boards: nothing of it is lost.

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_engine::EngineError;
use freehold_engine::cleanup::CloseAction;
use freehold_engine::environment::reopen::Reopening;
use freehold_engine::workspace::{DeleteWorkflow, DeleteWorkspace};

use crate::family::wait_for_jobs;
use crate::harness::{
    World, add_repository, close, new_task, on_both_engines, wait_for_job, wait_until_idle, whole,
    worktree_of,
};

#[test]
fn a_deleted_workspace_goes_to_the_trash_and_comes_back_with_any_of_its_tasks() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let repository = add_repository(&engine, world).await;
        let archived = engine.create_task(new_task(&repository, "archived", "Improve it")).await.unwrap();
        wait_until_idle(&engine, &archived).await;
        close(&engine, &archived, CloseAction::Archive).await;
        let open = engine.create_task(new_task(&repository, "open", "Improve it")).await.unwrap();
        let worktree = worktree_of(&wait_until_idle(&engine, &open).await);
        let before = whole(world, &worktree);
        let workspace = engine.workspaces().await.unwrap().remove(0).workspace;
        let ask = |confirm: &str, seals| DeleteWorkspace { confirm: confirm.into(), seals };

        for odd in ["", "default", "Default "] {
            let refused = engine.delete_workspace(workspace.id.clone(), ask(odd, true)).await;
            assert!(matches!(refused, Err(EngineError::NameNotTyped { .. })), "{odd:?}: {refused:?}");
        }
        let refused = engine.delete_workspace(workspace.id.clone(), ask("Default", false)).await;
        assert!(matches!(refused, Err(EngineError::AtStake { .. })), "{refused:?}");
        let jobs = engine.delete_workspace(workspace.id.clone(), ask("Default", true)).await.unwrap();
        let jobs = wait_for_jobs(&engine, jobs).await;
        let told: Vec<_> = jobs.iter().map(|job| (job.trigger, job.state)).collect();
        assert_eq!(told, [(CleanupTrigger::WorkspaceDelete, CleanupState::Succeeded); 2]);
        assert!(!worktree.exists());
        let left = engine.workspaces().await.unwrap();
        assert!(left.len() == 1 && left[0].workspace.id != workspace.id, "there is another to work in");
        assert_eq!(engine.trash(Some(workspace.id.clone())).await.unwrap().len(), 2);
        assert_eq!(engine.deleted_workspaces().await.unwrap().len(), 1);
        let again = engine.delete_workspace(workspace.id.clone(), ask("Default", true)).await;
        assert!(matches!(again, Err(EngineError::NotFound { .. })), "{again:?}");

        engine.reopen_task(open.clone(), Reopening::default()).await.unwrap();
        assert_eq!(whole(world, &worktree), before);
        assert_eq!(engine.workspaces().await.unwrap().len(), 2);
        let jobs = engine.delete_workspace(workspace.id.clone(), ask("Default", true)).await.unwrap();
        wait_for_jobs(&engine, jobs).await;
        for id in [archived, open] {
            let job = engine.purge_task(id).await.unwrap();
            assert_eq!(wait_for_job(&engine, &job).await.state, CleanupState::Succeeded);
        }
        assert!(engine.deleted_workspaces().await.unwrap().is_empty(), "the row goes with the last task");
        let gone = engine.trash(Some(workspace.id)).await;
        assert!(matches!(gone, Err(EngineError::NotFound { .. })), "{gone:?}");
        engine.shutdown().await;
    });
}

#[test]
fn the_only_board_of_a_workspace_is_not_deleted() {
    on_both_engines(async |world: &World| {
        let engine = world.start().await;
        let board = engine.workspaces().await.unwrap()[0].workflows[0].0.id.clone();
        let refused = engine.delete_workflow(board, DeleteWorkflow::default()).await;
        assert!(matches!(refused, Err(EngineError::InvalidField { field: "to", .. })), "{refused:?}");
        let refused = engine.delete_workflow("nowhere".parse().unwrap(), DeleteWorkflow::default()).await;
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{refused:?}");
        engine.shutdown().await;
    });
}
