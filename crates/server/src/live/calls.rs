//! Calls over the live connection: every operation of the interface, through the very same routes.
//!
//! The hello has shown the token already; what a call asks for then goes where a request over HTTP goes, with the
//! same checks of bodies and the same answers. A client that goes away does not undo what it asked for.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::IntoResponse as _;
use freehold_api::live::{LiveCall, LiveFrame};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::http::MAX_BODY_BYTES;
use crate::problem::{Problem, invalid};

/// How many calls of one client are carried out at once; further ones wait in its connection.
pub(crate) const MAX_AT_ONCE: usize = 8;
/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The routes that calls reach.
#[derive(Clone)]
pub(crate) struct Calls(Router);

impl Calls {
    /// Takes the routes of the interface, whose paths begin after its base.
    pub(crate) fn new(interface: Router) -> Self {
        Self(interface)
    }

    /// Carries a call out; there is an answer to each.
    pub(crate) async fn answer(&self, call: LiveCall) -> LiveFrame {
        let id = call.call.clone();
        let response = match request(call) {
            Ok(request) => self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {}),
            Err(refused) => refused.into_response(),
        };
        let status = response.status();
        match to_bytes(response.into_body(), MAX_ANSWER_BYTES).await {
            Ok(bytes) => LiveFrame::Answer { call: id, status: status.as_u16(), body: content(&bytes) },
            Err(error) => {
                let body = Value::String(error.to_string());
                LiveFrame::Answer { call: id, status: StatusCode::INTERNAL_SERVER_ERROR.as_u16(), body }
            }
        }
    }
}

/// Reads a frame of a client that said hello; what is no call is answered like a bad request.
pub(crate) fn read(frame: &str) -> Result<LiveCall, Box<LiveFrame>> {
    serde_json::from_str(frame).map_err(|error| {
        // Whoever asked finds the answer by the name of the call, also when the rest cannot be read.
        let named = serde_json::from_str::<Value>(frame).ok();
        let call = named.and_then(|frame| frame.get("call")?.as_str().map(str::to_owned)).unwrap_or_default();
        let message = format!("the frame is no call: {error}");
        let body = serde_json::json!({ "code": "invalid_request", "message": message });
        Box::new(LiveFrame::Answer { call, status: StatusCode::BAD_REQUEST.as_u16(), body })
    })
}

fn request(call: LiveCall) -> Result<Request, Problem> {
    let refuse = |field, reason: String| invalid(field, reason);
    let method = Method::from_bytes(call.method.to_ascii_uppercase().as_bytes())
        .map_err(|error| refuse("method", error.to_string()))?;
    let path = call.path.strip_prefix(freehold_api::BASE_PATH).unwrap_or(&call.path);
    if !path.starts_with('/') {
        return Err(refuse("path", format!("`{path}` does not begin with /")));
    }
    let uri: Uri = path.parse().map_err(|error| refuse("path", format!("`{path}`: {error}")))?;
    let mut request = Request::new(Body::empty());
    if let Some(body) = call.body {
        let text = body.to_string();
        if text.len() > MAX_BODY_BYTES {
            return Err(refuse("body", format!("{} bytes are more than {MAX_BODY_BYTES}", text.len())));
        }
        *request.body_mut() = Body::from(text);
        request.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
    }
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    Ok(request)
}

/// The content of an answer: JSON as it is, anything else as text, nothing as null.
fn content(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
