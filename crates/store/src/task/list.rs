//! Lists of tasks as boards show them: three queries per page, however many tasks it has.

use std::collections::HashMap;

use freehold_domain::cleanup::CleanupState;
use freehold_domain::environment::EnvironmentStatus;
use freehold_domain::id::{EnvironmentId, SessionId, StepId, TaskId, WorkspaceId};
use freehold_domain::session::SessionState;
use freehold_domain::task::Task;

use super::{TABLE, read};
use crate::row::Fields;
use crate::statement::{Statement, statements};
use crate::value::params;
use crate::{StoreError, Tx, environment};

/// Chooses the tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks in this column.
    pub step: Option<StepId>,
    /// Archived tasks instead of open ones. A task whose deletion is under way stays in the list it was in.
    pub archived: bool,
    /// Only tasks whose title holds this text; the case of ASCII letters does not matter.
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
    /// The task, without its prompt: prompts may be long and boards do not show them, so it is empty here.
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

macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT t.id, ",
            // The parent of an open task is shown while it is open too: what outlives its parent stands by itself.
            "CASE WHEN t.archived_at IS NULL AND t.deleted_at IS NULL ",
            "AND (p.archived_at IS NOT NULL OR p.deleted_at IS NOT NULL) THEN '' ELSE COALESCE(p.id, '') END AS parent_id, ",
            "t.borrowed_environment_id, t.workspace_id, t.workflow_id, t.workflow_step_id, t.title, '' AS description, t.state, ",
            "t.error_message, t.position, t.agent_profile_id, t.start_requested, t.is_ephemeral, t.automation, t.expires_at, t.archived_at, t.deleted_at, t.trashed_at, ",
            "t.created_at, t.updated_at, s.id, s.state, e.id, ",
            environment::status!(),
            " FROM tasks t ",
            "LEFT JOIN tasks p ON p.id = t.parent_id ",
            "LEFT JOIN task_sessions s ON s.task_id = t.id AND s.is_primary = 1 ",
            "LEFT JOIN task_environments e ON e.task_id = t.id WHERE ",
            $condition
        )
    };
}

macro_rules! page {
    ($condition:literal) => {
        concat!(select!("t.workspace_id = $1 AND t.workflow_step_id = $2 AND t."), $condition, page_tail!())
    };
}

macro_rules! page_tail {
    () => {
        " AND t.trashed_at IS NULL AND (t.position, t.id) > ($3, $4) AND ($5 = '' OR t.title ILIKE $5 ESCAPE '\\') \
         ORDER BY t.position, t.id LIMIT $6"
    };
}

// `$2` is compared with itself where no column was chosen, so that all four take the same values.
macro_rules! whole_board {
    ($condition:literal) => {
        concat!(select!("t.workspace_id = $1 AND $2 = '' AND t."), $condition, page_tail!())
    };
}

statements! {
    OPEN = whole_board!("archived_at IS NULL");
    OPEN_IN_STEP = page!("archived_at IS NULL");
    ARCHIVED = whole_board!("archived_at IS NOT NULL");
    ARCHIVED_IN_STEP = page!("archived_at IS NOT NULL");
    ONE = select!("t.id = $1");
    TRASH = select!("t.workspace_id = $1 AND t.trashed_at IS NOT NULL ORDER BY t.trashed_at DESC, t.id");
    REPOSITORY_NAMES =
        "SELECT tr.id, tr.task_id, r.name FROM task_repositories tr JOIN repositories r ON r.id = tr.repository_id \
         WHERE tr.task_id IN texts($1) ORDER BY tr.task_id, tr.position, tr.id";
    OPEN_JOBS =
        "SELECT id, task_id, state FROM task_resource_cleanup_jobs WHERE task_id IN texts($1) \
         AND state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY created_at, id";
}

/// Finds a task as a board shows it.
pub fn find_item(tx: &mut Tx<'_>, id: &TaskId) -> Result<Option<TaskListItem>, StoreError> {
    let mut items = tx.rows(&ONE, params![id.as_str()], TABLE, read_item)?;
    complete(tx, &mut items)?;
    Ok(items.pop())
}

/// Lists the tasks in the trash of a workspace, the newest first.
pub fn list_trash(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Vec<TaskListItem>, StoreError> {
    let mut items = tx.rows(&TRASH, params![workspace.as_str()], TABLE, read_item)?;
    complete(tx, &mut items)?;
    Ok(items)
}

/// Lists a workspace's tasks in board order (position, id), at most `limit` after `cursor`.
pub fn list_page(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    filter: &TaskFilter,
    cursor: Option<&TaskCursor>,
    limit: u32,
) -> Result<Page<TaskListItem>, StoreError> {
    let (position, after) = cursor.map_or((i64::MIN, ""), |cursor| (cursor.position, cursor.id.as_str()));
    let step = filter.step.as_ref().map_or("", |step| step.as_str());
    let pattern = filter.query.as_deref().map(str::trim).filter(|query| !query.is_empty()).map(containing);
    let pattern = pattern.unwrap_or_default();
    let one_more = i64::from(limit) + 1;
    let values = params![workspace.as_str(), step, position, after, pattern, one_more];
    let mut items = tx.rows(choose(filter), values, TABLE, read_item)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = items.len() > limit;
    items.truncate(limit);
    complete(tx, &mut items)?;
    let last = items.last().filter(|_| has_more);
    let next = last.map(|item| TaskCursor { position: item.task.position, id: item.task.id.clone() });
    Ok(Page { items, next })
}

fn choose(filter: &TaskFilter) -> &'static Statement {
    match (filter.archived, filter.step.is_some()) {
        (false, false) => &OPEN,
        (false, true) => &OPEN_IN_STEP,
        (true, false) => &ARCHIVED,
        (true, true) => &ARCHIVED_IN_STEP,
    }
}

/// The pattern of a text that may stand anywhere in a title, taken literally.
fn containing(text: &str) -> String {
    format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
}

fn read_item(fields: &mut Fields<'_>) -> Result<TaskListItem, StoreError> {
    let task = read(fields)?;
    fields.begin("task_sessions");
    fields.optional::<SessionId>()?;
    let session_state = fields.optional()?;
    fields.begin("task_environments");
    let environment = fields.optional::<EnvironmentId>()?;
    let status = fields.text()?;
    let environment_status = environment.map(|_| EnvironmentStatus::read(&status));
    Ok(TaskListItem {
        task,
        repository_names: Vec::new(),
        session_state,
        environment_status,
        open_job_state: None,
    })
}

/// Adds what the tables with several rows per task hold.
fn complete(tx: &mut Tx<'_>, items: &mut [TaskListItem]) -> Result<(), StoreError> {
    if items.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = items.iter().map(|item| item.task.id.as_str()).collect();
    let ids = serde_json::to_string(&ids).map_err(|error| StoreError::database("list tasks", error))?;
    let names = tx.rows(&REPOSITORY_NAMES, params![&ids], "task_repositories", |fields| {
        fields.text()?;
        Ok((fields.text()?, fields.text()?))
    })?;
    let jobs = tx.rows(&OPEN_JOBS, params![&ids], "task_resource_cleanup_jobs", |fields| {
        fields.text()?;
        Ok((fields.text()?, CleanupState::read(&fields.text()?)))
    })?;
    let mut names_of: HashMap<String, Vec<String>> = HashMap::new();
    for (task, name) in names {
        names_of.entry(task).or_default().push(name);
    }
    let newest_job: HashMap<String, CleanupState> = jobs.into_iter().collect();
    for item in items {
        item.repository_names = names_of.remove(item.task.id.as_str()).unwrap_or_default();
        item.open_job_state = newest_job.get(item.task.id.as_str()).copied();
    }
    Ok(())
}
