//! Cleanup jobs and decisions about them.

use axum::Json;
use axum::extract::{Path, State};
use freehold_api::cleanup::{CleanupDecision, CleanupJob, CleanupQuery};
use freehold_api::error::ErrorBody;
use freehold_domain::cleanup::CleanupState;
use freehold_domain::id::{CleanupJobId, TaskId};
use freehold_engine::cleanup::Decision;

use crate::body::{Body, Search};
use crate::problem::{Problem, invalid};
use crate::{Context, wire};

/// Lists cleanup jobs, newest first.
#[utoipa::path(get, path = "/cleanup-jobs", tag = "cleanup", params(CleanupQuery),
    responses((status = 200, body = [CleanupJob]), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_jobs(
    State(context): State<Context>,
    Search(query): Search<CleanupQuery>,
) -> Result<Json<Vec<CleanupJob>>, Problem> {
    let task_id = query.task_id.map(TaskId::new).transpose()?;
    let state = query.state.map(|word| word.parse::<CleanupState>()).transpose();
    let state = state.map_err(|error| invalid("state", error.to_string()))?;
    let jobs = context.engine.cleanup_jobs(task_id, state).await?;
    Ok(Json(jobs.into_iter().map(wire::cleanup_job).collect()))
}

/// Reads a cleanup job.
#[utoipa::path(get, path = "/cleanup-jobs/{id}", tag = "cleanup",
    params(("id" = String, Path, description = "the job")),
    responses((status = 200, body = CleanupJob), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read_job(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<CleanupJob>, Problem> {
    Ok(Json(wire::cleanup_job(context.engine.cleanup_job(CleanupJobId::new(id)?).await?)))
}

/// Carries out a person's decision about a job that waits for one.
#[utoipa::path(post, path = "/cleanup-jobs/{id}/decision", tag = "cleanup",
    params(("id" = String, Path, description = "the job")), request_body = CleanupDecision,
    responses(
        (status = 200, body = CleanupJob), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn decide_job(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<CleanupDecision>,
) -> Result<Json<CleanupJob>, Problem> {
    let decision = match request.decision.as_str() {
        "retry" => Decision::Retry,
        "keep" => Decision::Keep,
        "discard" => Decision::Discard { phrase: request.phrase.unwrap_or_default() },
        other => {
            let reason = format!("{other:?} is none of retry, keep and discard");
            return Err(invalid("decision", reason));
        }
    };
    let job = context.engine.decide(CleanupJobId::new(id)?, decision).await?;
    Ok(Json(wire::cleanup_job(job)))
}
