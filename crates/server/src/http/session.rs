//! Sessions and their conversations.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use freehold_api::error::ErrorBody;
use freehold_api::session::{
    MessagePage, MessageQuery, NewSession, PermissionAnswer, Prompt, Session, SessionDeleted,
};
use freehold_domain::id::{AgentProfileId, SessionId, TaskId};

use crate::body::{Body, Search};
use crate::problem::Problem;
use crate::{Context, wire};

/// How many messages a page has unless asked otherwise.
const PAGE: u32 = 200;

/// Opens a session of a task, making the task's workspace first when it has none.
#[utoipa::path(post, path = "/tasks/{id}/sessions", tag = "sessions",
    params(("id" = String, Path, description = "the task")), request_body = NewSession,
    responses(
        (status = 201, body = Session), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 503, body = ErrorBody),
    ))]
pub(crate) async fn create_session(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<NewSession>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    let request = freehold_engine::session::NewSession {
        agent_profile_id: request.agent_profile_id.map(AgentProfileId::new).transpose()?,
        prompt: request.prompt,
    };
    let session = context.engine.create_session(TaskId::new(id)?, request).await?;
    Ok((StatusCode::CREATED, Json(wire::session(session))))
}

/// Reads a session.
#[utoipa::path(get, path = "/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = Session), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn read_session(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Session>, Problem> {
    Ok(Json(wire::session(context.engine.session(SessionId::new(id)?).await?)))
}

/// Deletes a session and its conversation; the task's files, registrations and branches stay.
#[utoipa::path(delete, path = "/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses(
        (status = 200, body = SessionDeleted), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn delete_session(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<SessionDeleted>, Problem> {
    Ok(Json(wire::session_deleted(context.engine.delete_session(SessionId::new(id)?).await?)))
}

/// Sends a prompt, starting the session's agent when it does not run.
#[utoipa::path(post, path = "/sessions/{id}/prompt", tag = "sessions",
    params(("id" = String, Path, description = "the session")), request_body = Prompt,
    responses(
        (status = 202, body = Session), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn send_prompt(
    State(context): State<Context>,
    Path(id): Path<String>,
    Body(request): Body<Prompt>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    let session = context.engine.prompt(SessionId::new(id)?, request.text).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::session(session))))
}

/// Asks the agent to end its turn; the agent goes on running.
#[utoipa::path(post, path = "/sessions/{id}/cancel", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses(
        (status = 202, body = Session), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn cancel_turn(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    let session = context.engine.cancel_turn(SessionId::new(id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::session(session))))
}

/// Ends the session's agent; a later prompt starts it again.
#[utoipa::path(post, path = "/sessions/{id}/stop", tag = "sessions",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = Session), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn stop_session(
    State(context): State<Context>,
    Path(id): Path<String>,
) -> Result<Json<Session>, Problem> {
    Ok(Json(wire::session(context.engine.stop_session(SessionId::new(id)?).await?)))
}

/// Answers a permission request.
#[utoipa::path(post, path = "/sessions/{id}/permissions/{request_id}", tag = "sessions",
    params(("id" = String, Path, description = "the session"), ("request_id" = String, Path, description = "the request")),
    request_body = PermissionAnswer,
    responses(
        (status = 200, body = Session), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn answer_permission(
    State(context): State<Context>,
    Path((id, request_id)): Path<(String, String)>,
    Body(answer): Body<PermissionAnswer>,
) -> Result<Json<Session>, Problem> {
    let id = SessionId::new(id)?;
    let session = context.engine.answer_permission(id, request_id, answer.option_id).await?;
    Ok(Json(wire::session(session)))
}

/// Reads a page of a conversation: the newest messages, or those before an ordinal.
#[utoipa::path(get, path = "/sessions/{id}/messages", tag = "sessions",
    params(("id" = String, Path, description = "the session"), MessageQuery),
    responses(
        (status = 200, body = MessagePage), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ))]
pub(crate) async fn list_messages(
    State(context): State<Context>,
    Path(id): Path<String>,
    Search(query): Search<MessageQuery>,
) -> Result<Json<MessagePage>, Problem> {
    let limit = query.limit.unwrap_or(PAGE);
    let list = context.engine.messages(SessionId::new(id)?, query.before, limit).await?;
    Ok(Json(wire::message_page(list)))
}
