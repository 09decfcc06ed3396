//! A given-back workspace that shows nobody anything returns to the pool, where the pool of its repository lacks one:
//! nothing has to be unlinked, and next to nothing written.
//!
//! The row of the removed directory stays until the reaper has looked at what is left, so that a crash only means
//! that it is unlinked after all; the row of the idle worktree says which one is half made.

use std::path::PathBuf;
use std::sync::Arc;

use freehold_git::{IdlePlan, Remover};

use super::permit::RemovedRow;
use crate::{Engine, EngineError};

impl Engine {
    /// Makes an idle worktree of a removed directory, if it is clean and there is room for one.
    pub(super) async fn reuse_removed(
        &self,
        row: &Arc<RemovedRow>,
        remover: Arc<Remover>,
    ) -> Result<(), EngineError> {
        let removed = row.removed();
        if removed.clean_commit.is_empty() || self.inner.options.idle_per_repository == 0 {
            return Ok(());
        }
        let Some(idle) = self.reserve_idle(&removed.repository_id).await? else { return Ok(()) };
        crate::failpoint!("engine.reuse.reserved");
        let plan = IdlePlan {
            repo: PathBuf::from(&idle.repository_path),
            path: PathBuf::from(&idle.path),
            commit: idle.commit.parse()?,
        };
        let row = row.clone();
        let prepared = self.blocking("reusing a workspace", move |_| row.reuse(&remover, &plan)).await;
        crate::failpoint!("engine.reuse.made");
        self.store_prepared(idle, prepared).await.map(drop)
    }
}
