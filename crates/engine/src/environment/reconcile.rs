//! What an earlier server of this node left half made: abandoned, so that the cleanup path removes it, and
//! made anew, because the wish for it is still stored on the task; or, where a closed task was being brought back,
//! finished.

use freehold_domain::cleanup::{CleanupJob, CleanupTrigger, ResourceSnapshot, SnapshotWorktree};
use freehold_domain::environment::{Creation, PlannedBranch, PlannedWorktree};
use freehold_domain::id::CleanupJobId;
use freehold_store as store;

use crate::{Engine, EngineError};

/// Abandons every attempt of this node that did not come to own anything. An attempt to bring a closed task back
/// is finished instead: all it needs is in the seals.
pub(crate) async fn settle_unfinished_creations(engine: &Engine) -> Result<(), EngineError> {
    for creation in engine.inner.store.read(store::creation::list_unfinished).await? {
        if creation.node_id != engine.inner.options.node_id {
            continue;
        }
        tracing::info!(task_id = %creation.task_id, creation_id = %creation.id, "settling an interrupted creation");
        if creation.restores() {
            let id = creation.task_id.clone();
            let task = engine.inner.store.read(move |tx| store::task::find(tx, &id)).await?;
            engine.finish_restoring(creation, task.is_some_and(|task| task.is_open()));
        } else {
            engine.abandon(creation, 0).await?;
        }
    }
    Ok(())
}

impl Engine {
    /// The job that removes what an attempt made, and the snapshot of what that may be. The first `made` of its
    /// worktrees are certainly its own, and with them the branches that were made for them.
    pub(super) fn failed_creation_job(
        &self,
        creation: &Creation,
        made: usize,
    ) -> (CleanupJob, ResourceSnapshot) {
        let id = CleanupJobId::generate(self.ids());
        let trigger = CleanupTrigger::FailedCreation;
        let job = crate::cleanup::prepared_job(id, &creation.task_id, "", trigger, self.now());
        let worktrees = creation.worktrees.iter().enumerate();
        let snapshot = ResourceSnapshot {
            environment_id: None,
            executor_type: String::new(),
            workspace_path: String::new(),
            creation_id: Some(creation.id.clone()),
            node_id: Some(creation.node_id.clone()),
            task_dir_name: creation.task_dir_name.clone(),
            seals: Vec::new(),
            worktrees: worktrees.map(|(number, planned)| snapshot_of_plan(planned, number < made)).collect(),
            kept_path: String::new(),
            quarantine_id: None,
        };
        (job, snapshot)
    }
}

pub(super) fn snapshot_of_plan(planned: &PlannedWorktree, is_made: bool) -> SnapshotWorktree {
    // Under a name that others may choose too, only an attempt that came to its end knows that it made the branch.
    let branch_made = match planned.branch_origin {
        PlannedBranch::MadeUp => true,
        PlannedBranch::Named => is_made,
        PlannedBranch::Existing => false,
    };
    SnapshotWorktree {
        environment_repo_id: None,
        worktree_id: planned.worktree_id.clone(),
        repository_id: planned.repository_id.clone(),
        repository_path: planned.repository_path.clone(),
        path: planned.path.clone(),
        branch: planned.branch.clone(),
        branch_made,
        base_commit: planned.base_commit.clone(),
        origin: None,
        planted: Vec::new(),
    }
}
