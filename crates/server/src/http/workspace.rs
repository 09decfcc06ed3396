//! The server, its health, its document, and workspaces.

use axum::Json;
use axum::extract::State;
use freehold_api::error::ErrorBody;
use freehold_api::workspace::{Health, ServerInfo, Workspace};

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
