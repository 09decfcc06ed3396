//! The server, its health, its document, and workspaces.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::cleanup::{CleanupJob, WorkspaceCloseReport};
use freehold_api::error::ErrorBody;
use freehold_api::workspace::{
    DeleteWorkflowOptions, DeleteWorkspaceOptions, DeletedWorkspace, Health, ServerInfo, UpdateStep,
    Workspace,
};
use freehold_domain::id::{StepId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::AutoArchive;
use freehold_engine::workspace::{DeleteWorkflow, DeleteWorkspace};

use crate::body::{Body, Search};
use crate::problem::Problem;
use crate::{Context, wire};

/// Says that the server is up; needs no token.
#[utoipa::path(get, path = "/health", tag = "server", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn read_health() -> Json<Health> {
    Json(Health { status: "ok".into(), version: env!("CARGO_PKG_VERSION").into() })
}

/// Gives this document; needs no token.
#[utoipa::path(get, path = "/openapi.json", tag = "server", security(()),
    responses((status = 200, description = "the OpenAPI document")))]
pub(crate) async fn read_openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(super::openapi())
}

/// Tells about the server.
#[utoipa::path(get, path = "/server", tag = "server",
    responses((status = 200, body = ServerInfo), (status = 401, body = ErrorBody)))]
pub(crate) async fn read_server(State(context): State<Context>) -> Json<ServerInfo> {
    let facts = context.engine.facts();
    Json(ServerInfo {
        version: env!("CARGO_PKG_VERSION").into(),
        database: facts.database.into(),
        home: context.home.display().to_string(),
        workspaces_root: facts.workspaces_root,
        git_version: facts.git_version,
        last_event: facts.last_event,
    })
}

/// Lists the workspaces with their boards.
#[utoipa::path(get, path = "/workspaces", tag = "workspaces",
    responses((status = 200, body = [Workspace]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_workspaces(State(context): State<Context>) -> Result<Json<Vec<Workspace>>, Problem> {
    let workspaces = context.engine.workspaces().await?;
    Ok(Json(workspaces.into_iter().map(wire::workspace).collect()))
}

/// Deletes a workspace whose name was typed: all its tasks are sealed and come into the trash, each through a job of
/// its own. The workspace goes for good with the last of them.
#[utoipa::path(delete, path = "/workspaces/{id}", tag = "workspaces",
    params(("id" = String, Path, description = "the workspace"), DeleteWorkspaceOptions),
    responses(
        (status = 202, body = [CleanupJob]), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn delete_workspace(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(options): Search<DeleteWorkspaceOptions>,
) -> Result<(StatusCode, Json<Vec<CleanupJob>>), Problem> {
    let request = DeleteWorkspace { confirm: options.confirm, seals: options.seal.unwrap_or(false) };
    let jobs = context.engine.delete_workspace(WorkspaceId::new(id)?, request).await?;
    Ok((StatusCode::ACCEPTED, Json(jobs.into_iter().map(wire::cleanup_job).collect())))
}

/// Tells what deleting a workspace would give back and what is at stake; changes nothing.
#[utoipa::path(get, path = "/workspaces/{id}/close-report", tag = "workspaces",
    params(("id" = String, Path, description = "the workspace")),
    responses(
        (status = 200, body = WorkspaceCloseReport), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn read_workspace_close_report(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<WorkspaceCloseReport>, Problem> {
    let report = context.engine.workspace_report(WorkspaceId::new(id)?).await?;
    Ok(Json(wire::workspace_close_report(report)))
}

/// Lists the deleted workspaces whose tasks are in the trash.
#[utoipa::path(get, path = "/trash/workspaces", tag = "trash",
    responses((status = 200, body = [DeletedWorkspace]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_deleted_workspaces(
    State(context): State<Context>,
) -> Result<Json<Vec<DeletedWorkspace>>, Problem> {
    let deleted = context.engine.deleted_workspaces().await?;
    let deleted = deleted.into_iter().map(|it| DeletedWorkspace { id: it.id.into(), name: it.name });
    Ok(Json(deleted.collect()))
}

/// Deletes a board. Its tasks move to another board of the workspace; the open ones are closed when asked for.
#[utoipa::path(delete, path = "/workflows/{id}", tag = "workspaces",
    params(("id" = String, Path, description = "the board"), DeleteWorkflowOptions),
    responses(
        (status = 202, body = [CleanupJob]), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn delete_workflow(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(options): Search<DeleteWorkflowOptions>,
) -> Result<(StatusCode, Json<Vec<CleanupJob>>), Problem> {
    let request = DeleteWorkflow {
        to: options.to.map(WorkflowId::new).transpose()?,
        close: options.close.map(|word| super::lending::action("close", &word)).transpose()?,
        seals: options.seal.unwrap_or(false),
    };
    let jobs = context.engine.delete_workflow(WorkflowId::new(id)?, request).await?;
    Ok((StatusCode::ACCEPTED, Json(jobs.into_iter().map(wire::cleanup_job).collect())))
}

/// Sets when tasks that stand in a column are archived by themselves; answers with the workspaces as they are then.
#[utoipa::path(patch, path = "/steps/{id}", tag = "workspaces",
    params(("id" = String, Path, description = "the column")), request_body = UpdateStep,
    responses(
        (status = 200, body = [Workspace]), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn update_step(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<UpdateStep>,
) -> Result<Json<Vec<Workspace>>, Problem> {
    let seals = request.auto_archive_seals;
    let rule = request.auto_archive_after_ms.map(|after_ms| AutoArchive { after_ms, seals });
    context.engine.set_auto_archive(StepId::new(id)?, rule).await?;
    list_workspaces(State(context)).await
}
