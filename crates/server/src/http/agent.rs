//! Agent profiles.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use freehold_api::agent::{AddAgentProfile, AgentProfile};
use freehold_api::error::ErrorBody;
use freehold_engine::agent::NewAgentProfile;

use crate::body::Body;
use crate::problem::Problem;
use crate::{Context, wire};

/// Lists the agents.
#[utoipa::path(get, path = "/agents", tag = "agents",
    responses((status = 200, body = [AgentProfile]), (status = 401, body = ErrorBody)))]
pub(crate) async fn list_agents(State(context): State<Context>) -> Result<Json<Vec<AgentProfile>>, Problem> {
    let profiles = context.engine.agent_profiles().await?;
    Ok(Json(profiles.into_iter().map(wire::agent_profile).collect()))
}

/// Stores a custom agent: a program that speaks ACP over its standard streams.
#[utoipa::path(post, path = "/agents", tag = "agents", request_body = AddAgentProfile,
    responses(
        (status = 201, body = AgentProfile), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 409, body = ErrorBody),
    ))]
pub(crate) async fn add_agent(
    State(context): State<Context>,
    Body(request): Body<AddAgentProfile>,
) -> Result<(StatusCode, Json<AgentProfile>), Problem> {
    let AddAgentProfile { name, command, args, env } = request;
    let profile = context.engine.add_agent_profile(NewAgentProfile { name, command, args, env }).await?;
    Ok((StatusCode::CREATED, Json(wire::agent_profile(profile))))
}
