//! Idle worktrees as the ground of a restoration: most of their files are what the seal holds, and need not be
//! written again.

use freehold_domain::id::{IdleWorktreeId, RepositoryId};
use freehold_domain::pool::IdleState;
use freehold_git::{GroundUse, RestoreRequest, Restored};
use freehold_store as store;

use super::to_git;
use crate::{Engine, EngineError};

impl Engine {
    /// Restores a worktree, on an idle one of the repository where one waits. What becomes of that one is stored; it
    /// never decides over the restoration.
    pub(crate) async fn restore_on_ground(
        &self,
        repository_id: &RepositoryId,
        request: &RestoreRequest,
    ) -> Result<Restored, EngineError> {
        if let Some((id, idle)) = self.take_ground(repository_id).await {
            crate::failpoint!("engine.pool.ground_taken");
            let asked = request.clone();
            let outcome =
                self.blocking("restoring a worktree", move |git| git.restore_seal_on(&idle, &asked)).await;
            self.leave_ground(id, outcome.as_ref().ok().map(|(_, used)| *used)).await;
            return outcome.map(|(restored, _)| restored);
        }
        let asked = request.clone();
        self.blocking("restoring a worktree", move |git| git.restore_seal(&asked)).await
    }

    /// Takes any that waits; a failure here is never the task's.
    async fn take_ground(
        &self,
        repository_id: &RepositoryId,
    ) -> Option<(IdleWorktreeId, freehold_git::IdleWorktree)> {
        if self.inner.options.idle_per_repository == 0 {
            return None;
        }
        let (node, repository, now) = (self.inner.options.node_id.clone(), repository_id.clone(), self.now());
        let write = self.inner.store.write(move |tx| store::pool::take(tx, &node, &repository, "", now));
        match write.await {
            Ok(idle) => {
                let idle = idle?;
                Some((idle.id.clone(), to_git(&idle).ok().flatten()?))
            }
            Err(error) => {
                tracing::warn!(%repository_id, %error, "no idle worktree could be taken");
                None
            }
        }
    }

    /// Stores what becomes of it: one that was not used waits again, any other is given back if nothing is lost by it.
    async fn leave_ground(&self, id: IdleWorktreeId, used: Option<GroundUse>) {
        let (to, reason) = match used {
            Some(GroundUse::Unused) => (IdleState::Ready, ""),
            Some(GroundUse::Used) => (IdleState::Returning, "its files are a restored workspace's"),
            Some(GroundUse::Doubtful) => (IdleState::Returning, "it is not as it was made"),
            None => (IdleState::Returning, "a restoration failed with it"),
        };
        let now = self.now();
        let from = IdleState::Taken;
        let write = self.inner.store.write(move |tx| store::pool::set_state(tx, &id, from, to, reason, now));
        if let Err(error) = write.await {
            tracing::warn!(%error, "what became of an idle worktree is found out by the next start");
        }
        self.inner.cleanup_wake.notify_one();
    }
}
