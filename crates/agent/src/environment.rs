//! Which of the server's environment variables an agent gets.
//!
//! The server's environment may hold secrets (database passwords, tokens), so the list says what passes,
//! never what is held back.

use std::ffi::{OsStr, OsString};

const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TZ",
    "SHELL",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Lists the variables of this process that an agent may see.
pub(crate) fn allowed_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_allowed(name))
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_allowed_and_the_locale_is() {
        for name in ["FREEHOLD_TOKEN", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "PATHOLOGY", "GIT_DIR"] {
            assert!(!is_allowed(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "LC_ALL", "XDG_CONFIG_HOME", "https_proxy"] {
            assert!(is_allowed(OsStr::new(name)), "{name}");
        }
    }
}
