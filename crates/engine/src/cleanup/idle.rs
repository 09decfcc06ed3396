//! Giving back idle worktrees: the same removal with the same last look, for what is no task's.
//!
//! The row is the intent, stored before anything is done, and the worker finds it again after a crash. What may
//! be somebody's work stays where it is, and the row says so.

use std::path::PathBuf;
use std::sync::Arc;

use freehold_domain::pool::{IdleState, IdleWorktree};
use freehold_git::{BranchPolicy, ExpectedIdentity, RemovalError, RemovalTarget, Remover, TrashEntry};
use freehold_store as store;
use freehold_store::StoreError;

use super::permit::ReturningIdle;
use crate::{Engine, EngineError};

/// How long after a failed attempt the next one comes, in milliseconds.
const RETRY_MS: i64 = 60_000;

/// How an attempt ended.
enum Returned {
    Gone(Vec<TrashEntry>),
    Left(String),
}

impl Engine {
    /// Gives one idle worktree back, if one is due; tells whether one was.
    pub(crate) async fn give_back_idle(&self, remover: &Arc<Remover>) -> Result<bool, EngineError> {
        let (node, now) = (self.inner.options.node_id.clone(), self.now());
        let read = self.inner.store.read(move |tx| store::pool::next_returning(tx, &node, now));
        let Some(returning) = read.await?.and_then(ReturningIdle::new) else { return Ok(false) };
        let outcome = self.remove_idle(&returning, remover.clone()).await;
        let (idle, now) = (returning.idle().clone(), self.now());
        if let Ok(Returned::Gone(trash)) = &outcome {
            let removed = trash.iter().map(|entry| self.removed_directory(entry, &idle.repository_id, None));
            self.record_removed(removed.collect()).await?;
        }
        let write = self.inner.store.write(move |tx| {
            let from = IdleState::Returning;
            match outcome {
                Ok(Returned::Gone(_)) => store::pool::delete(tx, &idle.id)?,
                Ok(Returned::Left(reason)) => {
                    tracing::warn!(path = %idle.path, reason, "an idle worktree stays: it is not as it was made");
                    store::pool::set_state(tx, &idle.id, from, IdleState::Left, &reason, now)?
                }
                Err(error) => {
                    tracing::warn!(path = %idle.path, %error, "an idle worktree could not be given back yet");
                    let next = now.plus_millis(RETRY_MS);
                    store::pool::set_state(tx, &idle.id, from, from, &error.to_string(), next)?
                }
            };
            Ok::<_, StoreError>(())
        });
        write.await?;
        Ok(true)
    }

    async fn remove_idle(
        &self,
        returning: &ReturningIdle,
        remover: Arc<Remover>,
    ) -> Result<Returned, EngineError> {
        let idle = returning.idle().clone();
        let permit = returning.permit(self.idle_target(&idle)?);
        let made = crate::pool::to_git(&idle)?;
        self.blocking("giving an idle worktree back", move |git| {
            if let Some(made) = made {
                git.settle_idle(&made)?;
            }
            match permit.redeem(&remover, None) {
                Ok(given_back) => Ok(Returned::Gone(given_back.trash)),
                Err(error @ (RemovalError::AtStake(_) | RemovalError::Changed { .. })) => {
                    Ok(Returned::Left(error.to_string()))
                }
                Err(RemovalError::Git(error)) => Err(EngineError::Git(error)),
            }
        })
        .await
    }

    fn idle_target(&self, idle: &IdleWorktree) -> Result<RemovalTarget, EngineError> {
        Ok(RemovalTarget {
            repo: PathBuf::from(&idle.repository_path),
            path: PathBuf::from(&idle.path),
            branch: String::new(),
            base: Some(idle.commit.parse()?),
            expected: idle.made.as_ref().map(|made| ExpectedIdentity {
                registration: made.registration.clone(),
                device: made.device,
                inode: made.inode,
            }),
            managed_root: self.inner.options.workspaces_root.clone(),
            branch_policy: BranchPolicy::Keep,
            never_exposed: true,
            accepted: Vec::new(),
            planted: Vec::new(),
            pushed: Vec::new(),
            sealed: Vec::new(),
        })
    }
}
