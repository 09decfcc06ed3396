//! Request bodies and queries whose mistakes are answered like every other error: with the field named.

use std::error::Error;
use std::marker::PhantomData;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};

use crate::http::MAX_BODY_BYTES;
use crate::problem::{Problem, problem};

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(Object(body))) => Ok(Self(body)),
            Err(rejection) => Err(refused_body(&rejection)),
        }
    }
}

/// What stands between braces. A list whose items happen to fit the fields in their order is refused.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
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
    /// Reads the innermost cause, which is written as `place: what`, or as `what` alone at the outermost place.
    fn of(rejection: &(dyn Error + 'static)) -> Self {
        let mut cause = rejection;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let text = cause.to_string();
        // A place is a path of names and numbers; a sentence that happens to have a colon is none.
        let parts = text.split_once(": ").filter(|(place, _)| !place.contains(char::is_whitespace));
        let (place, what) = parts.unwrap_or(("", &text));
        let missing = what.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let field = match missing {
            Some(name) if place.is_empty() => name.to_owned(),
            Some(name) => format!("{place}.{name}"),
            None => place.to_owned(),
        };
        Self { field, text }
    }
}
