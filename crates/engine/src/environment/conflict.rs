//! Branches that are checked out already: whose checkout it is, and so what could be done instead.

use std::path::Path;

use freehold_git::GitError;

use crate::error::BranchHolder;
use crate::{Engine, EngineError};

impl Engine {
    /// Adds to the refusal of a branch what only the database knows; any other error stays as it is.
    pub(crate) async fn explain(&self, error: EngineError) -> EngineError {
        let EngineError::Git(GitError::BranchInUse { branch, checkout, is_main, free, .. }) = error else {
            return error;
        };
        let path = checkout.display().to_string();
        let holder = match self.owner_of(&path).await {
            _ if is_main => BranchHolder::MainCheckout,
            Ok(Some(task_id)) => BranchHolder::Task(task_id),
            Ok(None) if !self.is_below_root(Path::new(&path)) => BranchHolder::Person,
            Ok(None) => BranchHolder::Nobody,
            Err(error) => {
                tracing::warn!(%error, path, "the owner of a checkout could not be found out");
                BranchHolder::Nobody
            }
        };
        EngineError::BranchInUse { branch, checkout: path, free, holder }
    }
}
