//! The HTTP interface: one file per noun, put together here.

mod agent;
mod cleanup;
mod lending;
pub(crate) mod metrics;
mod repository;
mod session;
mod storage;
mod task;
mod trash;
mod workspace;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::any;
use axum::{Extension, Router};
use utoipa::OpenApi as _;
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{OwnNames, require_own_names, require_token};
use crate::{Context, assets, live, problem};

/// The largest request body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The parts of the document that no route names: shapes inside messages and on the live connection.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Freehold", description = "Tasks own their workspaces; sessions only visit them."),
    components(schemas(
        freehold_api::error::ErrorBody,
        freehold_api::live::LiveHello,
        freehold_api::live::LiveCall,
        freehold_api::live::LiveFrame,
        freehold_api::live::LiveEvent,
        freehold_api::live::EventBody,
        freehold_api::session::ToolCall,
        freehold_api::session::Plan,
        freehold_api::session::Permission,
    )),
    modifiers(&BearerToken)
)]
struct Document;

struct BearerToken;

impl utoipa::Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
        document.security = Some(vec![SecurityRequirement::new("token", [""; 0])]);
    }
}

/// Every route that needs the token.
fn guarded() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(workspace::read_server))
        .routes(routes!(metrics::read_metrics))
        .routes(routes!(workspace::list_workspaces))
        .routes(routes!(workspace::delete_workspace))
        .routes(routes!(workspace::list_deleted_workspaces))
        .routes(routes!(workspace::delete_workflow))
        .routes(routes!(workspace::update_step))
        .routes(routes!(repository::list_repositories, repository::add_repository))
        .routes(routes!(repository::read_repository, repository::update_repository))
        .routes(routes!(repository::trust_script))
        .routes(routes!(repository::list_branches))
        .routes(routes!(agent::list_agents, agent::add_agent))
        .routes(routes!(task::list_tasks, task::create_task))
        .routes(routes!(task::read_task, task::update_task, task::delete_task))
        .routes(routes!(task::start_task))
        .routes(routes!(task::repeat_setup))
        .routes(routes!(task::archive_task))
        .routes(routes!(task::read_close_report))
        .routes(routes!(lending::reset_workspace))
        .routes(routes!(lending::transfer_workspace))
        .routes(routes!(lending::list_closed_with))
        .routes(routes!(trash::reopen_task))
        .routes(routes!(trash::list_seals))
        .routes(routes!(trash::read_sealed_diff))
        .routes(routes!(trash::make_task_from_seal))
        .routes(routes!(workspace::read_workspace_close_report))
        .routes(routes!(trash::list_trash))
        .routes(routes!(trash::read_trashed, trash::purge_task))
        .routes(routes!(task::list_changes))
        .routes(routes!(task::read_diff))
        .routes(routes!(session::create_session))
        .routes(routes!(session::read_session, session::delete_session))
        .routes(routes!(session::send_prompt))
        .routes(routes!(session::cancel_turn))
        .routes(routes!(session::stop_session))
        .routes(routes!(session::answer_permission))
        .routes(routes!(session::list_messages))
        .routes(routes!(storage::read_storage))
        .routes(routes!(storage::measure_storage))
        .routes(routes!(storage::list_unowned))
        .routes(routes!(storage::list_quarantine, storage::quarantine_place))
        .routes(routes!(storage::read_quarantined, storage::purge_quarantined))
        .routes(routes!(storage::restore_quarantined))
        .routes(routes!(cleanup::list_jobs))
        .routes(routes!(cleanup::read_job))
        .routes(routes!(cleanup::decide_job))
}

/// The routes that need no token, or take it otherwise.
fn open() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(workspace::read_health))
        .routes(routes!(workspace::read_openapi))
        .routes(routes!(live::connect))
}

/// The OpenAPI document of the interface.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = OpenApiRouter::<Context>::with_openapi(Document::openapi())
        .nest(freehold_api::BASE_PATH, guarded().merge(open()))
        .into_openapi();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete];
        operations.into_iter().flatten().for_each(add_other_answers);
    }
    document
}

/// Says that every other answer (a foreign `Host`, a body that is too large, a fault) is an [`ErrorBody`].
fn add_other_answers(operation: &mut utoipa::openapi::path::Operation) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    let answer = ResponseBuilder::new()
        .description("Why it was not done.")
        .content("application/json", content)
        .build();
    operation.responses.responses.insert("default".to_owned(), answer.into());
}

/// The whole server: the interface, the live connection and the web app.
pub(crate) fn router(context: Context, port: u16) -> Router {
    let guarded = guarded().split_for_parts().0;
    let calls = live::calls::Calls::new(
        guarded
            .clone()
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(context.clone())
            .fallback(problem::unknown_path)
            .layer(from_fn(problem::explain))
            .layer(from_fn(problem::catch_panics)),
    );
    let guarded = guarded.layer(from_fn_with_state(context.clone(), require_token));
    let interface = guarded
        .merge(open().split_for_parts().0)
        .layer(Extension(calls))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(context)
        .fallback(problem::unknown_path);
    let unknown = || any(problem::unknown_path);
    Router::new()
        .nest(freehold_api::BASE_PATH, interface)
        .route("/api", unknown())
        .route("/api/", unknown())
        .route("/api/{*path}", unknown())
        .layer(from_fn(problem::explain))
        .merge(assets::router())
        .layer(from_fn(problem::catch_panics))
        .layer(from_fn_with_state(OwnNames::new(port), require_own_names))
        .layer(from_fn(assets::secure))
}
