//! Files and functions stay small enough to be read at once.
//!
//! Tests do not count: neither files of tests nor modules under `#[cfg(test)]`. Generated files do not count
//! either. A function is measured from `fn` to its closing brace.

use crate::rust_source::RustSource;
use crate::tree::{SourceFile, Tree};
use crate::{Problem, Report};

/// A file with more lines is worth splitting.
const FILE_SOFT: usize = 500;
/// A file with more lines is refused.
const FILE_HARD: usize = 800;
/// A function with more lines is worth splitting.
const FUNCTION_SOFT: usize = 70;

/// The kinds of files that people write here.
const WRITTEN: [&str; 5] = ["rs", "ts", "tsx", "css", "sh"];

/// Words at the head of a file that say that a program wrote it.
const GENERATED: [&str; 2] = ["@generated", "auto-generated"];

/// Measures every file.
pub fn check(tree: &Tree, report: &mut Report) {
    let counts =
        |file: &&SourceFile| WRITTEN.contains(&file.extension()) && !file.is_test() && !is_generated(file);
    for file in tree.files.iter().filter(counts) {
        if file.extension() == "rs" {
            let source = RustSource::read(&file.text).without_tests();
            check_length(file, source.lines, report);
            check_functions(file, &source, report);
        } else {
            check_length(file, file.text.lines().count(), report);
        }
    }
}

fn is_generated(file: &SourceFile) -> bool {
    file.text.lines().take(5).any(|line| GENERATED.iter().any(|word| line.contains(word)))
}

fn check_length(file: &SourceFile, lines: usize, report: &mut Report) {
    let problem =
        |limit| Problem::of(&file.path, format!("{lines} lines, more than {limit}: split it by nouns"));
    if lines > FILE_HARD {
        report.problems.push(problem(FILE_HARD));
    } else if lines > FILE_SOFT {
        report.warnings.push(problem(FILE_SOFT));
    }
}

fn check_functions(file: &SourceFile, source: &RustSource, report: &mut Report) {
    for function in source.functions().into_iter().filter(|function| function.lines > FUNCTION_SOFT) {
        let message = format!("`{}` has {} lines, more than {FUNCTION_SOFT}", function.name, function.lines);
        report.warnings.push(Problem::at(&file.path, function.line, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::tree_of;

    fn measure(path: &str, text: &str) -> (usize, usize) {
        let mut report = Report::default();
        check(&tree_of(path, text), &mut report);
        (report.problems.len(), report.warnings.len())
    }

    #[test]
    fn a_long_file_is_warned_about_and_a_longer_one_refused() {
        let lines = |count: usize| "// line\n".repeat(count);
        assert_eq!(measure("crates/a/src/b.rs", &lines(FILE_SOFT)), (0, 0));
        assert_eq!(measure("crates/a/src/b.rs", &lines(FILE_SOFT + 1)), (0, 1));
        assert_eq!(measure("web/src/b.tsx", &lines(FILE_HARD + 1)), (1, 0));
    }

    #[test]
    fn tests_and_generated_files_do_not_count() {
        let long = "// line\n".repeat(FILE_HARD + 1);
        assert_eq!(measure("crates/a/tests/b.rs", &long), (0, 0));
        assert_eq!(measure("web/src/b.test.tsx", &long), (0, 0));
        assert_eq!(measure("web/src/api/schema.ts", &format!("// @generated\n{long}")), (0, 0));
        let module = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(measure("crates/a/src/b.rs", &module), (0, 0));
    }

    #[test]
    fn a_long_function_is_warned_about() {
        let function = |lines: usize| format!("fn a() {{\n{}}}\n", "b();\n".repeat(lines - 2));
        assert_eq!(measure("crates/a/src/b.rs", &function(FUNCTION_SOFT)), (0, 0));
        assert_eq!(measure("crates/a/src/b.rs", &function(FUNCTION_SOFT + 1)), (0, 1));
    }
}
