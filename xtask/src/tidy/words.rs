//! Words that belong to one person's machine, to an old product, or to work that was put off.
//!
//! The forbidden words are put together from pieces here, so that this file does not hold them either.

use crate::Problem;
use crate::rust_source::{RustSource, words};
use crate::tree::{SourceFile, Tree};

/// Paths of one machine and references to what the repository does not hold.
const MACHINE: [&str; 8] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "t-"),
    concat!("/tmp/", "contracts"),
    concat!("CASES", ".md"),
    concat!("LEGACY", ".md"),
    concat!("LIBRARIES", ".md"),
    concat!("PRODUCT", ".md"),
];

/// The old product's name, and the table of its schema that is gone after the upgrade.
const OLD_NAME: &str = concat!("kan", "dev");
const OLD_TABLE: &str = concat!("task_session", "_worktrees");
const LEGACY: [&str; 2] = [OLD_NAME, OLD_TABLE];

/// The places that may use names of the old schema, each with the names. A place is a module of Rust (the file
/// and the folder of that name), a folder, or one file.
const LEGACY_PLACES: [(&str, &[&str]); 12] = [
    // Reads databases of the old schema.
    ("crates/store/src/upgrade", &LEGACY),
    // Proves what that does.
    ("crates/store/tests/upgrade", &LEGACY),
    // Makes databases of the old schema for tests and benchmarks.
    ("crates/testkit/src/legacy", &LEGACY),
    // Finds an installation of the old product and takes over what it holds.
    ("crates/cli/src/commands/import.rs", &LEGACY),
    // The command is called by the old product's name.
    ("crates/cli/src/arguments", &[OLD_NAME]),
    // Runs these commands on databases and folders of the old product.
    ("crates/cli/tests", &LEGACY),
    // Tells a person who comes from the old product what to do, and what happens to which table.
    ("docs/guide", &LEGACY),
    // Starts beside an old installation, or in its place: its folders, units and variables.
    ("deploy", &LEGACY),
    // Measures the upgrade of a large database.
    ("xtask/src/bench/upgrade.rs", &LEGACY),
    // Tell what Freehold can take over, not how.
    ("README.md", &[OLD_NAME]),
    ("CHANGELOG.md", &[OLD_NAME]),
    // Check the upgrade with databases that are kept outside of the repository.
    ("scripts", &LEGACY),
];

/// Marks of work that was put off: do it, or write an issue.
const PUT_OFF: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Where lock files may say that a package comes from.
const CARGO_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
const NPM_REGISTRY: &str = "https://registry.npmjs.org/";

/// Looks at every tracked text.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let mut problems: Vec<Problem> = file
        .text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let reason = forbidden(file, line)?;
            Some(Problem::at(&file.path, index + 1, reason))
        })
        .collect();
    problems.extend(put_off(file).into_iter().map(|(line, mark)| {
        Problem::at(&file.path, line, format!("`{mark}`: do it now, or write an issue"))
    }));
    problems
}

/// Why a line may not stand in this file; none when it may.
fn forbidden(file: &SourceFile, line: &str) -> Option<String> {
    if let Some(word) = MACHINE.into_iter().find(|word| contains_path(line, word)) {
        return Some(format!("`{word}` belongs to one machine or to another place"));
    }
    let lower = line.to_lowercase();
    let allowed = legacy_names_allowed_in(&file.path);
    if let Some(word) = LEGACY.into_iter().find(|word| lower.contains(word) && !allowed.contains(word)) {
        return Some(format!(
            "`{word}` is a name of the old schema: xtask/src/tidy/words.rs says who may know it"
        ));
    }
    if names_an_issue(&lower) {
        return Some("say the reason itself, not the number of an issue".to_owned());
    }
    foreign_registry(file, line).map(|found| format!("{found} is not a public registry"))
}

/// The names of the old schema that a file may use.
fn legacy_names_allowed_in(path: &str) -> &'static [&'static str] {
    let is_in = |place: &str| {
        path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    };
    LEGACY_PLACES.into_iter().find(|(place, _)| is_in(place)).map_or(&[], |(_, names)| names)
}

/// Whether the word stands in the line by itself, not as the end of a longer path or name.
fn contains_path(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}*)".contains(c))
    })
}

fn names_an_issue(lower: &str) -> bool {
    ["issue #", "issue "].iter().any(|prefix| {
        lower.match_indices(prefix).any(|(at, _)| {
            let rest = &lower[at + prefix.len()..];
            rest.starts_with(|c: char| c.is_ascii_digit())
        })
    })
}

/// Where a lock file says that a package comes from, unless it is the public registry.
fn foreign_registry<'a>(file: &SourceFile, line: &'a str) -> Option<&'a str> {
    let (key, registry) = match file.name() {
        "Cargo.lock" => ("source = ", CARGO_REGISTRY),
        "package-lock.json" => ("\"resolved\": ", NPM_REGISTRY),
        _ => return None,
    };
    let value = line.trim().strip_prefix(key)?.trim_matches(['"', ',']);
    (!value.starts_with(registry)).then_some(value)
}

/// Marks of work put off, with their lines: words of comments, not words in quotes.
fn put_off(file: &SourceFile) -> Vec<(usize, &'static str)> {
    let comments = match file.extension() {
        "rs" => RustSource::read(&file.text).comments,
        "json" | "lock" | "md" => return Vec::new(),
        _ => comments_by_line(&file.text),
    };
    let mut found = Vec::new();
    for (index, line) in comments.lines().enumerate() {
        let marks = words(line).filter(|(at, _)| !line[..*at].ends_with('`'));
        let mark = marks.filter_map(|(_, word)| PUT_OFF.into_iter().find(|mark| *mark == word)).next();
        found.extend(mark.map(|mark| (index + 1, mark)));
    }
    found
}

/// For languages other than Rust: what follows a comment sign on each line.
fn comments_by_line(text: &str) -> String {
    let comment = |line: &str| {
        let start = ["//", "# ", "/*", "* ", "-- ", "<!--"].iter().filter_map(|sign| line.find(sign)).min();
        start.map_or(String::new(), |at| line[at..].to_owned()) + "\n"
    };
    text.lines().map(comment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::tree_of;

    fn lines_of(path: &str, text: &str) -> Vec<usize> {
        check(&tree_of(path, text)).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn paths_of_one_machine_are_forbidden() {
        let path = MACHINE[0];
        assert_eq!(lines_of("docs/a.md", &format!("see\n{path}main\n")), [2]);
        assert_eq!(lines_of("docs/a.md", &format!("under <home>/frame{path}x and frame{path}x\n")), [0; 0]);
    }

    #[test]
    fn names_of_the_old_schema_are_refused_elsewhere() {
        for path in [
            "crates/store/src/session.rs",
            "crates/store/src/upgrades.rs",
            "crates/store/tests/store/upgrade.rs",
            "crates/testkit/src/database.rs",
            "crates/cli/src/commands/import/more.rs",
            "crates/cli/src/commands.rs",
            "docs/architecture.md",
            "xtask/src/bench.rs",
            "web/README.md",
            "docs/CHANGELOG.md",
        ] {
            for name in LEGACY {
                assert_eq!(lines_of(path, &format!("a\n{}\n", name.to_uppercase())), [2], "{path}: {name}");
            }
        }
    }

    #[test]
    fn names_of_the_old_schema_have_their_places() {
        for path in [
            "crates/store/src/upgrade.rs",
            "crates/store/src/upgrade/source.rs",
            "crates/store/tests/upgrade/main.rs",
            "crates/testkit/src/legacy.rs",
            "crates/testkit/src/legacy/schema.sql",
            "crates/cli/src/commands/import.rs",
            "crates/cli/tests/cli/import.rs",
            "docs/guide/coming-over.md",
            "deploy/freehold.service",
            "xtask/src/bench/upgrade.rs",
            "scripts/legacy-check.sh",
        ] {
            assert_eq!(lines_of(path, &LEGACY.join("\n")), [0; 0], "{path}");
        }
    }

    #[test]
    fn the_first_pages_and_the_command_line_know_the_name_and_no_table() {
        for path in
            ["README.md", "CHANGELOG.md", "crates/cli/src/arguments.rs", "crates/cli/src/arguments/import.rs"]
        {
            assert_eq!(lines_of(path, &format!("{OLD_NAME}\n{OLD_TABLE}\n")), [2], "{path}");
        }
    }

    #[test]
    fn a_comment_may_not_put_work_off_but_a_word_in_quotes_may_be_any() {
        let mark = PUT_OFF[0];
        assert_eq!(lines_of("a.rs", &format!("//! Head.\nlet a = 1; // {mark}: later\n")), [2]);
        assert_eq!(lines_of("a.rs", &format!("//! `{mark}` is a state.\nlet a = \"{mark}\";\n")), [0; 0]);
        assert_eq!(lines_of("a.ts", &format!("const a = {{ {mark}: 1 }};\n/* {mark} */\n")), [2]);
    }

    #[test]
    fn a_comment_says_the_reason_and_not_the_number_of_an_issue() {
        let number = 7;
        assert_eq!(lines_of("a.sh", &format!("# because of issue {number}\n")), [1]);
        assert_eq!(lines_of("a.sh", "# write an issue about it\n"), [0; 0]);
    }

    #[test]
    fn lock_files_name_the_public_registries() {
        let cargo = |source: &str| lines_of("Cargo.lock", &format!("source = \"{source}\"\n"));
        assert_eq!(cargo(CARGO_REGISTRY), [0; 0]);
        assert_eq!(cargo("registry+https://mirror.example/index"), [1]);
        let npm = |url: &str| lines_of("web/package-lock.json", &format!("  \"resolved\": \"{url}\",\n"));
        assert_eq!(npm("https://registry.npmjs.org/a/-/a-1.0.0.tgz"), [0; 0]);
        assert_eq!(npm("https://mirror.example/a-1.0.0.tgz"), [1]);
    }
}
