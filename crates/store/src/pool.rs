//! Idle worktrees: which were made ahead of time, where, and what is happening to each.
//!
//! Invariant: one row is taken by one task. Whoever moves a row from one state to another names both, so that of
//! two that race one finds nothing to move.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{IdleWorktreeId, NodeId, RepositoryId};
use freehold_domain::pool::{IdleProof, IdleState, IdleWorktree};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "idle_worktrees";

macro_rules! columns {
    () => {
        "id, repository_id, node_id, state, repository_path, worktree_path, commit_id, proof, reason, \
         created_at, updated_at"
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO idle_worktrees (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    );
    LIST = concat!(
        "SELECT ", columns!(), " FROM idle_worktrees WHERE node_id = $1 ORDER BY created_at, id"
    );
    LIST_READY = concat!(
        "SELECT ", columns!(), " FROM idle_worktrees WHERE node_id = $1 AND state = 'ready' ",
        "AND repository_id = $2 ORDER BY created_at, id"
    );
    NEXT_RETURNING = concat!(
        "SELECT ", columns!(), " FROM idle_worktrees WHERE node_id = $1 AND state = 'returning' ",
        "AND updated_at <= $2 ORDER BY updated_at, id LIMIT 1"
    );
    SET_STATE =
        "UPDATE idle_worktrees SET state = $1, reason = $2, updated_at = $3 WHERE id = $4 AND state = $5";
    SET_READY =
        "UPDATE idle_worktrees SET state = 'ready', proof = $1, updated_at = $2 WHERE id = $3 \
         AND state = 'preparing'";
    DELETE = "DELETE FROM idle_worktrees WHERE id = $1";
    IN_USE =
        "SELECT DISTINCT r.repository_id FROM task_environment_repos r \
         JOIN task_environment_repo_origins o ON o.environment_repo_id = r.id \
         JOIN repositories p ON p.id = r.repository_id \
         WHERE r.status = 'active' AND r.deleted_at IS NULL AND p.deleted_at IS NULL ORDER BY r.repository_id";
}

/// Stores one that is going to be made.
pub fn insert(tx: &mut Tx<'_>, idle: &IdleWorktree) -> Result<(), StoreError> {
    let proof = idle.made.as_ref().map(text_of).transpose()?.unwrap_or_default();
    let values = params![
        idle.id.as_str(),
        idle.repository_id.as_str(),
        idle.node_id.as_str(),
        idle.state.as_str(),
        &idle.repository_path,
        &idle.path,
        &idle.commit,
        proof,
        &idle.reason,
        idle.created_at,
        idle.updated_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Lists all of a node, oldest first.
pub fn list(tx: &mut Tx<'_>, node: &NodeId) -> Result<Vec<IdleWorktree>, StoreError> {
    tx.rows(&LIST, params![node.as_str()], TABLE, read)
}

/// Takes one of the repository that waits on the node; none when none waits. One that was made at the wanted
/// commit comes first. The row is the caller's from then on.
pub fn take(
    tx: &mut Tx<'_>,
    node: &NodeId,
    repository: &RepositoryId,
    commit: &str,
    now: Timestamp,
) -> Result<Option<IdleWorktree>, StoreError> {
    let mut waiting = tx.rows(&LIST_READY, params![node.as_str(), repository.as_str()], TABLE, read)?;
    waiting.sort_by_key(|idle| idle.commit != commit);
    for idle in waiting {
        if set_state(tx, &idle.id, IdleState::Ready, IdleState::Taken, "", now)? {
            return Ok(Some(IdleWorktree { state: IdleState::Taken, updated_at: now, ..idle }));
        }
    }
    Ok(None)
}

/// Finds one that is to be given back and was last tried before an instant.
pub fn next_returning(
    tx: &mut Tx<'_>,
    node: &NodeId,
    tried_before: Timestamp,
) -> Result<Option<IdleWorktree>, StoreError> {
    tx.row(&NEXT_RETURNING, params![node.as_str(), tried_before], TABLE, read)
}

/// Moves one from a state to another; false when it is in none such any more.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: &IdleWorktreeId,
    from: IdleState,
    to: IdleState,
    reason: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let values = params![to.as_str(), reason, now, id.as_str(), from.as_str()];
    Ok(tx.execute(&SET_STATE, values)? > 0)
}

/// Records that one was made; false when it is not being made any more.
pub fn set_ready(
    tx: &mut Tx<'_>,
    id: &IdleWorktreeId,
    proof: &IdleProof,
    now: Timestamp,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&SET_READY, params![text_of(proof)?, now, id.as_str()])? > 0)
}

/// Deletes the row of one that is a task's, or gone; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &IdleWorktreeId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

/// Lists the registered repositories of which Freehold made a worktree that a task has.
pub fn repositories_in_use(tx: &mut Tx<'_>) -> Result<Vec<RepositoryId>, StoreError> {
    tx.rows(&IN_USE, params![], "task_environment_repos", |fields| fields.parse())
}

fn text_of(proof: &IdleProof) -> Result<String, StoreError> {
    serde_json::to_string(proof)
        .map_err(|error| StoreError::database("write the proof of an idle worktree as JSON", error))
}

fn read(fields: &mut Fields<'_>) -> Result<IdleWorktree, StoreError> {
    Ok(IdleWorktree {
        id: fields.parse()?,
        repository_id: fields.parse()?,
        node_id: fields.parse()?,
        state: fields.parse()?,
        repository_path: fields.text()?,
        path: fields.text()?,
        commit: fields.text()?,
        made: fields.json()?,
        reason: fields.text()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
