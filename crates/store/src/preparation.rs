//! What worktrees got besides their tracked files.
//!
//! A row is stored as pending together with the owner of the worktree, so that a crash before the preparation
//! leaves the wish for it.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::EnvironmentRepoId;
use freehold_domain::preparation::Preparation;

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "workspace_preparations";

statements! {
    INSERT_PENDING = "INSERT INTO workspace_preparations (environment_repo_id, updated_at) VALUES ($1, $2)";
    FINISH =
        "UPDATE workspace_preparations SET is_done = 1, report = $1, updated_at = $2 \
         WHERE environment_repo_id = $3 AND is_done = 0";
    FIND = "SELECT environment_repo_id, is_done, report FROM workspace_preparations WHERE environment_repo_id = $1";
}

/// Stores the wish for a preparation.
pub fn insert_pending(tx: &mut Tx<'_>, repo: &EnvironmentRepoId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(&INSERT_PENDING, params![repo.as_str(), now]).map(drop)
}

/// Stores what was done; false when that was stored before.
pub fn finish(
    tx: &mut Tx<'_>,
    repo: &EnvironmentRepoId,
    report: &Preparation,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let report = serde_json::to_string(report)
        .map_err(|error| StoreError::database("write a preparation as JSON", error))?;
    Ok(tx.execute(&FINISH, params![report, now, repo.as_str()])? > 0)
}

/// Whether a worktree waits for its preparation.
pub fn is_pending(tx: &mut Tx<'_>, repo: &EnvironmentRepoId) -> Result<bool, StoreError> {
    let is_done = tx.row(&FIND, params![repo.as_str()], TABLE, |fields| {
        fields.text()?;
        fields.flag()
    })?;
    Ok(is_done == Some(false))
}

/// Finds what a worktree got; none when it waits, and when nothing was recorded.
pub fn find(tx: &mut Tx<'_>, repo: &EnvironmentRepoId) -> Result<Option<Preparation>, StoreError> {
    let found = tx.row(&FIND, params![repo.as_str()], TABLE, |fields| {
        fields.text()?;
        Ok((fields.flag()?, fields.json()?))
    })?;
    Ok(found.filter(|(is_done, _)| *is_done).map(|(_, report)| report))
}
