//! The house rules that a compiler does not know. One module per rule; each says what it forbids and why.

pub mod arrows;
pub mod modules;
pub mod names;
pub mod removal;
pub mod sizes;
pub mod sql;
pub mod words;

use crate::tree::Tree;
use crate::{Failure, Report};

/// Runs every rule.
pub fn check(tree: &Tree) -> Result<Report, Failure> {
    let mut report = Report { problems: arrows::check(&arrows::metadata()?), warnings: Vec::new() };
    sizes::check(tree, &mut report);
    let rules = [modules::check, names::check, removal::check, sql::check, words::check];
    report.problems.extend(rules.into_iter().flat_map(|rule| rule(tree)));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use crate::tree::{SourceFile, Tree};

    /// A tree of one file.
    pub(super) fn tree_of(path: &str, text: &str) -> Tree {
        Tree { paths: vec![path.to_owned()], files: vec![SourceFile::new(path, text)] }
    }
}
