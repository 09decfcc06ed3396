//! Workspaces that change hands or are made anew, and what was closed together.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::cleanup::CleanupJob;
use freehold_api::error::ErrorBody;
use freehold_api::task::{ResetWorkspace, TaskDetail, TaskRef, TransferWorkspace};
use freehold_domain::id::TaskId;
use freehold_engine::cleanup::{BorrowerPolicy, CloseAction, ResetEnvironment, ResetStart};

use crate::body::Body;
use crate::problem::{Problem, invalid};
use crate::{Context, wire};

/// Gives a task a fresh workspace: the one before is sealed and given back, its sessions are stopped and kept.
#[utoipa::path(post, path = "/tasks/{id}/reset", tag = "tasks",
    params(("id" = String, Path, description = "the task")), request_body = ResetWorkspace,
    responses(
        (status = 202, body = CleanupJob), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn reset_workspace(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<ResetWorkspace>,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    let start = match request.start.as_deref().unwrap_or("same_base") {
        "same_base" => ResetStart::SameBase,
        "base_branch" => ResetStart::BaseBranch,
        other => {
            let reason = format!("{other:?} is neither same_base nor base_branch");
            return Err(invalid("start", reason));
        }
    };
    let borrowers = policy(request.borrowers.as_deref())?;
    let request = ResetEnvironment { start, seals: request.seal, borrowers };
    let job = context.engine.reset_environment(TaskId::new(id)?, request).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::cleanup_job(job))))
}

/// Gives a task's workspace to another task of the same workspace that has none of its own.
#[utoipa::path(post, path = "/tasks/{id}/transfer", tag = "tasks",
    params(("id" = String, Path, description = "the task that owns it")), request_body = TransferWorkspace,
    responses(
        (status = 200, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn transfer_workspace(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<TransferWorkspace>,
) -> Result<Json<TaskDetail>, Problem> {
    let to = TaskId::new(request.to)?;
    context.engine.transfer_workspace(TaskId::new(id)?, to.clone()).await?;
    super::task::detail(&context, to).await
}

/// Lists the sub-tasks that were closed by the same request as the task and are closed still.
#[utoipa::path(get, path = "/tasks/{id}/closed-with", tag = "trash",
    params(("id" = String, Path, description = "the task")),
    responses((status = 200, body = [TaskRef]), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn list_closed_with(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Vec<TaskRef>>, Problem> {
    let closed = context.engine.closed_with(TaskId::new(id)?).await?;
    Ok(Json(closed.into_iter().map(wire::task_ref).collect()))
}

/// Reads what becomes of a workspace that others work in.
pub(super) fn policy(word: Option<&str>) -> Result<BorrowerPolicy, Problem> {
    match word.unwrap_or("transfer") {
        "transfer" => Ok(BorrowerPolicy::Transfer),
        "refuse" => Ok(BorrowerPolicy::Refuse),
        other => {
            let reason = format!("{other:?} is neither transfer nor refuse");
            Err(invalid("borrowers", reason))
        }
    }
}

/// Reads how tasks are closed.
pub(super) fn action(field: &'static str, word: &str) -> Result<CloseAction, Problem> {
    match word {
        "archive" => Ok(CloseAction::Archive),
        "delete" => Ok(CloseAction::Delete),
        other => {
            let reason = format!("{other:?} is neither archive nor delete");
            Err(invalid(field, reason))
        }
    }
}
