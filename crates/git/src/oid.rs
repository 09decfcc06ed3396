//! Object ids.

use std::fmt;
use std::str::FromStr;

use crate::GitError;

/// A full object id: 40 hexadecimal digits (SHA-1) or 64 (SHA-256), in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Oid(String);

impl Oid {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Oid {
    type Err = GitError;

    fn from_str(text: &str) -> Result<Self, GitError> {
        let is_hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if matches!(text.len(), 40 | 64) && is_hex {
            return Ok(Self(text.to_owned()));
        }
        Err(GitError::InvalidOid { text: text.chars().take(80).collect() })
    }
}
