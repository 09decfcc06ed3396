//! Tasks and the repositories they work on.

use freehold_domain::cleanup::CleanupState;
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::EnvironmentStatus;
use freehold_domain::id::{StepId, TaskId, WorkspaceId};
use freehold_domain::repository::TaskRepository;
use freehold_domain::session::SessionState;
use freehold_domain::task::{Task, TaskState};

use crate::{StoreError, Tx};

/// Chooses the tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks in this column.
    pub step: Option<StepId>,
    /// Archived tasks instead of open ones. A task whose deletion is under way counts as what it was before.
    pub archived: bool,
    /// Only tasks whose title holds this text, in any case of letters.
    pub query: Option<String>,
}

/// Where a page ends: the place of its last task in board order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCursor {
    /// The task's place within its column.
    pub position: i64,
    /// The task.
    pub id: TaskId,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, in order.
    pub items: Vec<T>,
    /// Where the next page begins; none on the last.
    pub next: Option<TaskCursor>,
}

/// A task with what a board shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListItem {
    /// The task.
    pub task: Task,
    /// The names of its repositories, in order.
    pub repository_names: Vec<String>,
    /// The state of its primary session.
    pub session_state: Option<SessionState>,
    /// The state of its environment.
    pub environment_status: Option<EnvironmentStatus>,
    /// The state of its newest unfinished cleanup job.
    pub open_job_state: Option<CleanupState>,
}

/// Stores a task and the repositories it works on.
pub fn insert(tx: &mut Tx<'_>, task: &Task, repositories: &[TaskRepository]) -> Result<(), StoreError> {
    todo!()
}
/// Finds a task.
pub fn find(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    todo!()
}
/// Finds a task; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &TaskId) -> Result<Task, StoreError> {
    todo!()
}
/// Finds a task and keeps other transactions from changing it until this one ends.
pub fn lock(tx: &mut Tx<'_>, id: &TaskId) -> Result<Task, StoreError> {
    todo!()
}
/// Finds a task as a board shows it.
pub fn find_item(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<TaskListItem>, StoreError> {
    todo!()
}
/// Lists a workspace's tasks in board order (position, id), at most `limit` after `cursor`.
pub fn list_page(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    filter: &TaskFilter,
    cursor: Option<&TaskCursor>,
    limit: u32,
) -> Result<Page<TaskListItem>, StoreError> {
    todo!()
}
/// Sets how far a task has come, with the reason when it failed.
pub fn update_state(
    tx: &mut Tx<'_>,
    id: &TaskId,
    state: TaskState,
    error_message: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Gives a task another title.
pub fn rename(tx: &mut Tx<'_>, id: &TaskId, title: &str, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// Moves a task to a column and a place in it.
pub fn move_to(
    tx: &mut Tx<'_>,
    id: &TaskId,
    step: &StepId,
    position: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// The place after the last task of a column.
pub fn next_position(tx: &mut Tx<'_>, step: &StepId) -> Result<i64, StoreError> {
    todo!()
}
/// Marks a task as archived, or as open again.
pub fn set_archived(
    tx: &mut Tx<'_>,
    id: &TaskId,
    archived_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Marks a task as being deleted, or takes the mark back.
pub fn set_deleted(
    tx: &mut Tx<'_>,
    id: &TaskId,
    deleted_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Records whether a first session shall start when the workspace is ready.
pub fn set_start_requested(
    tx: &mut Tx<'_>,
    id: &TaskId,
    requested: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Deletes a task's row with its sessions, environment and repository uses; false when it was gone.
pub fn delete_row(tx: &mut Tx<'_>, id: &TaskId) -> Result<bool, StoreError> {
    todo!()
}
/// Lists the repositories a task works on, in order.
pub fn repositories_of(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<TaskRepository>, StoreError> {
    todo!()
}
/// Lists the open tasks whose first session was asked for and has not started, oldest first.
pub fn ids_with_start_requested(tx: &mut Tx<'_>) -> Result<Vec<TaskId>, StoreError> {
    todo!()
}
