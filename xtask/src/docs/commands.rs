//! Every `freehold …` command in the documents' fenced code exists in the binary, with the options shown.
//!
//! A command is asked for its `--help`, so nothing is carried out.

use std::collections::BTreeMap;
use std::path::Path;

use crate::docs::{markdown::Page, pages};
use crate::program::{freehold_binary, output_of, program};
use crate::tree::Tree;
use crate::{Failure, Problem, Report};

/// Asks the binary about every command that the documents name.
pub fn check(tree: &Tree) -> Result<Report, Failure> {
    let binary = freehold_binary("ci")?;
    let mut helps = BTreeMap::new();
    let mut report = Report::default();
    for file in pages(tree) {
        for (line, command) in Page::read(&file.text).code {
            for example in examples(&command) {
                let reason = why_unknown(&example, &mut |words| {
                    helps.entry(words.join(" ")).or_insert_with(|| help(&binary, words)).clone()
                });
                report.problems.extend(reason.map(|reason| Problem::at(&file.path, line, reason)));
            }
        }
    }
    Ok(report)
}

/// What `freehold <words> --help` says; none when there is no such command.
fn help(binary: &Path, words: &[&str]) -> Option<String> {
    let output = output_of(program(binary).args(words).arg("--help")).ok()?;
    Some(String::from_utf8_lossy(&output).into_owned())
}

/// The `freehold` commands of a line of fenced code, each as its words after the program's name.
fn examples(line: &str) -> Vec<Vec<String>> {
    let line = line.trim_start_matches(['$', ' ']);
    let line = line.split(" # ").next().unwrap_or_default();
    let commands = line.split(['|', ';', '&', '(', ')']).map(str::trim);
    commands
        .filter_map(|command| {
            let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
            (words.next() == Some("freehold")).then(|| words.map(str::to_owned).collect())
        })
        .collect()
}

/// Why the binary does not know the command; `help_of` gives the help of a command that exists.
fn why_unknown(example: &[String], help_of: &mut dyn FnMut(&[&str]) -> Option<String>) -> Option<String> {
    let words: Vec<&str> = example.iter().map(String::as_str).collect();
    let mut known = help_of(&[])?;
    let mut depth = 0;
    while let Some(word) = words.get(depth).filter(|word| lists_command(&known, word)) {
        let Some(deeper) = help_of(&words[..=depth]) else {
            return Some(format!("`freehold {}` does not exist", word));
        };
        (known, depth) = (deeper, depth + 1);
    }
    if let Some(word) = words.get(depth).filter(|word| known.contains("\nCommands:") && is_command_word(word))
    {
        return Some(format!("`{word}` is no command of `freehold {}`", words[..depth].join(" ")));
    }
    let options =
        words[depth..].iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"));
    let unknown = options.map(|option| option.split('=').next().unwrap_or(option)).find(|option| {
        !known.split(|c: char| c.is_whitespace() || ",[]=<>".contains(c)).any(|known| known == *option)
    })?;
    Some(format!("`{unknown}` is no option of `freehold {}`", words[..depth].join(" ")))
}

/// Whether a help text lists `word` below `Commands:`.
fn lists_command(help: &str, word: &str) -> bool {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed.take_while(|line| !line.is_empty()).any(|line| line.split_whitespace().next() == Some(word))
}

fn is_command_word(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(line: &str) -> Option<String> {
        let mut help_of = |words: &[&str]| match words {
            [] => Some("Usage\n\nCommands:\n  task  Tasks\n  serve Serves\n\nOptions:\n".to_owned()),
            ["task"] => Some("Tasks\n\nCommands:\n  new  Makes\n\nOptions:\n".to_owned()),
            ["task", "new"] => Some("Makes\n\nOptions:\n  -t, --title <TITLE>  Title\n".to_owned()),
            _ => None,
        };
        examples(line).iter().find_map(|example| why_unknown(example, &mut help_of))
    }

    #[test]
    fn commands_and_options_that_exist_are_fine() {
        for line in [
            "freehold",
            "$ A=1 freehold task new --title=x '…'",
            "echo freehold nothing",
            "freehold task # nope",
        ] {
            assert_eq!(reason(line), None, "{line}");
        }
    }

    #[test]
    fn a_command_or_option_that_does_not_exist_is_named() {
        assert_eq!(reason("freehold fly").unwrap(), "`fly` is no command of `freehold `");
        assert_eq!(reason("ls && freehold task fly").unwrap(), "`fly` is no command of `freehold task`");
        assert_eq!(
            reason("freehold task new --colour red").unwrap(),
            "`--colour` is no option of `freehold task new`"
        );
    }
}
