//! Tasks and the repositories they work on.

pub(crate) mod automation;
pub(crate) mod family;
pub(crate) mod list;
mod start;
pub(crate) mod sweep;
pub(crate) mod visitor;

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{NodeId, RepositoryId, StepId, TaskId};
use freehold_domain::repository::TaskRepository;
use freehold_domain::task::{Task, TaskState};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::{Value, params};
use crate::{StoreError, Tx};

pub use automation::finished_runs;
pub use family::{
    borrowers_of, descendants_of, open_descendants_of, set_borrowed_environment, set_start_commit,
    start_commits_of,
};
pub use list::{Page, TaskCursor, TaskFilter, TaskListItem, find_item, list_page, list_trash};
pub use sweep::{
    expired_quick_chats, keep_quick_chat, move_board, of_workflow, of_workspace, stood_long_enough,
};
pub use visitor::{visitor_of_checkout, visitor_of_worktree};

const TABLE: &str = "tasks";
const NOUN: &str = "task";

macro_rules! columns {
    () => {
        "id, parent_id, borrowed_environment_id, workspace_id, workflow_id, workflow_step_id, title, description, \
         state, error_message, position, agent_profile_id, start_requested, is_ephemeral, automation, expires_at, archived_at, \
         deleted_at, trashed_at, created_at, updated_at"
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO tasks (", columns!(), ", step_entered_at) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"
    );
    INSERT_REPOSITORY =
        "INSERT INTO task_repositories (id, task_id, repository_id, base_branch, checkout_branch, position, created_at, \
         updated_at, start_kind, adopted_path, fetch_remote, fetch_ref) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    FIND = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1");
    LOCK = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1/*pg  FOR UPDATE*/");
    UPDATE_STATE = "UPDATE tasks SET state = $1, error_message = $2, updated_at = $3 WHERE id = $4";
    RENAME = "UPDATE tasks SET title = $1, updated_at = $2 WHERE id = $3";
    MOVE =
        "UPDATE tasks SET step_entered_at = CASE WHEN workflow_step_id = $1 THEN step_entered_at ELSE $2 END, \
         workflow_step_id = $1, position = $3, updated_at = $2 WHERE id = $4";
    NEXT_POSITION = "SELECT COALESCE(MAX(position), -1) + 1 FROM tasks WHERE workflow_step_id = $1";
    PLACE = "SELECT position FROM tasks WHERE workflow_step_id = $1 AND id = $2";
    FIRST_POSITION = "SELECT COALESCE(MIN(position), 1) - 1 FROM tasks WHERE workflow_step_id = $1";
    // By two, so that the place freed behind the named task is taken by none of its equals.
    MAKE_ROOM = "UPDATE tasks SET position = position + 2 WHERE workflow_step_id = $1 \
                 AND (position > $2 OR (position = $2 AND id > $3))";
    SET_ARCHIVED = "UPDATE tasks SET archived_at = $1, updated_at = $2 WHERE id = $3";
    SET_DELETED = "UPDATE tasks SET deleted_at = $1, updated_at = $2 WHERE id = $3";
    SET_TRASHED = "UPDATE tasks SET trashed_at = $1, updated_at = $2 WHERE id = $3";
    REOPEN =
        "UPDATE tasks SET archived_at = NULL, deleted_at = NULL, trashed_at = NULL, is_ephemeral = 0, \
         expires_at = NULL, step_entered_at = $1, updated_at = $1 WHERE id = $2";
    TRASHED_BEFORE =
        "SELECT id FROM tasks WHERE trashed_at IS NOT NULL AND trashed_at <= $1 ORDER BY trashed_at, id LIMIT 100";
    SET_START_REQUESTED = "UPDATE tasks SET start_requested = $1, updated_at = $2 WHERE id = $3";
    DELETE = "DELETE FROM tasks WHERE id = $1";
    REPOSITORIES =
        "SELECT id, task_id, repository_id, base_branch, start_kind, checkout_branch, adopted_path, fetch_remote, \
         fetch_ref, position, created_at FROM task_repositories \
         WHERE task_id = $1 ORDER BY position, id";
    SET_CHECKOUT =
        "UPDATE task_repositories SET start_kind = 'existing_branch', checkout_branch = $1, updated_at = $2 \
         WHERE task_id = $3 AND repository_id = $4 AND start_kind IN ('', 'new_branch')";
    SET_START_NODE = "UPDATE tasks SET start_node = $1 WHERE id = $2";
    START_REQUESTED =
        "SELECT id FROM tasks WHERE start_requested = 1 AND start_node IN ('', $1) \
         AND archived_at IS NULL AND deleted_at IS NULL \
         ORDER BY created_at, id";
}

/// Stores a task and the repositories it works on.
pub fn insert(tx: &mut Tx<'_>, task: &Task, repositories: &[TaskRepository]) -> Result<(), StoreError> {
    let values = params![
        task.id.as_str(),
        task.parent_id.as_ref().map_or("", |id| id.as_str()),
        task.borrowed_environment_id.as_ref().map_or("", |id| id.as_str()),
        task.workspace_id.as_str(),
        task.workflow_id.as_str(),
        task.step_id.as_str(),
        &task.title,
        &task.prompt,
        task.state.as_str(),
        &task.error_message,
        task.position,
        task.agent_profile_id.as_ref().map_or("", |id| id.as_str()),
        task.start_requested,
        task.is_quick,
        &task.automation,
        task.expires_at,
        task.archived_at,
        task.deleted_at,
        task.trashed_at,
        task.created_at,
        task.updated_at,
        task.created_at,
    ];
    tx.execute(&INSERT, values)?;
    let rows: Vec<Vec<Value<'_>>> = repositories.iter().map(repository_values).collect();
    tx.execute_many(&INSERT_REPOSITORY, &rows)
}

fn repository_values(repository: &TaskRepository) -> Vec<Value<'_>> {
    let TaskRepository { id, task_id, repository_id, base_branch, start, position, created_at } = repository;
    let columns = start::Columns::of(start);
    params![
        id.as_str(),
        task_id.as_str(),
        repository_id.as_str(),
        base_branch,
        columns.checkout_branch,
        *position,
        *created_at,
        *created_at,
        columns.kind.as_str(),
        columns.adopted_path,
        columns.fetch_remote,
        columns.fetch_ref,
    ]
    .to_vec()
}

/// Finds a task.
pub fn find(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds a task; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &TaskId) -> Result<Task, StoreError> {
    find(tx, id)?.ok_or_else(|| absent(id))
}

/// Finds a task and keeps other transactions from changing it until this one ends.
pub fn lock(tx: &mut Tx<'_>, id: &TaskId) -> Result<Task, StoreError> {
    find_locked(tx, id)?.ok_or_else(|| absent(id))
}

/// Locks tasks in the order of their ids, so that no two transactions wait for one another; rows that are gone are
/// passed over.
pub fn lock_in_order(tx: &mut Tx<'_>, ids: &[TaskId]) -> Result<(), StoreError> {
    let mut ids: Vec<&TaskId> = ids.iter().collect();
    ids.sort_unstable_by_key(|id| id.as_str());
    ids.dedup();
    ids.into_iter().try_for_each(|id| find_locked(tx, id).map(drop))
}

/// As [`lock`], for a task whose row may be gone.
pub(crate) fn find_locked(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    tx.row(&LOCK, params![id.as_str()], TABLE, read)
}

fn absent(id: &TaskId) -> StoreError {
    StoreError::NotFound { noun: NOUN, id: id.to_string() }
}

/// Sets how far a task has come, with the reason when it failed.
pub fn update_state(
    tx: &mut Tx<'_>,
    id: &TaskId,
    state: TaskState,
    error_message: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = params![state.as_str(), error_message, now, id.as_str()];
    tx.change(&UPDATE_STATE, values, NOUN, id.as_str())
}

/// Gives a task another title.
pub fn rename(tx: &mut Tx<'_>, id: &TaskId, title: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.change(&RENAME, params![title, now, id.as_str()], NOUN, id.as_str())
}

/// Moves a task to a column and a place in it.
pub fn move_to(
    tx: &mut Tx<'_>,
    id: &TaskId,
    step: &StepId,
    position: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&MOVE, params![step.as_str(), now, position, id.as_str()], NOUN, id.as_str())
}

/// The place after the last task of a column.
pub fn next_position(tx: &mut Tx<'_>, step: &StepId) -> Result<i64, StoreError> {
    Ok(tx.row(&NEXT_POSITION, params![step.as_str()], TABLE, |fields| fields.int())?.unwrap_or_default())
}

/// Makes room in a column: first when `after` is none, else right behind that task. Gives the free position.
pub fn make_room(tx: &mut Tx<'_>, step: &StepId, after: Option<&TaskId>) -> Result<i64, StoreError> {
    let Some(after) = after else {
        let first = tx.row(&FIRST_POSITION, params![step.as_str()], TABLE, |fields| fields.int())?;
        return Ok(first.unwrap_or_default());
    };
    let place = tx.row(&PLACE, params![step.as_str(), after.as_str()], TABLE, |fields| fields.int())?;
    let absent = || StoreError::NotFound { noun: "task in the column:", id: after.to_string() };
    let place = place.ok_or_else(absent)?;
    tx.execute(&MAKE_ROOM, params![step.as_str(), place, after.as_str()])?;
    Ok(place + 1)
}

/// Marks a task as archived, or as open again.
pub fn set_archived(
    tx: &mut Tx<'_>,
    id: &TaskId,
    archived_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_ARCHIVED, params![archived_at, now, id.as_str()], NOUN, id.as_str())
}

/// Marks a task as being deleted, or takes the mark back.
pub fn set_deleted(
    tx: &mut Tx<'_>,
    id: &TaskId,
    deleted_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_DELETED, params![deleted_at, now, id.as_str()], NOUN, id.as_str())
}

/// Puts a task whose workspace was given back into the trash.
pub fn set_trashed(tx: &mut Tx<'_>, id: &TaskId, now: Timestamp) -> Result<(), StoreError> {
    tx.change(&SET_TRASHED, params![now, now, id.as_str()], NOUN, id.as_str())
}

/// Opens an archived or deleted task again. A quick chat that is brought back stays: it expires no more.
pub fn reopen(tx: &mut Tx<'_>, id: &TaskId, now: Timestamp) -> Result<(), StoreError> {
    tx.change(&REOPEN, params![now, id.as_str()], NOUN, id.as_str())
}

/// Lists tasks that came into the trash up to an instant, oldest first, at most 100.
pub fn trashed_before(tx: &mut Tx<'_>, instant: Timestamp) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&TRASHED_BEFORE, params![instant], TABLE, |fields| fields.parse())
}

/// Records whether a first session shall start when the workspace is ready.
pub fn set_start_requested(
    tx: &mut Tx<'_>,
    id: &TaskId,
    requested: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_START_REQUESTED, params![requested, now, id.as_str()], NOUN, id.as_str())
}

/// Deletes a task's row with its sessions, environment and repository uses; false when it was gone.
pub fn delete_row(tx: &mut Tx<'_>, id: &TaskId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

/// Lists the repositories a task works on, in order.
pub fn repositories_of(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<TaskRepository>, StoreError> {
    tx.rows(&REPOSITORIES, params![id.as_str()], "task_repositories", |fields| {
        Ok(TaskRepository {
            id: fields.parse()?,
            task_id: fields.parse()?,
            repository_id: fields.parse()?,
            base_branch: fields.text()?,
            start: start::read(fields)?,
            position: fields.int()?,
            created_at: fields.instant()?,
        })
    })
}

/// Lets a task go on, in one of its repositories, on a branch that is there, where it had a new one before.
pub fn set_checkout(
    tx: &mut Tx<'_>,
    id: &TaskId,
    repository: &RepositoryId,
    branch: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(&SET_CHECKOUT, params![branch, now, id.as_str(), repository.as_str()]).map(drop)
}

/// Records which server was asked to start a task; the others leave it alone.
pub fn set_start_node(tx: &mut Tx<'_>, id: &TaskId, node: &NodeId) -> Result<(), StoreError> {
    tx.change(&SET_START_NODE, params![node.as_str(), id.as_str()], NOUN, id.as_str())
}

/// Lists the open tasks whose first session was asked for and has not started, oldest first.
pub fn ids_with_start_requested(tx: &mut Tx<'_>, node: &NodeId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&START_REQUESTED, params![node.as_str()], TABLE, |fields| fields.parse())
}

fn read(fields: &mut Fields<'_>) -> Result<Task, StoreError> {
    Ok(Task {
        id: fields.parse()?,
        parent_id: fields.optional()?,
        borrowed_environment_id: fields.optional()?,
        workspace_id: fields.parse()?,
        workflow_id: fields.parse()?,
        step_id: fields.parse()?,
        title: fields.text()?,
        prompt: fields.text()?,
        state: fields.parse()?,
        error_message: fields.text()?,
        position: fields.int()?,
        agent_profile_id: fields.optional()?,
        start_requested: fields.flag()?,
        is_quick: fields.flag()?,
        automation: fields.text()?,
        expires_at: fields.optional_instant()?,
        archived_at: fields.optional_instant()?,
        deleted_at: fields.optional_instant()?,
        trashed_at: fields.optional_instant()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
