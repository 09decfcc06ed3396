//! The text that names a database.
//!
//! `sqlite:///abs/file.db` or a plain path names an SQLite file; `postgres://…` names a PostgreSQL database.
//! A password is never shown: [`DatabaseUrl`] hides it in `Display` and `Debug`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::StoreError;

/// Names a database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A database of a PostgreSQL server, by its URL as given; `sslmode` may be `disable`, `prefer`,
    /// `require` or `verify-full`, and `sslrootcert` may name a PEM file for the last.
    Postgres(String),
}

impl DatabaseUrl {
    /// Reads the name of a database.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let invalid = |reason: &str| StoreError::InvalidUrl { url: redact(text), reason: reason.to_owned() };
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None if text.contains("://") => {
                return Err(invalid("use a path, sqlite:///path or postgres://user@host/database"));
            }
            None => text,
        };
        if path.is_empty() {
            return Err(invalid("the path is empty"));
        }
        Ok(Self::Sqlite(PathBuf::from(path)))
    }
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;
    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::parse(text)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(url) => f.write_str(&redact(url)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// The URL with its password, in either of the two places where one may stand, replaced by `***`.
fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (address, query) = match rest.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (rest, None),
    };
    let address = match address.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => address.to_owned(),
        },
        None => address.to_owned(),
    };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((key @ "password", _)) => format!("{key}=***"),
        _ => pair.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(hide).collect::<Vec<_>>().join("&"));
    match query {
        Some(query) => format!("{scheme}://{address}?{query}"),
        None => format!("{scheme}://{address}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_both_schemes_name_databases() {
        let sqlite = DatabaseUrl::Sqlite(PathBuf::from("/tmp/a b.db"));
        assert_eq!(DatabaseUrl::parse("/tmp/a b.db").unwrap(), sqlite);
        assert_eq!(DatabaseUrl::parse("sqlite:///tmp/a b.db").unwrap(), sqlite);
        assert!(matches!(DatabaseUrl::parse("postgresql://h/d").unwrap(), DatabaseUrl::Postgres(_)));
        for wrong in ["", "sqlite://", "mysql://h/d"] {
            assert!(matches!(DatabaseUrl::parse(wrong), Err(StoreError::InvalidUrl { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let url = DatabaseUrl::parse("postgres://me:s3cr:et@h:5/d?password=s3cret&sslmode=require").unwrap();
        let shown = format!("{url} {url:?}");
        assert!(!shown.contains("s3cr"), "{shown}");
        assert!(shown.starts_with("postgres://me:***@h:5/d?password=***&sslmode=require "), "{shown}");
    }
}
