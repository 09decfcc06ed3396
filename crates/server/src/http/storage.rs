//! What takes room, what nobody owns, and the quarantine.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::cleanup::CleanupJob;
use freehold_api::error::ErrorBody;
use freehold_api::storage::{QuarantineEntry, QuarantinePlace, RestoreQuarantined, Storage, UnownedPlace};
use freehold_domain::id::QuarantineId;
use freehold_engine::storage::quarantine::QuarantineRequest;

use crate::body::Body;
use crate::problem::Problem;
use crate::wire::storage as wire;
use crate::{Context, wire as nouns};

/// Tells what takes room, by its owner. Sizes are remembered from the last measurement; asking measures nothing.
#[utoipa::path(get, path = "/storage", tag = "storage",
    responses((status = 200, body = Storage), (status = 401, body = ErrorBody)))]
pub(crate) async fn read_storage(State(context): State<Context>) -> Result<Json<Storage>, Problem> {
    Ok(Json(wire::storage(context.engine.storage().await?)))
}

/// Asks for everything to be measured anew, in the background; answers with what is remembered.
#[utoipa::path(post, path = "/storage/measure", tag = "storage",
    responses((status = 202, body = Storage), (status = 401, body = ErrorBody)))]
pub(crate) async fn measure_storage(
    State(context): State<Context>,
) -> Result<(StatusCode, Json<Storage>), Problem> {
    let report = context.engine.storage().await?;
    context.engine.ask_to_measure();
    Ok((StatusCode::ACCEPTED, Json(Storage { is_measuring: true, ..wire::storage(report) })))
}

/// Lists what nobody owns on this server's disk, by path. Nothing of it is removed by itself.
#[utoipa::path(get, path = "/storage/unowned", tag = "storage",
    responses((status = 200, body = [UnownedPlace]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_unowned(State(context): State<Context>) -> Result<Json<Vec<UnownedPlace>>, Problem> {
    let places = context.engine.unowned_places().await?;
    Ok(Json(places.into_iter().map(wire::unowned_place).collect()))
}

/// Lists what is in quarantine on all servers, the newest first.
#[utoipa::path(get, path = "/storage/quarantine", tag = "storage",
    responses((status = 200, body = [QuarantineEntry]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_quarantine(
    State(context): State<Context>,
) -> Result<Json<Vec<QuarantineEntry>>, Problem> {
    let entries = context.engine.quarantine_entries().await?;
    Ok(Json(entries.into_iter().map(wire::quarantine_entry).collect()))
}

/// Puts something without an owner into quarantine: it is looked at and sealed like every workspace that is given
/// back, and moved by a cleanup job. Refused (`owner_unknown`) where another Freehold may be working there, until a
/// person typed its name.
#[utoipa::path(post, path = "/storage/quarantine", tag = "storage", request_body = QuarantinePlace,
    responses(
        (status = 202, body = QuarantineEntry), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn quarantine_place(
    State(context): State<Context>,
    Body(request): Body<QuarantinePlace>,
) -> Result<(StatusCode, Json<QuarantineEntry>), Problem> {
    let QuarantinePlace { path, confirm, requested_by } = request;
    let requested_by = requested_by.unwrap_or_default();
    let view = context.engine.quarantine(QuarantineRequest { path, confirm, requested_by }).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::quarantine_entry(view))))
}

/// Reads an entry of the quarantine, also of what was restored.
#[utoipa::path(get, path = "/storage/quarantine/{id}", tag = "storage",
    params(("id" = String, Path, description = "the entry")),
    responses(
        (status = 200, body = QuarantineEntry), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn read_quarantined(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<QuarantineEntry>, Problem> {
    let view = context.engine.quarantine_entry(QuarantineId::new(id)?).await?;
    Ok(Json(wire::quarantine_entry(view)))
}

/// Takes something back from the quarantine, to where it was or to another place. Nothing is overwritten
/// (`path_taken`).
#[utoipa::path(post, path = "/storage/quarantine/{id}/restore", tag = "storage",
    params(("id" = String, Path, description = "the entry")), request_body = RestoreQuarantined,
    responses(
        (status = 200, body = QuarantineEntry), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn restore_quarantined(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<RestoreQuarantined>,
) -> Result<Json<QuarantineEntry>, Problem> {
    let view = context.engine.restore_quarantined(QuarantineId::new(id)?, request.path).await?;
    Ok(Json(wire::quarantine_entry(view)))
}

/// Lets something go from the quarantine for good, with its seals.
#[utoipa::path(delete, path = "/storage/quarantine/{id}", tag = "storage",
    params(("id" = String, Path, description = "the entry")),
    responses(
        (status = 202, body = CleanupJob), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn purge_quarantined(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<CleanupJob>), Problem> {
    let job = context.engine.purge_quarantined(QuarantineId::new(id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(nouns::cleanup_job(job))))
}
