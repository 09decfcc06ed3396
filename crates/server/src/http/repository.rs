//! Repositories and their branches.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::error::ErrorBody;
use freehold_api::preparation::{RepositoryDetail, TrustScript, UpdateRepository};
use freehold_api::repository::{AddRepository, Branch, Repository, RepositoryAdded};
use freehold_domain::id::{RepositoryId, WorkspaceId};
use freehold_domain::preparation::Submodules;
use freehold_engine::EngineError;
use freehold_engine::repository_settings::SettingsUpdate;

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

/// Reads a repository with what is set for its workspaces.
#[utoipa::path(get, path = "/repositories/{id}", tag = "repositories",
    params(("id" = String, Path, description = "the repository")),
    responses((status = 200, body = RepositoryDetail), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read_repository(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<RepositoryDetail>, Problem> {
    detail(&context, RepositoryId::new(id)?).await
}

/// Changes what is set for the workspaces of a repository; those that exist stay as they are.
#[utoipa::path(patch, path = "/repositories/{id}", tag = "repositories", request_body = UpdateRepository,
    params(("id" = String, Path, description = "the repository")),
    responses(
        (status = 200, body = RepositoryDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn update_repository(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<UpdateRepository>,
) -> Result<Json<RepositoryDetail>, Problem> {
    let id = RepositoryId::new(id)?;
    let submodules = request.submodules.map(|word| {
        word.parse::<Submodules>().map_err(|_| EngineError::InvalidField {
            field: "submodules",
            reason: format!("{word:?} is neither on nor off"),
        })
    });
    let update = SettingsUpdate {
        copy: request.copy,
        links: request.links,
        setup: request.setup_script,
        teardown: request.teardown_script,
        submodules: submodules.transpose()?,
    };
    context.engine.update_repository_settings(id.clone(), update).await?;
    detail(&context, id).await
}

/// Trusts a script that a repository names itself, by its content.
#[utoipa::path(post, path = "/repositories/{id}/trust", tag = "repositories", request_body = TrustScript,
    params(("id" = String, Path, description = "the repository")),
    responses(
        (status = 200, body = RepositoryDetail), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn trust_script(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<TrustScript>,
) -> Result<Json<RepositoryDetail>, Problem> {
    let id = RepositoryId::new(id)?;
    context.engine.trust_script(id.clone(), request.sha256).await?;
    detail(&context, id).await
}

async fn detail(context: &Context, id: RepositoryId) -> Result<Json<RepositoryDetail>, Problem> {
    Ok(Json(wire::preparation::repository_detail(context.engine.repository(id).await?)))
}
