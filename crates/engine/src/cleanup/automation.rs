//! Runs of automations: the newest of each keep their workspaces, older ones that are finished are archived, sealed,
//! through the same path as everything that closes.

use freehold_domain::id::TaskId;
use freehold_store as store;

use super::{BorrowerPolicy, Scope, Terms};
use crate::{Engine, EngineError};

/// How long an agent may have been idle, in milliseconds, before its session stops keeping the run.
const IDLE_MS: i64 = 60 * 60 * 1_000;

impl Engine {
    /// Archives the finished runs that are older than the newest ones of their automation on their board. One that
    /// cannot be closed keeps none of the others.
    pub(crate) async fn archive_older_runs(&self) -> Result<(), EngineError> {
        let kept = usize::try_from(self.inner.options.automation_runs).unwrap_or(usize::MAX);
        let idle_since = self.now().plus_millis(-IDLE_MS);
        let read = self.inner.store.read(move |tx| store::task::finished_runs(tx, kept, idle_since));
        for id in read.await? {
            self.archive_run(id).await;
        }
        Ok(())
    }

    async fn archive_run(&self, id: TaskId) {
        let scope = Scope::AutomationRun { id: id.clone() };
        let terms = Terms { seals: true, borrowers: BorrowerPolicy::Transfer };
        match self.close_scope(scope, terms).await {
            Ok(_) => tracing::info!(task_id = %id, "an older run of an automation was archived"),
            // It stays as it is, for a person or a later sweep.
            Err(
                error @ (EngineError::Borrowed { .. }
                | EngineError::Barrier { .. }
                | EngineError::TaskClosed { .. }
                | EngineError::NotFound { .. }),
            ) => tracing::debug!(task_id = %id, %error, "an older run stays open"),
            Err(error) => tracing::warn!(task_id = %id, %error, "an older run could not be archived"),
        }
    }
}
