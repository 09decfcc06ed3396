//! Closed tasks: bringing them back, looking at their seals, and the trash.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::cleanup::CleanupJob;
use freehold_api::error::ErrorBody;
use freehold_api::task::{FileDiff, TaskDetail};
use freehold_api::trash::{
    ReopenTask, SealedChanges, SealedDiffQuery, TaskFromSeal, TrashQuery, TrashedTask,
};
use freehold_domain::id::{SealId, TaskId, WorkspaceId};
use freehold_engine::environment::reopen::{BranchChoice, Place, Reopening};

use crate::body::{Body, Search};
use crate::problem::{Problem, invalid, problem};
use crate::{Context, wire};

/// Brings an archived or deleted task back, with its conversations and its workspace; answers when the files are
/// there. What took its place or moved its branch is never overwritten (`path_taken`, `branch_moved` and others).
#[utoipa::path(post, path = "/tasks/{id}/reopen", tag = "trash",
    params(("id" = String, Path, description = "the task")), request_body = ReopenTask,
    responses(
        (status = 200, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn reopen_task(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<ReopenTask>,
) -> Result<Json<TaskDetail>, Problem> {
    let id = TaskId::new(id)?;
    let place = match request.place.as_deref().unwrap_or("same") {
        "same" => Place::Same,
        "elsewhere" => Place::Elsewhere,
        other => return Err(invalid("place", format!("{other:?} is neither same nor elsewhere"))),
    };
    let branch = match request.branch.as_deref().unwrap_or("sealed") {
        "sealed" => BranchChoice::Sealed,
        "new" => BranchChoice::New,
        "detached" => BranchChoice::Detached,
        other => return Err(invalid("branch", format!("{other:?} is none of sealed, new and detached"))),
    };
    let reopening = Reopening { place, branch };
    if request.sub_tasks {
        let back = context.engine.reopen_family(id.clone(), reopening).await?;
        let stayed = back.into_iter().filter_map(|part| Some(format!("{}: {}", part.task_id, part.error?)));
        let stayed: Vec<String> = stayed.collect();
        if !stayed.is_empty() {
            let message =
                format!("task {id} is back, but these of its parts stay closed: {}", stayed.join("; "));
            return Err(problem(StatusCode::CONFLICT, "parts_stay_closed", message).about(id.as_str()));
        }
    } else {
        context.engine.reopen_task(id.clone(), reopening).await?;
    }
    super::task::detail(&context, id).await
}

/// Lists the seals of a task, open or closed, the newest first, each with the files that it changes.
#[utoipa::path(get, path = "/tasks/{id}/seals", tag = "trash",
    params(("id" = String, Path, description = "the task")),
    responses(
        (status = 200, body = [SealedChanges]), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn list_seals(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Vec<SealedChanges>>, Problem> {
    let changes = context.engine.sealed_changes(TaskId::new(id)?).await?;
    Ok(Json(changes.into_iter().map(wire::sealed_changes).collect()))
}

/// Reads the difference of one file of a seal from the task's base commit.
#[utoipa::path(get, path = "/seals/{id}/diff", tag = "trash",
    params(("id" = String, Path, description = "the seal"), SealedDiffQuery),
    responses(
        (status = 200, body = FileDiff), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn read_sealed_diff(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(query): Search<SealedDiffQuery>,
) -> Result<Json<FileDiff>, Problem> {
    let diff = context.engine.sealed_file_diff(SealId::new(id)?, query.path).await?;
    Ok(Json(wire::file_diff(diff)))
}

/// Makes a new task of the workspace that a seal is of, with everything that was sealed with it; answers when the files
/// are there. The branch is the sealed one where that is free, else a new one.
#[utoipa::path(post, path = "/seals/{id}/task", tag = "trash",
    params(("id" = String, Path, description = "the seal")), request_body = TaskFromSeal,
    responses(
        (status = 201, body = TaskDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn make_task_from_seal(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<TaskFromSeal>,
) -> Result<(StatusCode, Json<TaskDetail>), Problem> {
    let id = context.engine.task_from_seal(SealId::new(id)?, request.title).await?;
    Ok((StatusCode::CREATED, super::task::detail(&context, id).await?))
}

/// Lists the deleted tasks, the newest first.
#[utoipa::path(get, path = "/trash", tag = "trash", params(TrashQuery),
    responses(
        (status = 200, body = [TrashedTask]), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn list_trash(
    State(context): State<Context>,
    Search(query): Search<TrashQuery>,
) -> Result<Json<Vec<TrashedTask>>, Problem> {
    let workspace_id = query.workspace_id.map(WorkspaceId::new).transpose()?;
    let trash = context.engine.trash(workspace_id).await?;
    Ok(Json(trash.into_iter().map(wire::trashed_task).collect()))
}

/// Reads a deleted task.
#[utoipa::path(get, path = "/trash/{id}", tag = "trash", params(("id" = String, Path, description = "the task")),
    responses((status = 200, body = TrashedTask), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read_trashed(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<TrashedTask>, Problem> {
    Ok(Json(wire::trashed_task(context.engine.trash_entry(TaskId::new(id)?).await?)))
}

/// Takes a deleted task out of the trash for good: its conversations and its seals go.
#[utoipa::path(delete, path = "/trash/{id}", tag = "trash", params(("id" = String, Path, description = "the task")),
    responses(
        (status = 202, body = CleanupJob), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn purge_task(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    let job = context.engine.purge_task(TaskId::new(id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::cleanup_job(job))))
}
