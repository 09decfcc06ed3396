//! Every test that a table of cases names exists.

use crate::Problem;
use crate::tree::Tree;

const TABLE: &str = "docs/contributing/cases.md";

/// Finds the rows that name no test, or one that is not there.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(table) = tree.find(TABLE) else { return Vec::new() };
    let rows = table.text.lines().zip(1..).filter(|(line, _)| line.starts_with("| ") && line.contains("::"));
    let named =
        rows.flat_map(|(line, number)| line.split('`').skip(1).step_by(2).map(move |name| (name, number)));
    named
        .filter(|(name, _)| !is_there(tree, name))
        .map(|(name, number)| Problem::at(TABLE, number, format!("there is no test `{name}`")))
        .collect()
}

/// A test is named as `<path of its file>::<name of its function>`, one of the web app by its title.
fn is_there(tree: &Tree, name: &str) -> bool {
    name.split_once("::").is_some_and(|(path, function)| {
        let declared = [format!("fn {function}("), format!("test(\"{function}\"")];
        tree.find(path).is_some_and(|file| declared.iter().any(|it| file.text.contains(it)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceFile;

    #[test]
    fn a_row_whose_test_is_gone_is_named() {
        let row =
            "| 1 | a | `tests/a.rs::it_holds` |\n| 2 | b | `tests/a.rs::it_is_gone`, `tests/b.rs::it` |\n";
        let row = format!("{row}| 3 | c | `web/a.test.tsx::it holds, too`, `web/a.test.tsx::it is gone` |\n");
        let files = [
            (TABLE, row.as_str()),
            ("tests/a.rs", "#[test]\nfn it_holds() {}\n"),
            ("web/a.test.tsx", "test(\"it holds, too\", () => {});\n"),
        ];
        let tree = Tree {
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            files: files.iter().map(|(path, text)| SourceFile::new(path, text)).collect(),
        };
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/contributing/cases.md:2: there is no test `tests/a.rs::it_is_gone`",
                "docs/contributing/cases.md:2: there is no test `tests/b.rs::it`",
                "docs/contributing/cases.md:3: there is no test `web/a.test.tsx::it is gone`",
            ]
        );
    }
}
