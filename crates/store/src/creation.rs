//! The journal of attempts to create workspaces: what an attempt may have made, written before it is made.

use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{Creation, CreationState};
use freehold_domain::id::CreationId;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "workspace_creations";

macro_rules! columns {
    () => {
        "id, task_id, node_id, state, task_dir_name, worktrees, created_at, updated_at, folder_seal"
    };
}

statements! {
    INSERT =
        concat!("INSERT INTO workspace_creations (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    SET_STATE = "UPDATE workspace_creations SET state = $1, updated_at = $2 WHERE id = $3";
    FIND = concat!("SELECT ", columns!(), " FROM workspace_creations WHERE id = $1");
    LIST_UNFINISHED = concat!(
        "SELECT ", columns!(), " FROM workspace_creations ",
        "WHERE state NOT IN ('persisted', 'abandoned') ORDER BY created_at, id"
    );
    DELETE = "DELETE FROM workspace_creations WHERE id = $1";
}

/// Stores an attempt.
pub fn insert(tx: &mut Tx<'_>, creation: &Creation) -> Result<(), StoreError> {
    let worktrees = serde_json::to_string(&creation.worktrees)
        .map_err(|error| StoreError::database("write planned worktrees as JSON", error))?;
    let values = params![
        creation.id.as_str(),
        creation.task_id.as_str(),
        creation.node_id.as_str(),
        creation.state.as_str(),
        &creation.task_dir_name,
        worktrees,
        creation.created_at,
        creation.updated_at,
        creation.folder_seal.as_ref().map_or("", |id| id.as_str()),
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Sets how far an attempt came.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: &CreationId,
    state: CreationState,
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = params![state.as_str(), now, id.as_str()];
    tx.change(&SET_STATE, values, "creation attempt", id.as_str())
}

/// Finds an attempt.
pub fn find(tx: &mut Tx<'_>, id: &CreationId) -> Result<Option<Creation>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Lists the attempts that are neither persisted nor abandoned, oldest first.
pub fn list_unfinished(tx: &mut Tx<'_>) -> Result<Vec<Creation>, StoreError> {
    tx.rows(&LIST_UNFINISHED, params![], TABLE, read)
}

/// Deletes an attempt; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &CreationId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

fn read(fields: &mut Fields<'_>) -> Result<Creation, StoreError> {
    Ok(Creation {
        id: fields.parse()?,
        task_id: fields.parse()?,
        node_id: fields.parse()?,
        state: fields.parse()?,
        task_dir_name: fields.text()?,
        worktrees: fields.json()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
        folder_seal: fields.optional()?,
    })
}
