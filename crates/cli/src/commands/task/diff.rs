//! `freehold task diff`: what differs from the task's base commit.

use freehold_api::client::Client;
use freehold_api::task::{DiffQuery, FileChange, FileDiff, RepositoryChanges};
use serde::Serialize;

use crate::arguments::TaskDiff;
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, Tone};

/// One repository's changes with their patches.
#[derive(Debug, Serialize)]
struct Changed {
    #[serde(flatten)]
    changes: RepositoryChanges,
    diffs: Vec<FileDiff>,
}

/// Carries out the command.
pub(crate) fn run(connection: &Connection, arguments: &TaskDiff, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let task_id = lookup::task(client, &arguments.task)?;
    let mut changed = Vec::new();
    for mut changes in client.changes(&task_id)? {
        if let Some(path) = &arguments.path {
            changes.files.retain(|file| file.path == *path);
        }
        let diffs = if arguments.stat { Vec::new() } else { diffs(client, &task_id, &changes)? };
        changed.push(Changed { changes, diffs });
    }
    if let Some(path) = &arguments.path
        && changed.iter().all(|repository| repository.changes.files.is_empty())
    {
        let message = format!("{path} has no change in this task");
        return Err(Failure::new(Exit::NotFound, "not_changed", message).subject(path));
    }
    output.answer(&changed, || shown(&changed, output))
}

fn diffs(client: &Client, task_id: &str, changes: &RepositoryChanges) -> Result<Vec<FileDiff>, Failure> {
    let diff = |file: &FileChange| {
        let query = DiffQuery { repository_id: changes.repository_id.clone(), path: file.path.clone() };
        Ok(client.diff(task_id, &query)?)
    };
    changes.files.iter().map(diff).collect()
}

fn shown(changed: &[Changed], output: Output) -> String {
    let mut text = String::new();
    for Changed { changes, diffs } in changed {
        if changed.len() > 1 {
            text.push_str(&format!("{}\n", output.paint(Tone::Strong, &changes.repository_name)));
        }
        if !changes.error_message.is_empty() {
            text.push_str(&format!("{}\n", output.paint(Tone::Bad, &changes.error_message)));
        }
        text.push_str(&files_and_patches(&changes.files, diffs, output));
    }
    if text.is_empty() { "Nothing has changed since the task's base commit.".to_owned() } else { text }
}

/// A line per file, then the patches.
pub(crate) fn files_and_patches(files: &[FileChange], diffs: &[FileDiff], output: Output) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("{}\n", file_line(file)));
    }
    for diff in diffs {
        text.push('\n');
        text.push_str(&patch(diff, output));
    }
    text
}

fn file_line(file: &FileChange) -> String {
    let letter = match (file.untracked, file.kind.as_str()) {
        (true, _) => '?',
        (_, "added") => 'A',
        (_, "deleted") => 'D',
        (_, "renamed") => 'R',
        (_, "type_changed") => 'T',
        _ => 'M',
    };
    let lines = match (file.additions, file.deletions) {
        (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
        _ => "binary".to_owned(),
    };
    let from = file.old_path.as_ref().map(|old| format!(" (was {old})")).unwrap_or_default();
    format!("{letter}  {lines:<9}  {}{from}", file.path)
}

fn patch(diff: &FileDiff, output: Output) -> String {
    if diff.binary {
        return format!("{}: binary\n", diff.path);
    }
    let coloured = |line: &str| match line.chars().next() {
        _ if line.starts_with("+++") || line.starts_with("---") => output.paint(Tone::Strong, line),
        Some('+') => output.paint(Tone::Good, line),
        Some('-') => output.paint(Tone::Bad, line),
        Some('@') => output.paint(Tone::Quiet, line),
        _ => line.to_owned(),
    };
    let cut = if diff.too_large { "(the rest is too large to show)\n" } else { "" };
    format!("{}\n{cut}", diff.patch.lines().map(coloured).collect::<Vec<_>>().join("\n"))
}
