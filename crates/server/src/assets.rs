//! The web app in the binary: compressed at build time, cached by browsers, and shut against other origins.

use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use memory_serve::CacheControl;

use crate::problem::{problem, unknown_path};

/// The app runs its own scripts only; styles may be set by scripts, as drag and drop and editors do.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Serves the app; every path that is no file is a page of the app, so that it can be opened there.
///
/// Files below `/assets/` have a hash in their names and never change: one that is not there belongs to
/// another version of the app, and answering with a page would be kept by browsers as if it were the file.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let files = memory_serve::load!()
        .index_file(Some("/index.html"))
        .fallback(Some("/index.html"))
        .fallback_status(StatusCode::OK)
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::NoCache)
        .into_router();
    files.route("/assets/{*missing}", any(unknown_path)).layer(from_fn(only_read))
}

/// Refuses what is not reading: a call that missed the interface must not look as if it had worked.
async fn only_read(request: Request, next: Next) -> Response {
    if request.method() == Method::GET || request.method() == Method::HEAD {
        return next.run(request).await;
    }
    let message = format!("{} is not possible on a page of the app", request.method());
    problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        .hint("calls of the interface begin with /api/v1")
        .into_response()
}

/// Adds the headers that shut the app against other pages, and says what browsers may keep.
pub(crate) async fn secure(request: Request, next: Next) -> Response {
    let is_hashed = request.uri().path().starts_with("/assets/");
    let is_interface = request.uri().path().starts_with("/api/");
    let mut response = next.run(request).await;
    let is_kept =
        is_hashed && (response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED);
    let headers = response.headers_mut();
    let mut set =
        |name: HeaderName, value: &'static str| headers.insert(name, HeaderValue::from_static(value));
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    set(REFERRER_POLICY, "no-referrer");
    set(OPENER_POLICY, "same-origin");
    set(RESOURCE_POLICY, "same-origin");
    if is_kept {
        set(CACHE_CONTROL, "public, max-age=31536000, immutable");
    } else if is_interface {
        set(CACHE_CONTROL, "no-store");
    }
    response
}
