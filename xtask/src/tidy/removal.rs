//! One path destroys: only the removal in the git crate and the cleanup in the engine may name the
//! capability to remove a worktree. What cannot be named cannot be called by mistake.

use crate::Problem;
use crate::rust_source::{RustSource, line_of, words};
use crate::tree::{SourceFile, Tree};

/// The types that stand for the right to remove.
const CAPABILITIES: [&str; 6] =
    ["Remover", "RemovalPermit", "FolderPermit", "PurgePermit", "QuarantinePermit", "QuarantinePurgePermit"];

/// What the paths of files begin with that may name them.
const ALLOWED: [&str; 8] = [
    // Where removal is written, exported and tested.
    "crates/git/src/removal",
    "crates/git/src/lib.rs",
    "crates/git/tests/",
    // Where a claimed cleanup job uses it, and the one place that composes both.
    "crates/engine/src/cleanup",
    "crates/engine/src/worker.rs",
    "crates/engine/src/lib.rs",
    "crates/engine/tests/cleanup",
    // Where this rule is written.
    "xtask/src/tidy/removal.rs",
];

/// Finds the names of the capability in code elsewhere; comments may speak of it.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Problem> {
    let elsewhere = |file: &&SourceFile| !ALLOWED.iter().any(|allowed| file.path.starts_with(allowed));
    tree.rust().filter(elsewhere).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let code = RustSource::read(&file.text).code;
    let named = words(&code).filter(|(_, word)| CAPABILITIES.contains(word));
    let problem = |(at, word)| {
        let message = format!("only cleanup may name `{word}`: ask for a cleanup job instead");
        Problem::at(&file.path, line_of(&code, at), message)
    };
    named.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::tree_of;

    #[test]
    fn cleanup_may_name_the_capability_and_a_comment_may_speak_of_it() {
        assert_eq!(check(&tree_of("crates/engine/src/cleanup/steps.rs", "use freehold_git::Remover;")), []);
        assert_eq!(check(&tree_of("crates/engine/src/session.rs", "// There is no Remover here.\n")), []);
    }

    #[test]
    fn session_code_may_not_name_it() {
        let code = "//! Sessions.\nuse freehold_git::Remover;\n";
        let problems = check(&tree_of("crates/engine/src/session.rs", code));
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2]);
    }
}
