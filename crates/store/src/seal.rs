//! Seals: the records of what was given back, by which it can be brought back.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, NodeId, RepositoryId, SealId, TaskId};
use freehold_domain::seal::WorkspaceSeal;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "workspace_seals";
const NOUN: &str = "seal";

macro_rules! columns {
    () => {
        "id, task_id, job_id, node_id, environment_repo_id, repository_id, repository_path, worktree_path, \
         commit_id, branch, file_count, size_bytes, left_out, created_at, kind"
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO workspace_seals (", columns!(), ") ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (id) DO NOTHING"
    );
    FIND = concat!("SELECT ", columns!(), " FROM workspace_seals WHERE id = $1");
    OF_TASK = concat!(
        "SELECT ", columns!(), " FROM workspace_seals WHERE task_id = $1 ORDER BY created_at DESC, id DESC"
    );
    OF_TASKS = concat!(
        "SELECT ", columns!(), " FROM workspace_seals WHERE task_id IN texts($1) ORDER BY created_at DESC, id DESC"
    );
    // The newest seal of each worktree of a closed task, and that of its folder, is what brings it back; every other
    // one may go.
    EXPIRED = concat!(
        "SELECT ", columns!(), " FROM workspace_seals s WHERE s.node_id = $1 AND s.created_at <= $2 AND (",
        "NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = s.task_id ",
        "AND (t.archived_at IS NOT NULL OR t.deleted_at IS NOT NULL)) ",
        "OR (s.kind = 'worktree' AND EXISTS (SELECT 1 FROM workspace_seals n WHERE n.task_id = s.task_id ",
        "AND n.kind = s.kind AND n.environment_repo_id = s.environment_repo_id AND n.created_at > s.created_at)) ",
        "OR (s.kind = 'folder' AND NOT EXISTS (SELECT 1 FROM task_environment_folder_seals f WHERE f.seal_id = s.id))) ",
        "AND NOT EXISTS (SELECT 1 FROM task_resource_cleanup_jobs j WHERE j.task_id = s.task_id ",
        "AND j.state NOT IN ('succeeded', 'failed', 'cancelled')) ",
        "ORDER BY s.task_id, s.created_at, s.id LIMIT 200"
    );
    DELETE = "DELETE FROM workspace_seals WHERE id = $1";
    FOLDER_OF = concat!(
        "SELECT ", columns!(), " FROM workspace_seals WHERE id = (SELECT f.seal_id FROM ",
        "task_environment_folder_seals f WHERE f.task_environment_id = $1)"
    );
    SET_FOLDER =
        "INSERT INTO task_environment_folder_seals (task_environment_id, seal_id) \
         SELECT e.id, $1 FROM task_environments e WHERE e.id = $2 \
         ON CONFLICT (task_environment_id) DO UPDATE SET seal_id = excluded.seal_id";
    CLEAR_FOLDER = "DELETE FROM task_environment_folder_seals WHERE task_environment_id = $1";
}

/// Stores a seal; one that is stored already stays as it is.
pub fn insert(tx: &mut Tx<'_>, seal: &WorkspaceSeal) -> Result<(), StoreError> {
    let left_out = serde_json::to_string(&seal.left_out)
        .map_err(|error| StoreError::database("write what a seal leaves out as JSON", error))?;
    let values = params![
        seal.id.as_str(),
        seal.task_id.as_str(),
        seal.job_id.as_str(),
        seal.node_id.as_str(),
        seal.environment_repo_id.as_ref().map_or("", |id| id.as_str()),
        seal.repository_id.as_str(),
        &seal.repository_path,
        &seal.worktree_path,
        &seal.commit,
        &seal.branch,
        i64::try_from(seal.file_count).unwrap_or(i64::MAX),
        i64::try_from(seal.size_bytes).unwrap_or(i64::MAX),
        left_out,
        seal.created_at,
        seal.kind.as_str(),
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Finds a seal; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &SealId) -> Result<WorkspaceSeal, StoreError> {
    let found = tx.row(&FIND, params![id.as_str()], TABLE, read)?;
    found.ok_or_else(|| StoreError::NotFound { noun: NOUN, id: id.to_string() })
}

/// Lists the seals of a task, the newest first.
pub fn of_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Vec<WorkspaceSeal>, StoreError> {
    tx.rows(&OF_TASK, params![task.as_str()], TABLE, read)
}

/// Lists the seals of several tasks, the newest first.
pub fn of_tasks(tx: &mut Tx<'_>, tasks: &[&str]) -> Result<Vec<WorkspaceSeal>, StoreError> {
    let ids = serde_json::to_string(tasks).map_err(|error| StoreError::database("list seals", error))?;
    tx.rows(&OF_TASKS, params![&ids], TABLE, read)
}

/// Lists seals of a node, taken up to an instant, that bring no closed task back: those of open tasks, and those
/// that a newer one replaced. At most 200, by task.
pub fn expired(tx: &mut Tx<'_>, node: &NodeId, instant: Timestamp) -> Result<Vec<WorkspaceSeal>, StoreError> {
    tx.rows(&EXPIRED, params![node.as_str(), instant], TABLE, read)
}

/// Finds the seal from which the folder of an environment comes back; none while the folder is there, or when there
/// was nothing in it.
pub fn folder_of(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Option<WorkspaceSeal>, StoreError> {
    tx.row(&FOLDER_OF, params![environment.as_str()], TABLE, read)
}

/// Records from which seal the folder of an environment comes back; none when there is nothing in it.
pub fn set_folder_of(
    tx: &mut Tx<'_>,
    environment: &EnvironmentId,
    seal: Option<&SealId>,
) -> Result<(), StoreError> {
    let set = match seal {
        Some(seal) => tx.execute(&SET_FOLDER, params![seal.as_str(), environment.as_str()]),
        None => tx.execute(&CLEAR_FOLDER, params![environment.as_str()]),
    };
    set.map(drop)
}

/// Deletes the record of a seal that is gone; false when it was deleted before.
pub fn delete(tx: &mut Tx<'_>, id: &SealId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

fn read(fields: &mut Fields<'_>) -> Result<WorkspaceSeal, StoreError> {
    Ok(WorkspaceSeal {
        id: fields.parse()?,
        task_id: fields.parse()?,
        job_id: fields.parse()?,
        node_id: fields.parse()?,
        environment_repo_id: fields.optional()?,
        repository_id: fields.optional()?.unwrap_or_else(RepositoryId::unnamed),
        repository_path: fields.text()?,
        worktree_path: fields.text()?,
        commit: fields.text()?,
        branch: fields.text()?,
        file_count: fields.int()?.cast_unsigned(),
        size_bytes: fields.int()?.cast_unsigned(),
        left_out: fields.json()?,
        created_at: fields.instant()?,
        kind: fields.parse()?,
    })
}
