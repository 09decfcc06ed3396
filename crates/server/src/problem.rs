//! From errors to answers: whatever goes wrong, the client gets an [`ErrorBody`].

use std::panic::AssertUnwindSafe;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{OriginalUri, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use freehold_api::error::ErrorBody;
use freehold_engine::storage::StorageRefusal;
use freehold_engine::{EngineError, ErrorKind};
use futures_util::FutureExt as _;

/// The longest explanation of the framework that is passed on, in bytes.
const MAX_EXPLANATION_BYTES: usize = 16 * 1024;

/// An answer that says what went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    /// Boxed, so that what may fail carries little when it does not.
    body: Box<ErrorBody>,
}

/// An answer with a code and a sentence.
pub(crate) fn problem(status: StatusCode, code: &str, message: impl Into<String>) -> Problem {
    let body = ErrorBody {
        code: code.to_owned(),
        message: message.into(),
        hint: String::new(),
        subject: String::new(),
        disk_bytes: None,
        stakes: Vec::new(),
        offer: None,
        tasks: Vec::new(),
    };
    Problem { status, body: Box::new(body) }
}

impl Problem {
    /// Names what the answer is about.
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.body.subject = subject.into();
        self
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.body.hint);
        self
    }
}

/// The answer to a field that cannot be used.
pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Problem {
    EngineError::InvalidField { field, reason: reason.into() }.into()
}

/// The answer to a path of the interface that does not exist.
pub(crate) async fn unknown_path(OriginalUri(uri): OriginalUri) -> Problem {
    let message = format!("there is no {}", uri.path());
    problem(StatusCode::NOT_FOUND, "unknown_path", message).about(uri.path())
}

/// Answers a panic of a handler as a fault; the server goes on.
pub(crate) async fn catch_panics(request: Request, next: Next) -> Response {
    let what = format!("{} {}", request.method(), request.uri().path());
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(request = %what, "a request panicked");
            problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", format!("{what} stopped unexpectedly"))
                .hint("look at the server's log, then see whether what you asked for was done")
                .into_response()
        }
    }
}

/// Turns the plain refusals of the framework, such as that of a wrong method, into answers like the others.
pub(crate) async fn explain(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let response = next.run(request).await;
    let status = response.status();
    let content = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes());
    let is_explained = content.is_some_and(|content| content.starts_with(b"application/json"));
    if is_explained || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_EXPLANATION_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let answer = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            problem(status, "method_not_allowed", format!("{method} is not possible here"))
        }
        _ if text.is_empty() => problem(status, "invalid_request", status.to_string()),
        _ => problem(status, "invalid_request", text),
    };
    let mut response = answer.into_response();
    let kept = parts.headers.into_iter();
    let kept = kept.filter_map(|(name, value)| Some((name?, value)));
    for (name, value) in kept.filter(|(name, _)| *name != CONTENT_TYPE && *name != CONTENT_LENGTH) {
        response.headers_mut().insert(name, value);
    }
    response
}

impl<E: Into<EngineError>> From<E> for Problem {
    fn from(error: E) -> Self {
        let error = error.into();
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_server_error() {
            tracing::error!(%error, "a request failed");
        }
        let mut answer =
            problem(status, error.code(), error.to_string()).hint(&error.hint()).about(error.subject());
        answer.body.offer = error.offer().map(crate::wire::offer);
        match error {
            EngineError::AtStake { stakes, disk_bytes, .. } => {
                answer.body.disk_bytes = Some(disk_bytes);
                answer.body.stakes = stakes.into_iter().map(crate::wire::stake).collect();
            }
            EngineError::Quarantine(StorageRefusal::AtStake { stakes, .. }) => {
                answer.body.stakes = stakes.into_iter().map(crate::wire::stake).collect();
            }
            EngineError::Borrowed { borrowers, .. } => {
                answer.body.tasks = borrowers.into_iter().map(crate::wire::task_ref).collect();
            }
            _ => {}
        }
        answer
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;

    use super::*;

    async fn panic() -> &'static str {
        panic!("a fault");
    }

    #[test]
    fn a_panic_is_an_answer_and_the_server_goes_on() {
        let app = Router::new().route("/panic", get(panic)).route("/", get(async || "fine"));
        let app = app.layer(from_fn(catch_panics));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let serving = runtime.spawn(async { axum::serve(listener, app).await.unwrap() });
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let ask = |path: &str| {
            let mut answer = agent.get(format!("http://{address}{path}")).call().unwrap();
            (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
        };
        let (status, body) = ask("/panic");
        let body: ErrorBody = serde_json::from_str(&body).unwrap();
        assert_eq!((status, body.code.as_str()), (500, "internal"));
        assert_eq!(ask("/"), (200, "fine".to_owned()));
        serving.abort();
    }
}
