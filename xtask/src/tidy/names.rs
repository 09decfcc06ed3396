//! Names that say nothing about what they name are forbidden in files, types and modules.

use crate::Problem;
use crate::rust_source::RustSource;
use crate::tree::{SourceFile, Tree};

/// Parts that a name may not have; a plural counts too.
const VAGUE: [&str; 4] = ["manager", "helper", "util", "service"];

/// Looks at every path, and at the types and modules that Rust and TypeScript files declare.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Problem> {
    let in_paths = tree.paths.iter().filter_map(|path| {
        let part = path.split('/').find_map(vague_part)?;
        Some(Problem::of(path, format!("`{part}` says nothing: name the file after its noun or verb")))
    });
    in_paths.chain(tree.files.iter().flat_map(check_declared)).collect()
}

fn check_declared(file: &SourceFile) -> Vec<Problem> {
    let names: Vec<(usize, String)> = match file.extension() {
        "rs" => {
            let source = RustSource::read(&file.text);
            source.declared_names().map(|(line, name)| (line, name.to_owned())).collect()
        }
        "ts" | "tsx" => declared_in_typescript(&file.text),
        _ => Vec::new(),
    };
    let problem = |(line, name): (usize, String)| {
        let part = vague_part(&name)?;
        Some(Problem::at(&file.path, line, format!("`{part}` in `{name}` says nothing: use a noun")))
    };
    names.into_iter().filter_map(problem).collect()
}

fn declared_in_typescript(text: &str) -> Vec<(usize, String)> {
    let declared = |line: &str| {
        let mut words =
            line.split_whitespace().skip_while(|word| ["export", "default", "abstract"].contains(word));
        let keyword = words.next()?;
        let name = words.next()?.split(|c: char| !c.is_alphanumeric()).next()?;
        ["class", "interface", "type", "enum"].contains(&keyword).then(|| name.to_owned())
    };
    text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, declared(line)?))).collect()
}

/// The vague part of a name in any of `snake_case`, `kebab-case` and `CamelCase`.
fn vague_part(name: &str) -> Option<&'static str> {
    let mut spaced = String::new();
    for character in name.chars() {
        if character.is_uppercase() || !character.is_alphanumeric() {
            spaced.push(' ');
        }
        spaced.extend(character.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    let parts: Vec<&str> = spaced.split(' ').collect();
    VAGUE
        .into_iter()
        .find(|vague| parts.iter().any(|part| part == vague || part.strip_suffix('s') == Some(vague)))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::tree_of;

    #[test]
    fn a_file_is_named_after_its_noun() {
        assert_eq!(check(&tree_of("web/src/ui/utility-belt.ts", "")), []);
        for path in ["web/src/utils.ts", "web/src/date-helpers.ts", "crates/a/src/task_manager.rs"] {
            assert_eq!(check(&tree_of(path, "")).len(), 1, "{path}");
        }
    }

    #[test]
    fn a_type_is_named_after_its_noun() {
        let fine = "//! The service manager is only named in words.\npub struct Reaper; // helper\n";
        assert_eq!(check(&tree_of("crates/a/src/reaper.rs", fine)), []);
        let vague = "pub struct TaskService;\nmod helpers {}\nenum SessionManager {}\n";
        assert_eq!(check(&tree_of("crates/a/src/reaper.rs", vague)).len(), 3);
        assert_eq!(check(&tree_of("web/src/a.ts", "export interface DialogHelper {\n")).len(), 1);
    }
}
