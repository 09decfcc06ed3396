//! Request bodies and queries whose mistakes are answered like every other error: with the field named.

use std::error::Error;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::http::MAX_BODY_BYTES;
use crate::problem::{Problem, problem};

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T> FromRequest<S> for Body<T>
where
    Json<T>: FromRequest<S, Rejection = JsonRejection>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(refused_body(&rejection)),
        }
    }
}

/// The query of an address.
pub(crate) struct Search<T>(pub(crate) T);

impl<S: Send + Sync, T> FromRequestParts<S> for Search<T>
where
    Query<T>: FromRequestParts<S, Rejection = QueryRejection>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let mistake = Mistake::of(&rejection);
                let message = format!("the query of the address: {}", mistake.text);
                Err(problem(StatusCode::BAD_REQUEST, "invalid_query", message).about(mistake.field))
            }
        }
    }
}

fn refused_body(rejection: &JsonRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("the body is larger than {} MiB", MAX_BODY_BYTES / (1024 * 1024));
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message);
    }
    let mistake = Mistake::of(rejection);
    let message = format!("the body: {}", mistake.text);
    problem(StatusCode::BAD_REQUEST, "invalid_body", message).about(mistake.field)
}

/// What is wrong with a shape, and where.
struct Mistake {
    text: String,
    /// The path of the field, for example `repositories[0].repository_id`; empty where none is known.
    field: String,
}

impl Mistake {
    /// Takes the field from the chain of causes: the last one knows what is wrong, the one before it also
    /// knows where, and writes `where: what`.
    fn of(rejection: &(dyn Error + 'static)) -> Self {
        let mut outer = None;
        let mut inner = rejection;
        while let Some(source) = inner.source() {
            outer = Some(inner);
            inner = source;
        }
        let what = inner.to_string();
        let text = outer.map_or_else(|| what.clone(), ToString::to_string);
        let place = text.strip_suffix(what.as_str()).and_then(|place| place.strip_suffix(": "));
        let field = place.map_or_else(|| missing_field(&what), str::to_owned);
        Self { field, text }
    }
}

/// The name in "missing field `name`", which is all that says where.
fn missing_field(what: &str) -> String {
    let name = what.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    name.unwrap_or_default().to_owned()
}
