//! Every Rust file opens with what it is, and is named for what it holds: `name.rs`, not `mod.rs`.

use crate::Problem;
use crate::tree::{SourceFile, Tree};

/// Looks at the first line and the name of every Rust file.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !file.text.starts_with("//! ") {
        problems.push(Problem::at(&file.path, 1, "open with a `//!` comment: what the module is, and why"));
    }
    if file.name() == "mod.rs" {
        problems.push(Problem::of(&file.path, "name the module's file after the module, not `mod.rs`"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::tree_of;

    #[test]
    fn a_module_opens_with_what_it_is() {
        assert_eq!(check(&tree_of("crates/git/src/oid.rs", "//! Object ids.\n")), []);
        assert_eq!(check(&tree_of("crates/git/src/oid.rs", "use std::fmt;\n")).len(), 1);
    }

    #[test]
    fn a_module_is_named_for_what_it_holds() {
        assert_eq!(check(&tree_of("crates/git/src/oid/mod.rs", "//! Object ids.\n")).len(), 1);
    }
}
