//! Freehold's house rules, generators and benchmarks, as a library so that the rules run as a test too.
//!
//! - [`tree`]: the tracked files, the only ones that any rule looks at.
//! - [`tidy`]: one module per rule; each takes texts and gives [`Problem`]s, so that a test can show it both a
//!   good and a bad example.
//! - [`docs`]: front matter, links, anchors, and that documented commands exist.
//! - [`codegen`]: the committed OpenAPI document.
//! - [`bench`]: measurements, each beside its reference in the same run.
//!
//! No rule here knows the code by heart: what is allowed stands in a table at the head of its module.

pub mod bench;
pub mod codegen;
pub mod docs;
pub mod program;
pub mod rust_source;
pub mod tidy;
pub mod tree;

use std::fmt;

/// What stopped a command, in words for the person at the terminal.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Makes a failure from a sentence that names its subject.
    #[must_use]
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// One place where a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, relative to the repository, or the crate.
    pub place: String,
    /// The line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Problem {
    /// Names a line of a file.
    #[must_use]
    pub fn at(place: &str, line: usize, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line, message: message.into() }
    }

    /// Names a whole file or crate.
    #[must_use]
    pub fn of(place: &str, message: impl Into<String>) -> Self {
        Self::at(place, 0, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.message),
            line => write!(f, "{}:{line}: {}", self.place, self.message),
        }
    }
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Places where a rule does not hold; one is enough to fail.
    pub problems: Vec<Problem>,
    /// Places close to a limit; they never fail.
    pub warnings: Vec<Problem>,
}

impl Report {
    /// Fails when there is a problem; the failure lists them all.
    pub fn into_result(self, check: &str) -> Result<(), Failure> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        lines.sort();
        Err(Failure::new(format!("{}\n{check}: {} problems", lines.join("\n"), lines.len())))
    }
}
