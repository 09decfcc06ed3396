//! Tasks: stored before anything is made for them, listed, changed and started.

pub mod family;
mod start;

use freehold_domain::agent::DEMO_AGENT;
use freehold_domain::cleanup::CleanupJob;
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::event::EventBody;
use freehold_domain::id::{AgentProfileId, StepId, TaskId, TaskRepositoryId, WorkspaceId};
use freehold_domain::repository::TaskRepository;
use freehold_domain::task::{MAX_AUTOMATION_CHARS, MAX_PROMPT_BYTES, Task, TaskState, TaskTitle};
use freehold_domain::workflow::Step;
use freehold_store as store;
use freehold_store::task::{TaskCursor, TaskFilter};
use freehold_store::{StoreError, Tx};

use crate::environment::EnvironmentView;
use crate::session::SessionView;
use crate::{Engine, EngineError};

pub use start::NewTaskRepository;
pub(crate) use start::require_no_visitor;

/// A task as a board or list shows it.
pub use freehold_store::task::TaskListItem as TaskSummary;

/// Asks for a new task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    /// The title; by default the first line of the prompt.
    pub title: Option<String>,
    /// What the agent is asked to do.
    pub prompt: String,
    /// Where the task works.
    pub kind: WorkspaceKind,
    /// The repositories to work on: at least one for worktrees, exactly one for a checkout of a person, none for a
    /// scratch folder. By default those of the task it borrows from or is a part of.
    pub repositories: Vec<NewTaskRepository>,
    /// The agent; by default the built-in demo agent.
    pub agent_profile_id: Option<AgentProfileId>,
    /// The column; by default the board's start.
    pub step_id: Option<StepId>,
    /// The workspace; by default the first.
    pub workspace_id: Option<WorkspaceId>,
    /// The task that it is a part of.
    pub parent_id: Option<TaskId>,
    /// The task in whose workspace it works; by default it gets one of its own.
    pub borrow_from: Option<TaskId>,
    /// The name of the automation that it is a run of; of each automation the newest runs on a board keep their
    /// workspaces.
    pub automation: Option<String>,
    /// Makes it a quick chat, which goes to the trash after so many milliseconds.
    pub expires_in_ms: Option<i64>,
    /// Whether to make the workspace and start a session at once.
    pub start: bool,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskListQuery {
    /// The workspace; by default the first.
    pub workspace_id: Option<WorkspaceId>,
    /// Only tasks in this column.
    pub step_id: Option<StepId>,
    /// Archived tasks instead of open ones.
    pub archived: bool,
    /// Only tasks whose title holds these words.
    pub query: Option<String>,
    /// Where the page begins, from the page before.
    pub cursor: Option<String>,
    /// How many, 1 to 200.
    pub limit: u32,
}

/// A page of tasks in board order.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskList {
    /// The tasks.
    pub items: Vec<TaskSummary>,
    /// Where the next page begins; none on the last.
    pub next_cursor: Option<String>,
}

/// Everything about one task but its conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The task as a board shows it.
    pub summary: TaskSummary,
    /// What the person asked for; a summary leaves it out.
    pub prompt: String,
    /// Its environment, when it was made.
    pub environment: Option<EnvironmentView>,
    /// Its sessions, oldest first.
    pub sessions: Vec<SessionView>,
    /// Its cleanup jobs, newest first.
    pub cleanup_jobs: Vec<CleanupJob>,
    /// Its open sub-tasks, and theirs.
    pub sub_tasks: Vec<crate::cleanup::TaskRef>,
}

/// Changes a task; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUpdate {
    /// A new title.
    pub title: Option<String>,
    /// A new column.
    pub step_id: Option<StepId>,
    /// The task after which it stands; `Some(None)` puts it first, none puts it last in a new column.
    pub after_task_id: Option<Option<TaskId>>,
}

impl Engine {
    /// Lists tasks in board order.
    pub async fn tasks(&self, query: TaskListQuery) -> Result<TaskList, EngineError> {
        if !(1..=200).contains(&query.limit) {
            let reason = format!("{} is not between 1 and 200", query.limit);
            return Err(EngineError::InvalidField { field: "limit", reason });
        }
        let cursor = query.cursor.as_deref().map(parse_cursor).transpose()?;
        let filter = TaskFilter { step: query.step_id, archived: query.archived, query: query.query };
        let (workspace_id, limit) = (query.workspace_id, query.limit);
        let read = self.inner.store.read(move |tx| {
            let workspace = crate::workspace::require_or_first(tx, workspace_id.as_ref())?;
            Ok::<_, EngineError>(store::task::list_page(tx, &workspace.id, &filter, cursor.as_ref(), limit)?)
        });
        let page = read.await?;
        Ok(TaskList { items: page.items, next_cursor: page.next.as_ref().map(format_cursor) })
    }

    /// Reads everything about one task but its conversations.
    pub async fn task(&self, id: TaskId) -> Result<TaskView, EngineError> {
        let now = self.now();
        let read = self.inner.store.read(move |tx| {
            let found = store::task::find_item(tx, &id)?.filter(|item| item.task.trashed_at.is_none());
            let summary = found.ok_or_else(|| StoreError::NotFound { noun: "task", id: id.to_string() })?;
            let prompt = store::task::require(tx, &id)?.prompt;
            let environment = crate::environment::read_view(tx, &id)?;
            let sessions = crate::session::read_views(tx, &id)?;
            let mut cleanup_jobs = store::cleanup::list(tx, Some(&id), None)?;
            crate::cleanup::waiting::say_who_is_waited_for(tx, &mut cleanup_jobs, now)?;
            let sub_tasks = family::open_sub_tasks(tx, &id)?;
            Ok::<_, EngineError>(TaskView { summary, prompt, environment, sessions, cleanup_jobs, sub_tasks })
        });
        read.await
    }

    /// Stores a task, prompt and all, and begins to make its workspace when that was asked for.
    pub async fn create_task(&self, mut request: NewTask) -> Result<TaskId, EngineError> {
        let title = title_of(&request)?;
        check_prompt_length(&request.prompt)?;
        family::check_expiry(request.expires_in_ms)?;
        request.automation = check_automation(request.automation)?;
        self.take_from_family(&mut request).await?;
        let checked = self.check_repositories(&request).await?;
        let now = self.now();
        let task_id = TaskId::generate(self.ids());
        let task_repositories: Vec<TaskRepository> = checked
            .iter()
            .zip(0..)
            .map(|(checked, position)| TaskRepository {
                id: TaskRepositoryId::generate(self.ids()),
                task_id: task_id.clone(),
                repository_id: checked.repository.id.clone(),
                base_branch: checked.base_branch.clone(),
                start: checked.start.clone(),
                position,
                created_at: now,
            })
            .collect();
        let id = task_id.clone();
        let (start, node) = (request.start, self.inner.options.node_id.clone());
        let write = self.inner.store.write(move |tx| {
            let place = place_of(tx, &request)?;
            // A workspace that is being deleted takes no new task.
            store::workspace::lock(tx, &place.workspace_id)?.ok_or_else(|| EngineError::NotFound {
                noun: "workspace",
                id: place.workspace_id.to_string(),
            })?;
            for wanted in &checked {
                require_no_visitor(tx, &wanted.repository, &wanted.start, &id)?;
            }
            let borrowed_environment_id = family::join(tx, &request, &place.workspace_id)?;
            let agent_profile_id = match request.agent_profile_id {
                Some(id) => crate::agent::require_profile(tx, &id)?.id,
                None => AgentProfileId::new(DEMO_AGENT)?,
            };
            let task = Task {
                id,
                parent_id: request.parent_id,
                borrowed_environment_id,
                workspace_id: place.workspace_id,
                workflow_id: place.workflow_id,
                position: store::task::next_position(tx, &place.step_id)?,
                step_id: place.step_id,
                title: title.into(),
                prompt: request.prompt,
                state: if start { TaskState::Scheduling } else { TaskState::Todo },
                error_message: String::new(),
                agent_profile_id: Some(agent_profile_id),
                start_requested: start,
                is_quick: request.expires_in_ms.is_some(),
                automation: request.automation.unwrap_or_default(),
                expires_at: request.expires_in_ms.map(|after| now.plus_millis(after)),
                archived_at: None,
                deleted_at: None,
                trashed_at: None,
                created_at: now,
                updated_at: now,
            };
            store::task::insert(tx, &task, &task_repositories)?;
            store::task::set_start_node(tx, &task.id, &node)?;
            tx.emit(EventBody::TaskChanged { task_id: task.id }, now);
            Ok::<_, EngineError>(())
        });
        write.await?;
        crate::failpoint!("engine.task.stored");
        if start {
            self.launch(task_id.clone());
        }
        Ok(task_id)
    }

    /// Changes a task's title or place.
    pub async fn update_task(&self, id: TaskId, update: TaskUpdate) -> Result<(), EngineError> {
        let title = update.title.as_deref().map(TaskTitle::parse).transpose()?;
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let task = store::task::lock(tx, &id)?;
            if task.trashed_at.is_some() {
                return Err(EngineError::TaskClosed { task_id: id });
            }
            if let Some(title) = title {
                store::task::rename(tx, &id, title.as_str(), now)?;
            }
            if update.step_id.is_some() || update.after_task_id.is_some() {
                let step = require_step(tx, update.step_id.as_ref().unwrap_or(&task.step_id))?;
                if step.workflow_id != task.workflow_id {
                    let reason = format!("column {} belongs to another board", step.id);
                    return Err(EngineError::InvalidField { field: "step_id", reason });
                }
                let position = match &update.after_task_id {
                    Some(after) => store::task::make_room(tx, &step.id, after.as_ref())?,
                    None => store::task::next_position(tx, &step.id)?,
                };
                store::task::move_to(tx, &id, &step.id, position, now)?;
            }
            tx.emit(EventBody::TaskChanged { task_id: id }, now);
            Ok(())
        });
        write.await
    }

    /// Asks for the task's workspace and first session; does nothing twice.
    pub async fn start_task(&self, id: TaskId) -> Result<(), EngineError> {
        let now = self.now();
        let (task_id, node) = (id.clone(), self.inner.options.node_id.clone());
        let write = self.inner.store.write(move |tx| {
            let task = store::task::lock(tx, &id)?;
            crate::session::require_open(tx, &task)?;
            crate::cleanup::waiting::require_here(tx, &node, &id)?;
            store::task::set_start_node(tx, &id, &node)?;
            store::task::set_start_requested(tx, &id, true, now)?;
            store::task::update_state(tx, &id, TaskState::Scheduling, "", now)?;
            tx.emit(EventBody::TaskChanged { task_id: id }, now);
            Ok::<_, EngineError>(())
        });
        write.await?;
        self.launch(task_id);
        Ok(())
    }
}

pub(crate) struct Place {
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) workflow_id: freehold_domain::id::WorkflowId,
    pub(crate) step_id: StepId,
}

pub(crate) fn place_of(tx: &mut Tx<'_>, request: &NewTask) -> Result<Place, EngineError> {
    let workspace = crate::workspace::require_or_first(tx, request.workspace_id.as_ref())?;
    let workflows = store::workflow::list_workflows(tx, &workspace.id)?;
    let step = match &request.step_id {
        Some(id) => require_step(tx, id)?,
        None => {
            let first = store::workflow::first_usable(tx, &workspace.id)?;
            let first = first.ok_or_else(|| EngineError::NotFound {
                noun: "board in workspace",
                id: workspace.id.to_string(),
            })?;
            let start = store::workflow::start_step(tx, &first.id)?;
            start
                .ok_or_else(|| EngineError::NotFound { noun: "column on board", id: first.id.to_string() })?
        }
    };
    if workflows.iter().all(|workflow| workflow.id != step.workflow_id) {
        let reason = format!("column {} belongs to another workspace", step.id);
        return Err(EngineError::InvalidField { field: "step_id", reason });
    }
    Ok(Place { workspace_id: workspace.id, workflow_id: step.workflow_id, step_id: step.id })
}

fn require_step(tx: &mut Tx<'_>, id: &StepId) -> Result<Step, EngineError> {
    let step = store::workflow::find_step(tx, id)?;
    step.ok_or_else(|| EngineError::NotFound { noun: "column", id: id.to_string() })
}

fn title_of(request: &NewTask) -> Result<TaskTitle, EngineError> {
    match &request.title {
        Some(title) => Ok(TaskTitle::parse(title)?),
        None => Ok(TaskTitle::from_prompt(&request.prompt)?),
    }
}

pub(crate) fn check_prompt_length(prompt: &str) -> Result<(), EngineError> {
    if prompt.len() > MAX_PROMPT_BYTES {
        return Err(EngineError::PromptTooLong { bytes: prompt.len() });
    }
    if prompt.contains('\0') {
        return Err(EngineError::InvalidField { field: "prompt", reason: "it holds a NUL character".into() });
    }
    Ok(())
}

/// A cursor is the last item's position and id, joined by a colon.
fn format_cursor(cursor: &TaskCursor) -> String {
    format!("{}:{}", cursor.position, cursor.id)
}

fn parse_cursor(text: &str) -> Result<TaskCursor, EngineError> {
    let parsed = text.split_once(':').and_then(|(position, id)| {
        Some(TaskCursor { position: position.parse().ok()?, id: TaskId::new(id).ok()? })
    });
    parsed.ok_or_else(|| EngineError::InvalidField {
        field: "cursor",
        reason: format!("{text:?} does not come from a page before"),
    })
}

/// A name of an automation: one line, trimmed; an empty one names none.
fn check_automation(name: Option<String>) -> Result<Option<String>, EngineError> {
    let refused = |reason: String| EngineError::InvalidField { field: "automation", reason };
    let Some(name) = name else { return Ok(None) };
    let name = name.trim().to_owned();
    if name.is_empty() {
        return Err(refused("the name of an automation is empty".into()));
    }
    if name.chars().count() > MAX_AUTOMATION_CHARS {
        return Err(refused(format!("the name is longer than {MAX_AUTOMATION_CHARS} characters")));
    }
    if name.chars().any(char::is_control) {
        return Err(refused("the name holds a control character; write it on one line".into()));
    }
    Ok(Some(name))
}
