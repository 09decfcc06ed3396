//! Repositories and their branches.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::error::ErrorBody;
use freehold_api::repository::{AddRepository, Branch, Repository, RepositoryAdded};
use freehold_domain::id::{RepositoryId, WorkspaceId};

use crate::body::Body;
use crate::problem::Problem;
use crate::{Context, wire};

/// Lists the registered repositories.
#[utoipa::path(get, path = "/repositories", tag = "repositories",
    responses((status = 200, body = [Repository]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_repositories(
    State(context): State<Context>,
) -> Result<Json<Vec<Repository>>, Problem> {
    let repositories = context.engine.repositories().await?;
    Ok(Json(repositories.into_iter().map(wire::repository).collect()))
}

/// Registers a repository by its path.
#[utoipa::path(post, path = "/repositories", tag = "repositories", request_body = AddRepository,
    responses(
        (status = 201, body = RepositoryAdded),
        (status = 200, body = RepositoryAdded, description = "it was registered before"),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    ))]
pub(crate) async fn add_repository(
    State(context): State<Context>,
    Body(request): Body<AddRepository>,
) -> Result<(StatusCode, Json<RepositoryAdded>), Problem> {
    let added = context
        .engine
        .add_repository(freehold_engine::repository::AddRepository {
            path: request.path.into(),
            name: request.name,
            workspace_id: request.workspace_id.map(WorkspaceId::new).transpose()?,
        })
        .await?;
    let status = if added.already_registered { StatusCode::OK } else { StatusCode::CREATED };
    let added = RepositoryAdded {
        repository: wire::repository(added.repository),
        note: added.note,
        already_registered: added.already_registered,
    };
    Ok((status, Json(added)))
}

/// Lists the branches that a task can start from, the default branch first.
#[utoipa::path(get, path = "/repositories/{id}/branches", tag = "repositories",
    params(("id" = String, Path, description = "the repository")),
    responses((status = 200, body = [Branch]), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn list_branches(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Vec<Branch>>, Problem> {
    let (repository, branches) = context.engine.branches(RepositoryId::new(id)?).await?;
    let branches = branches.into_iter().map(|branch| wire::branch(&repository.default_branch, branch));
    Ok(Json(branches.collect()))
}
