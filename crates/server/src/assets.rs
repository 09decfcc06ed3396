//! The web app in the binary: compressed at build time, cached by browsers, and shut against other origins.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::middleware::Next;
use axum::response::Response;
use memory_serve::CacheControl;

/// The app runs its own scripts only; styles may be set by scripts, as drag and drop and editors do.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Serves the app; every path that is no file is a page of the app.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    memory_serve::load!()
        .index_file(Some("/index.html"))
        .fallback(Some("/index.html"))
        .fallback_status(StatusCode::OK)
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::Short)
        .into_router()
}

/// Adds the headers that shut the app against other pages, and lets browsers keep files named by a hash.
pub(crate) async fn secure(request: Request, next: Next) -> Response {
    let is_hashed = request.uri().path().starts_with("/assets/");
    let mut response = next.run(request).await;
    let is_success = response.status().is_success();
    let headers = response.headers_mut();
    let mut set =
        |name: HeaderName, value: &'static str| headers.insert(name, HeaderValue::from_static(value));
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    set(REFERRER_POLICY, "no-referrer");
    if is_hashed && is_success {
        set(CACHE_CONTROL, "public, max-age=31536000, immutable");
    }
    response
}
