//! Reset: an open task gives its workspace back, sealed, and gets a fresh one.
//!
//! The path is that of closing, with the trigger `environment_reset`; the task stays open behind the barrier. When
//! the old workspace is gone its rows go too, and the next is made as the first was. A crash between the two leaves
//! a task without a workspace, which gets one when its next session starts.

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::TaskId;
use freehold_store as store;
use freehold_store::Tx;

use super::{BorrowerPolicy, Scope, Terms};
use crate::{Engine, EngineError};

/// Where a fresh workspace starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResetStart {
    /// At the commit at which the one before started.
    #[default]
    SameBase,
    /// At what the base branch is now.
    BaseBranch,
}

/// Asks for a fresh workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResetEnvironment {
    /// Where it starts.
    pub start: ResetStart,
    /// Whether work that exists nowhere else may be sealed and taken off the disk.
    pub seals: bool,
    /// What becomes of the workspace when other tasks work in it.
    pub borrowers: BorrowerPolicy,
}

impl Engine {
    /// Gives the task's workspace back, sealed, and makes a fresh one. Its sessions are stopped and kept.
    pub async fn reset_environment(
        &self,
        task_id: TaskId,
        request: ResetEnvironment,
    ) -> Result<CleanupJob, EngineError> {
        let id = task_id.clone();
        let read = self.inner.store.read(move |tx| {
            store::task::require(tx, &id)?;
            let visited = store::environment::find_visited(tx, &id)?;
            match visited {
                None => Err(EngineError::NoWorkspace { task_id: id }),
                Some(environment) if environment.task_id != id => {
                    Err(EngineError::NotTheOwner { task_id: id, owner_id: environment.task_id })
                }
                Some(environment) if environment.kind().is_some_and(WorkspaceKind::is_kept) => {
                    let path = environment.workspace_path;
                    let reason = format!("it works in {path}, which is yours; there is nothing to give back");
                    Err(EngineError::InvalidField { field: "task", reason })
                }
                Some(_) => Ok(()),
            }
        });
        read.await?;
        let scope = Scope::Environment { id: task_id, start: request.start };
        let terms = Terms { seals: request.seals, borrowers: request.borrowers };
        let mut jobs = self.close_scope(scope, terms).await?;
        Ok(jobs.swap_remove(0))
    }

    /// Makes the fresh workspace in the background, once the old one is gone.
    pub(super) fn make_environment_anew(&self, task_id: TaskId) {
        let engine = self.clone();
        self.own(async move {
            if let Err(error) = engine.require_environment(&task_id).await {
                tracing::warn!(%task_id, %error, "the fresh workspace could not be made; the next session tries again");
            }
        });
    }
}

/// Records where the next workspace of a task starts.
pub(super) fn choose_start(
    tx: &mut Tx<'_>,
    id: &TaskId,
    start: ResetStart,
    now: Timestamp,
) -> Result<(), EngineError> {
    // Handed over to an heir, the environment is not the task's any more, but its rows still tell the base.
    let task = store::task::require(tx, id)?;
    let Some(job) = store::cleanup::barrier_of(tx, &task.id)? else { return Ok(()) };
    let Some(resources) = job.resources() else { return Ok(()) };
    for worktree in &resources.worktrees {
        let commit = match start {
            ResetStart::SameBase => worktree.base_commit.as_str(),
            ResetStart::BaseBranch => "",
        };
        store::task::set_start_commit(tx, id, &worktree.repository_id, commit, now)?;
    }
    Ok(())
}
