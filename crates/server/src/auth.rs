//! Who may ask: the token, the `Host` and the `Origin`.
//!
//! A page of another site can make a browser send requests here. It cannot know the token; and a name that it
//! points at this machine (DNS rebinding) is refused because `Host` must be one of this server's own names.

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;

use crate::Context;
use crate::problem::problem;

/// The secret that every call presents: 64 hexadecimal digits from 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

/// Says that a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an access token has 64 hexadecimal digits")]
pub struct InvalidToken;

impl AccessToken {
    /// Makes a new token from the system's random numbers.
    pub fn generate() -> Result<Self, std::io::Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Accepts a stored token.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        let is_token = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_token { Ok(Self(text.to_owned())) } else { Err(InvalidToken) }
    }

    /// The digits, to be stored or shown to the person who owns the home folder.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the texts differ.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessToken(…)")
    }
}

/// The port that browsers leave out of `Host` and `Origin`.
const DEFAULT_PORT: u16 = 80;

/// The names under which this server may be addressed.
#[derive(Debug, Clone)]
pub(crate) struct OwnNames([String; 3]);

impl OwnNames {
    pub(crate) fn new(port: u16) -> Self {
        Self(["127.0.0.1", "localhost", "[::1]"].map(|name| match port {
            DEFAULT_PORT => name.to_owned(),
            port => format!("{name}:{port}"),
        }))
    }

    fn has_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        hosts.next().is_none() && host.is_some_and(|host| self.0.iter().any(|name| name == host))
    }

    /// An absent `Origin` is fine: programs send none, and what they may do is decided by the token.
    fn has_origin(&self, headers: &HeaderMap) -> bool {
        headers.get_all(ORIGIN).iter().all(|origin| {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| self.0.iter().any(|name| name == host))
        })
    }
}

/// Refuses requests that are not addressed to this server, or that a page of another origin sends.
pub(crate) async fn require_own_names(
    State(names): State<OwnNames>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !names.has_host(headers) {
        return problem(StatusCode::FORBIDDEN, "foreign_host", "the Host header does not name this server")
            .hint("open the address that `freehold` printed; it cannot be reached under another name")
            .into_response();
    }
    if !names.has_origin(headers) {
        return problem(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "pages of another origin may not call this server",
        )
        .into_response();
    }
    next.run(request).await
}

/// Refuses requests without the token.
pub(crate) async fn require_token(State(context): State<Context>, request: Request, next: Next) -> Response {
    let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let presented = presented.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if context.token.matches(presented) {
        return next.run(request).await;
    }
    problem(StatusCode::UNAUTHORIZED, "unauthorized", "the access token is missing or wrong")
        .hint("open the address that `freehold` printed, or paste the token from the home folder")
        .into_response()
}
