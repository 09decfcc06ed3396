//! Object ids: the full names of commits, validated once.

use std::fmt;
use std::str::FromStr;

use crate::GitError;

/// How many characters a shortened id shows to people.
const SHORT: usize = 10;

/// The full id of a Git object: 40 lower-case hexadecimal digits (SHA-1) or 64 (SHA-256).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(String);

impl Oid {
    /// The full id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten characters, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..SHORT]
    }

    /// Reads the id that git printed as a line of its own.
    pub(crate) fn from_output(output: &[u8]) -> Result<Self, GitError> {
        String::from_utf8_lossy(output).trim_end().parse()
    }
}

impl FromStr for Oid {
    type Err = GitError;

    fn from_str(text: &str) -> Result<Self, GitError> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(GitError::InvalidOid { text: text.chars().take(80).collect() })
        }
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_lower_case_hexadecimal_ids_are_accepted() {
        for good in ["a".repeat(40), "0".repeat(64)] {
            let oid: Oid = good.parse().unwrap();
            assert_eq!(oid.to_string(), good);
            assert_eq!(oid.short(), &good[..10]);
        }
        for bad in ["", "HEAD", "--help", &"a".repeat(39), &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)]
        {
            assert!(bad.parse::<Oid>().is_err(), "{bad}");
        }
    }
}
