//! From errors to answers.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use freehold_api::error::ErrorBody;
use freehold_engine::{EngineError, ErrorKind};

/// An answer that says what went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    body: ErrorBody,
}

/// An answer with a code and a sentence.
pub(crate) fn problem(status: StatusCode, code: &str, message: impl Into<String>) -> Problem {
    let body = ErrorBody {
        code: code.to_owned(),
        message: message.into(),
        hint: String::new(),
        subject: String::new(),
    };
    Problem { status, body }
}

/// The answer to a path of the interface that does not exist.
pub(crate) async fn unknown_path(uri: axum::http::Uri) -> Problem {
    let mut answer = problem(StatusCode::NOT_FOUND, "unknown_path", format!("there is no {}", uri.path()));
    answer.body.subject = uri.path().to_owned();
    answer
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
        let body = ErrorBody {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint().to_owned(),
            subject: error.subject(),
        };
        Self { status, body }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
