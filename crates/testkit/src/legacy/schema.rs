//! The statements that make an old database: one text for both engines and all revisions.

use super::Revision;
use super::engine::Engine;

/// What stands before the words of a line that does not belong everywhere.
const ONLY: &str = "-- only ";

/// The statements that make an empty database of a revision.
pub(super) fn statements(engine: Engine, revision: Revision) -> String {
    let mut texts = vec![include_str!("schema.sql")];
    if engine == Engine::Sqlite {
        // The old program writes ahead, and the file remembers it.
        texts.insert(0, "PRAGMA journal_mode = WAL;\nBEGIN;\n");
        texts.push(include_str!("full_text.sql"));
    }
    if revision.is_flat() {
        texts.push(include_str!("flat_ownership.sql"));
    } else {
        texts.push(include_str!("normalised_ownership.sql"));
    }
    if revision != Revision::Normalised {
        texts.push(include_str!("session_worktrees.sql"));
    }
    if engine == Engine::Sqlite {
        texts.push("COMMIT;\n");
    }
    let lines = texts.into_iter().flat_map(str::lines);
    lines.filter_map(|line| kept(line, engine, revision)).fold(String::new(), |all, line| all + line + "\n")
}

/// The line without its words; none when one of them is not true.
fn kept(line: &str, engine: Engine, revision: Revision) -> Option<&str> {
    let Some((line, words)) = line.split_once(ONLY) else {
        return Some(line);
    };
    let is_true = |word| match word {
        "sqlite" => engine == Engine::Sqlite,
        "postgres" => engine == Engine::Postgres,
        "after-085" => revision != Revision::Release085,
        "flat" => revision.is_flat(),
        "normalised" => !revision.is_flat(),
        other => panic!("the schema does not know the word {other}"),
    };
    words.split_whitespace().all(is_true).then(|| line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_where_all_of_its_words_are_true() {
        let line = "a TEXT, -- only postgres normalised";
        assert_eq!(kept(line, Engine::Postgres, Revision::Normalised), Some("a TEXT,"));
        assert_eq!(kept(line, Engine::Postgres, Revision::Hybrid), Some("a TEXT,"));
        assert_eq!(kept(line, Engine::Postgres, Revision::BeforeCutover), None);
        assert_eq!(kept(line, Engine::Sqlite, Revision::Normalised), None);
        assert_eq!(kept("b TEXT", Engine::Sqlite, Revision::Release085), Some("b TEXT"));
    }
}
