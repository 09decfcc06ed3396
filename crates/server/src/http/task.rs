//! Tasks: making, changing, reviewing and closing them.

use std::path::PathBuf;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::cleanup::{CleanupJob, CloseOptions, CloseQuery, CloseReport};
use freehold_api::error::ErrorBody;
use freehold_api::task::{
    DiffQuery, FileDiff, NewTask, RepositoryChanges, TaskDetail, TaskPage, TaskQuery, UpdateTask,
};
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{AgentProfileId, InvalidId, RepositoryId, StepId, TaskId, WorkspaceId};
use freehold_engine::EngineError;
use freehold_engine::cleanup::{CloseAction, CloseTask, Reach};
use freehold_engine::task::{NewTaskRepository, TaskListQuery, TaskUpdate};

use crate::body::{Body, Search};
use crate::problem::Problem;
use crate::{Context, wire};

/// How many tasks a page has unless asked otherwise.
const PAGE: u32 = 100;

/// Lists tasks in board order.
#[utoipa::path(get, path = "/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = TaskPage), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_tasks(
    State(context): State<Context>,
    Search(query): Search<TaskQuery>,
) -> Result<Json<TaskPage>, Problem> {
    let query = TaskListQuery {
        workspace_id: query.workspace_id.map(WorkspaceId::new).transpose()?,
        step_id: query.step_id.map(StepId::new).transpose()?,
        archived: query.archived.unwrap_or(false),
        query: query.query,
        cursor: query.cursor,
        limit: query.limit.unwrap_or(PAGE),
    };
    let list = context.engine.tasks(query).await?;
    let items = list.items.into_iter().map(wire::task_card).collect();
    Ok(Json(TaskPage { items, next_cursor: list.next_cursor }))
}

/// Stores a task; its workspace is made in the background when `start` is set.
#[utoipa::path(post, path = "/tasks", tag = "tasks", request_body = NewTask,
    responses(
        (status = 201, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn create_task(
    State(context): State<Context>,
    Body(request): Body<NewTask>,
) -> Result<(StatusCode, Json<TaskDetail>), Problem> {
    let kind = match request.workspace_kind {
        None => WorkspaceKind::default(),
        Some(word) => word.parse().map_err(|_| EngineError::InvalidField {
            field: "workspace_kind",
            reason: format!("{word:?} is none of worktree, in_place, adopted and scratch"),
        })?,
    };
    let repositories = request.repositories.into_iter().map(repository_of).collect::<Result<_, _>>()?;
    let task = freehold_engine::task::NewTask {
        title: request.title,
        prompt: request.prompt,
        kind,
        repositories,
        agent_profile_id: request.agent_profile_id.map(AgentProfileId::new).transpose()?,
        step_id: request.step_id.map(StepId::new).transpose()?,
        workspace_id: request.workspace_id.map(WorkspaceId::new).transpose()?,
        parent_id: request.parent_id.map(TaskId::new).transpose()?,
        borrow_from: request.borrow_from.map(TaskId::new).transpose()?,
        automation: request.automation,
        expires_in_ms: request.expires_in_ms,
        start: request.start,
    };
    let id = context.engine.create_task(task).await?;
    Ok((StatusCode::CREATED, detail(&context, id).await?))
}

/// Reads everything about a task but its conversations.
#[utoipa::path(get, path = "/tasks/{id}", tag = "tasks", params(("id" = String, Path, description = "the task")),
    responses((status = 200, body = TaskDetail), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read_task(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<TaskDetail>, Problem> {
    detail(&context, TaskId::new(id)?).await
}

/// Changes a task's title or place.
#[utoipa::path(patch, path = "/tasks/{id}", tag = "tasks", params(("id" = String, Path, description = "the task")),
    request_body = UpdateTask,
    responses(
        (status = 200, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn update_task(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<UpdateTask>,
) -> Result<Json<TaskDetail>, Problem> {
    let id = TaskId::new(id)?;
    let after_task_id = match request.after_task_id.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(after) => Some(Some(TaskId::new(after)?)),
    };
    let step_id = request.step_id.map(StepId::new).transpose()?;
    let update = TaskUpdate { title: request.title, step_id, after_task_id };
    context.engine.update_task(id.clone(), update).await?;
    detail(&context, id).await
}

/// Makes the task's workspace, if there is none, and opens its first session.
#[utoipa::path(post, path = "/tasks/{id}/start", tag = "tasks",
    params(("id" = String, Path, description = "the task")),
    responses(
        (status = 202, body = TaskDetail), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn start_task(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<TaskDetail>), Problem> {
    let id = TaskId::new(id)?;
    context.engine.start_task(id.clone()).await?;
    Ok((StatusCode::ACCEPTED, detail(&context, id).await?))
}

/// Runs the set-up scripts of the task's repositories again, in the background.
#[utoipa::path(post, path = "/tasks/{id}/setup", tag = "tasks",
    params(("id" = String, Path, description = "the task")),
    responses(
        (status = 202, body = TaskDetail), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn repeat_setup(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<TaskDetail>), Problem> {
    let id = TaskId::new(id)?;
    context.engine.repeat_setup(id.clone()).await?;
    Ok((StatusCode::ACCEPTED, detail(&context, id).await?))
}

/// Archives a task: its workspace is sealed and given back. Without consent to a seal, a task with work that exists
/// nowhere else is refused (`at_stake`) with what it is, and nothing is changed.
#[utoipa::path(post, path = "/tasks/{id}/archive", tag = "tasks",
    params(("id" = String, Path, description = "the task"), CloseOptions),
    responses(
        (status = 202, body = CleanupJob), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn archive_task(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(options): Search<CloseOptions>,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    close(&context, id, CloseAction::Archive, &options).await
}

/// Deletes a task: its workspace is sealed and given back, then the task is in the trash. Without consent to a
/// seal, a task with work that exists nowhere else is refused (`at_stake`) with what it is.
#[utoipa::path(delete, path = "/tasks/{id}", tag = "tasks",
    params(("id" = String, Path, description = "the task"), CloseOptions),
    responses(
        (status = 202, body = CleanupJob), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn delete_task(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(options): Search<CloseOptions>,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    close(&context, id, CloseAction::Delete, &options).await
}

/// Tells what closing a task would give back and what is at stake; changes nothing.
#[utoipa::path(get, path = "/tasks/{id}/close-report", tag = "tasks",
    params(("id" = String, Path, description = "the task"), CloseQuery),
    responses(
        (status = 200, body = CloseReport), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn read_close_report(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(query): Search<CloseQuery>,
) -> Result<Json<CloseReport>, Problem> {
    let action = super::lending::action("action", &query.action)?;
    let report = context.engine.close_report(TaskId::new(id)?, action).await?;
    Ok(Json(wire::close_report(report)))
}

/// Lists the files that differ from the task's base commit, per repository.
#[utoipa::path(get, path = "/tasks/{id}/changes", tag = "review",
    params(("id" = String, Path, description = "the task")),
    responses(
        (status = 200, body = [RepositoryChanges]), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn list_changes(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Vec<RepositoryChanges>>, Problem> {
    let changes = context.engine.changes(TaskId::new(id)?).await?;
    Ok(Json(changes.into_iter().map(wire::changes).collect()))
}

/// Reads one file's difference from the task's base commit.
#[utoipa::path(get, path = "/tasks/{id}/diff", tag = "review",
    params(("id" = String, Path, description = "the task"), DiffQuery),
    responses(
        (status = 200, body = FileDiff), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn read_diff(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(query): Search<DiffQuery>,
) -> Result<Json<FileDiff>, Problem> {
    let repository = RepositoryId::new(query.repository_id)?;
    let diff = context.engine.file_diff(TaskId::new(id)?, repository, query.path).await?;
    Ok(Json(wire::file_diff(diff)))
}

fn repository_of(asked: freehold_api::task::NewTaskRepository) -> Result<NewTaskRepository, InvalidId> {
    Ok(NewTaskRepository {
        repository_id: RepositoryId::new(asked.repository_id)?,
        base_branch: asked.base_branch,
        new_branch: asked.new_branch,
        checkout_branch: asked.checkout_branch,
        fetch_ref: asked.fetch_ref,
        remote: asked.remote,
        refresh: asked.refresh,
        adopt_path: asked.adopt_path.map(PathBuf::from),
    })
}

pub(super) async fn detail(context: &Context, id: TaskId) -> Result<Json<TaskDetail>, Problem> {
    Ok(Json(wire::task_detail(context.engine.task(id).await?)))
}

async fn close(
    context: &Context,
    id: String,
    action: CloseAction,
    options: &CloseOptions,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    let request = CloseTask { action, seals: options.seal.unwrap_or(false) };
    let reach = Reach {
        sub_tasks: options.sub_tasks.unwrap_or(false),
        borrowers: super::lending::policy(options.borrowers.as_deref())?,
    };
    let mut jobs = context.engine.close_tasks(TaskId::new(id)?, request, reach).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::cleanup_job(jobs.swap_remove(0)))))
}
