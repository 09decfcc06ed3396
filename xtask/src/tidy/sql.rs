//! SQL is written once for both engines; what one of them says differently stands in `dialect.rs`, or inside
//! a mark such as `/*pg … */` that the other engine reads as a comment.

use crate::Problem;
use crate::rust_source::{RustSource, line_of};
use crate::tree::{SourceFile, Tree};

/// Words and signs that only one engine understands. SQL is written in upper case here.
const ONE_ENGINE_ONLY: [&str; 20] = [
    "::",
    "ANY($",
    "AUTOINCREMENT",
    "BEGIN IMMEDIATE",
    "BIGSERIAL",
    "DATETIME(",
    "FOR SHARE",
    "FOR UPDATE",
    "IFNULL(",
    "ILIKE",
    "INFORMATION_SCHEMA",
    "INSERT OR ",
    "JSONB",
    "LISTEN ",
    "NOTIFY ",
    "PG_CATALOG",
    "PRAGMA",
    "SKIP LOCKED",
    "SQLITE_MASTER",
    "SQLITE_SCHEMA",
];

/// What a text must hold to be taken for SQL.
const STATEMENTS: [&str; 11] = [
    "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "ALTER ", "BEGIN", "PRAGMA", "LISTEN ", "NOTIFY ",
    "WITH ",
];

/// Finds SQL of one engine in the store, outside the dialect.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Problem> {
    let concerned = |file: &&SourceFile| {
        file.path.starts_with("crates/store/src/") && !file.path.starts_with("crates/store/src/dialect")
    };
    tree.rust().filter(concerned).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let strings = RustSource::read(&file.text).without_tests().strings;
    let strings = without_marks(&strings);
    let mut problems = Vec::new();
    for (at, text) in texts(&strings) {
        if !STATEMENTS.iter().any(|statement| text.contains(statement)) {
            continue;
        }
        for word in ONE_ENGINE_ONLY {
            if let Some(found) = text.find(word) {
                let message = format!("`{}` is SQL of one engine: move it to dialect.rs", word.trim_end());
                problems.push(Problem::at(&file.path, line_of(&strings, at + found), message));
            }
        }
    }
    problems
}

/// The quoted texts of a view that holds nothing else, each with its offset.
fn texts(strings: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = strings.as_ptr() as usize;
    strings.split('"').map(move |text| (text.as_ptr() as usize - start, text))
}

/// Blanks `/*pg … */` and `/*sqlite … */`.
fn without_marks(strings: &str) -> String {
    let mut rest = strings;
    let mut kept = String::new();
    while let Some(open) = rest.find("/*") {
        let close = rest[open..].find("*/").map_or(rest.len(), |at| open + at + 2);
        kept.push_str(&rest[..open]);
        kept.extend(rest[open..close].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[close..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::tree_of;

    const TASKS: &str = "crates/store/src/task.rs";

    #[test]
    fn portable_sql_and_marks_are_fine() {
        let code = r#"//! Tasks.
            const FIND: &str = "SELECT id FROM tasks WHERE id = $1 /*pg FOR UPDATE*/";
            const WORDS: &str = "listen to me"; // PRAGMA
        "#;
        assert_eq!(check(&tree_of(TASKS, code)), []);
        assert_eq!(
            check(&tree_of("crates/store/src/dialect.rs", r#"const A: &str = "PRAGMA foreign_keys";"#)),
            []
        );
    }

    #[test]
    fn sql_of_one_engine_is_named_with_its_line() {
        let code = "//! Tasks.\nconst A: &str = \"SELECT id FROM tasks\n  WHERE id = $1 FOR UPDATE\";\n";
        let problems = check(&tree_of(TASKS, code));
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [3]);
        assert_eq!(check(&tree_of(TASKS, r#"const A: &str = "PRAGMA wal_checkpoint";"#)).len(), 1);
        assert_eq!(check(&tree_of(TASKS, r#"const A: &str = "SELECT a::text FROM b";"#)).len(), 1);
    }
}
