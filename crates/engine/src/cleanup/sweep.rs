//! Sweeps: what closes by itself when its time has come, through the same path as everything that is closed.
//!
//! A quick chat goes to the trash when it expires, sealed. A task that stood in a column as long as the column's
//! rule asks is archived; one with work that exists nowhere else only where the rule consents to a seal. A task that
//! an agent works for is left alone until the next sweep.

use freehold_domain::id::TaskId;
use freehold_domain::session::SessionState;
use freehold_store as store;

use super::{BorrowerPolicy, CloseAction, Scope, Terms};
use crate::{Engine, EngineError};

impl Engine {
    /// Closes quick chats that have expired and tasks that stood long enough. One that cannot be closed keeps none of
    /// the others.
    pub(crate) async fn close_what_is_due(&self) -> Result<(), EngineError> {
        let now = self.now();
        let read = self.inner.store.read(move |tx| {
            let chats = store::task::expired_quick_chats(tx, now)?;
            Ok::<_, EngineError>((chats, store::task::stood_long_enough(tx, now)?))
        });
        let (chats, standing) = read.await?;
        for id in chats {
            self.close_by_itself(id, CloseAction::Delete, true).await;
        }
        for (id, rule) in standing {
            self.close_by_itself(id, CloseAction::Archive, rule.seals).await;
        }
        self.archive_older_runs().await
    }

    async fn close_by_itself(&self, id: TaskId, action: CloseAction, seals: bool) {
        match self.is_worked_for(id.clone()).await {
            Ok(false) => {}
            Ok(true) => return,
            Err(error) => {
                tracing::warn!(task_id = %id, %error, "whether a task may close by itself is not known");
                return;
            }
        }
        let scope = Scope::Task { id: id.clone(), action, sub_tasks: false };
        let terms = Terms { seals, borrowers: BorrowerPolicy::Transfer };
        match self.close_scope(scope, terms).await {
            Ok(_) => tracing::info!(task_id = %id, ?action, "a task closed by itself"),
            // It stays as it is, for a person or a later sweep.
            Err(
                error @ (EngineError::AtStake { .. }
                | EngineError::Borrowed { .. }
                | EngineError::Barrier { .. }
                | EngineError::TaskClosed { .. }
                | EngineError::NotFound { .. }),
            ) => tracing::debug!(task_id = %id, %error, "a task does not close by itself"),
            Err(error) => tracing::warn!(task_id = %id, %error, "a task could not close by itself"),
        }
    }

    async fn is_worked_for(&self, id: TaskId) -> Result<bool, EngineError> {
        let sessions = self.inner.store.read(move |tx| store::session::list_by_task(tx, &id)).await?;
        Ok(sessions.iter().any(|session| session.state.is_live() && session.state != SessionState::Idle))
    }
}
