//! What people and programs read: tables and sentences for the one, a single JSON document for the other.
//!
//! Standard output carries the answer and nothing else. Progress, questions and errors go to standard error.
//! A reader that goes away, such as `head`, is no failure.

use std::io::{IsTerminal, Write as _};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::failure::{Exit, Failure};

/// How a command speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    colour: bool,
}

/// What a piece of text means; shown by colour on a terminal, never by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It went well.
    Good,
    /// It wants attention.
    Warning,
    /// It failed.
    Bad,
    /// It matters less.
    Quiet,
    /// It is a heading.
    Strong,
}

impl Output {
    /// Speaks JSON when asked; colours only a terminal, and not when `NO_COLOR` is set.
    #[must_use]
    pub(crate) fn new(json: bool) -> Self {
        Self { json, colour: !json && colours(&std::io::stdout()) }
    }

    /// Whether a program reads the answer.
    #[must_use]
    pub(crate) const fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person can be asked.
    #[must_use]
    pub(crate) fn can_ask(self) -> bool {
        !self.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Gives the answer: as JSON, or as the text made by `human`.
    pub(crate) fn answer<T: Serialize>(
        self,
        value: &T,
        human: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let text = serde_json::to_string(value).map_err(|error| {
                Failure::new(
                    Exit::Failure,
                    "internal",
                    format!("the answer cannot be written as JSON: {error}"),
                )
            })?;
            self.line(&text);
        } else {
            self.line(human().trim_end());
        }
        Ok(())
    }

    /// Writes a line of the answer.
    pub(crate) fn line(self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A reader that went away wants no more lines.
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    /// Writes a piece of a line of the answer, at once.
    pub(crate) fn piece(self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "{text}").and_then(|()| out.flush());
    }

    /// Tells a person, not a program, on standard error.
    pub(crate) fn note(self, text: &str) {
        if !self.json {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }

    /// Shows a failure on standard error.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut err = std::io::stderr().lock();
        let _ = if self.json {
            writeln!(err, "{}", failure.to_json())
        } else {
            let hint = &failure.body.hint;
            let hint = if hint.is_empty() { String::new() } else { format!("\n  {hint}") };
            writeln!(err, "freehold: {}{hint}", failure.body.message)
        };
    }

    /// Asks a question that is answered with yes or no; anything but yes is no.
    pub(crate) fn confirm(self, question: &str) -> Result<bool, Failure> {
        let answer = self.ask(&format!("{question} [y/N] "))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for a line.
    pub(crate) fn ask(self, question: &str) -> Result<String, Failure> {
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "{question}").and_then(|()| err.flush());
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(|error| {
            Failure::new(Exit::Failure, "no_answer", format!("the answer cannot be read: {error}"))
        })?;
        Ok(line)
    }

    /// Colours a text, where that is wanted.
    #[must_use]
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Quiet => "2",
            Tone::Strong => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Whether a stream shows colours: only a terminal, and not when `NO_COLOR` is set.
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && stream.is_terminal()
}

/// Lays rows out below their headings; `when_empty` stands alone when there is no row.
#[must_use]
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<String>>, when_empty: &str) -> String {
    if rows.is_empty() {
        return when_empty.to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().map(|heading| heading.to_uppercase()));
    table.add_rows(rows);
    let lines = table.to_string();
    lines.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The beginning of an id, long enough to tell a person's few tasks apart; commands take it as it is.
#[must_use]
pub(crate) fn short(id: &str) -> &str {
    let is_uuid = id.len() == 36 && id.bytes().filter(|byte| *byte == b'-').count() == 4;
    if is_uuid { &id[..8] } else { id }
}

/// A text on one line, cut where it is longer than `limit` characters.
#[must_use]
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= limit {
        return line;
    }
    line.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_no_space_at_its_edges_and_an_empty_one_is_a_sentence() {
        let rows = vec![vec!["3f2a".to_owned(), "Fix it".to_owned()]];
        let shown = table(&["id", "title"], rows, "none");
        let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words, [vec!["ID", "TITLE"], vec!["3f2a", "Fix", "it"]]);
        assert!(shown.lines().all(|line| line == line.trim()), "{shown:?}");
        assert_eq!(table(&["id"], Vec::new(), "none"), "none");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(one_line("grün\n ist  gut", 20), "grün ist gut");
        assert_eq!(one_line("äöüß", 3), "äö…");
    }

    #[test]
    fn only_a_random_id_is_shortened() {
        assert_eq!(short("3f2a4711-0000-4000-8000-000000000000"), "3f2a4711");
        assert_eq!(short("exec-worktree"), "exec-worktree");
    }
}
