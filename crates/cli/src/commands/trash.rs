//! `freehold trash`: deleted tasks and what is kept of them.

use freehold_api::client::Client;
use freehold_api::task::FileDiff;
use freehold_api::trash::{
    LeftOut, Seal, SealedChanges, SealedDiffQuery, TaskFromSeal, TrashQuery, TrashedTask,
};
use serde::Serialize;

use crate::arguments::{RestoreTask, SealedDiff, TrashCommand};
use crate::commands::{cleanup, task};
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, Tone, one_line, short, table};

/// A seal with the patches of its files.
#[derive(Debug, Serialize)]
struct Changed {
    #[serde(flatten)]
    changes: SealedChanges,
    diffs: Vec<FileDiff>,
}

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: &TrashCommand, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    match command {
        TrashCommand::List => {
            let trash = client.trash(&TrashQuery::default())?;
            output.answer(&trash, || listed(&trash))
        }
        TrashCommand::Show { task } => {
            let seals = client.seals(&lookup::closed_task(client, task)?)?;
            output.answer(&seals, || shown(&seals, output))
        }
        TrashCommand::Diff(arguments) => diff(client, arguments, output),
        TrashCommand::Restore(arguments) => {
            let task_id = lookup::closed_task(client, &arguments.reopen.task)?;
            if arguments.as_new_task {
                return restore_as_new(client, &task_id, arguments, output);
            }
            task::reopen::run(connection, &task_id, &arguments.reopen, output)
        }
        TrashCommand::Purge { task, yes } => purge(connection, task, *yes, output),
    }
}

fn restore_as_new(
    client: &Client,
    task_id: &str,
    arguments: &RestoreTask,
    output: Output,
) -> Result<(), Failure> {
    let seals = client.seals(task_id)?;
    let wanted = arguments.seal.as_deref().unwrap_or_default();
    let found = seals.iter().find(|one| one.seal.id.starts_with(wanted));
    let seal = &found.map(|one| &one.seal).ok_or_else(|| {
        let message = match wanted {
            "" => "nothing was sealed of this task".to_owned(),
            wanted => format!("no seal of this task has an id that begins with {wanted:?}"),
        };
        Failure::new(Exit::NotFound, "no_seal", message)
            .hint("see what is kept with: freehold trash show TASK")
            .subject(if wanted.is_empty() { task_id } else { wanted })
    })?;
    let request = TaskFromSeal { title: arguments.title.clone() };
    let detail = client.task_from_seal(&seal.id, &request)?;
    output.answer(&detail, || {
        let place = detail.environment.as_ref().map_or("", |environment| &environment.workspace_path);
        format!("{} is a new task ({}) at {place}", detail.task.title, short(&detail.task.id))
    })
}

fn purge(connection: &Connection, task: &str, yes: bool, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let trashed = client.trashed_task(&lookup::trashed_task(client, task)?)?;
    if !yes {
        if !output.can_ask() {
            let message = format!("{} would be gone for good, with its seals", trashed.task.title);
            return Err(Failure::new(Exit::NeedsDecision, "not_confirmed", message)
                .hint("nothing was changed; say so with --yes")
                .subject(trashed.task.id));
        }
        output.note(&described(&trashed));
        if !output.confirm("Really let it go for good?")? {
            output.note("Nothing was changed.");
            return Ok(());
        }
    }
    let job = client.purge_task(&trashed.task.id)?;
    cleanup::wait_and_show(connection, job, output)
}

fn described(trashed: &TrashedTask) -> String {
    let places: Vec<String> = trashed.seals.iter().map(|seal| format!("  {}", seal_line(seal))).collect();
    format!("{}\n{}", trashed.task.title, places.join("\n"))
}

fn diff(client: &Client, arguments: &SealedDiff, output: Output) -> Result<(), Failure> {
    let mut changed = Vec::new();
    for mut changes in client.seals(&lookup::closed_task(client, &arguments.task)?)? {
        if let Some(path) = &arguments.path {
            changes.files.retain(|file| file.path == *path);
        }
        let mut diffs = Vec::new();
        for file in changes.files.iter().filter(|_| !arguments.stat) {
            diffs.push(client.sealed_diff(&changes.seal.id, &SealedDiffQuery { path: file.path.clone() })?);
        }
        changed.push(Changed { changes, diffs });
    }
    if let Some(path) = &arguments.path
        && changed.iter().all(|one| one.changes.files.is_empty())
    {
        let message = format!("{path} has no change in the seals of this task");
        return Err(Failure::new(Exit::NotFound, "not_changed", message).subject(path));
    }
    output.answer(&changed, || {
        let mut text = String::new();
        for Changed { changes, diffs } in &changed {
            text.push_str(&format!("{}\n", output.paint(Tone::Strong, &seal_line(&changes.seal))));
            if !changes.error_message.is_empty() {
                text.push_str(&format!("{}\n", output.paint(Tone::Bad, &changes.error_message)));
            }
            text.push_str(&task::diff::files_and_patches(&changes.files, diffs, output));
            text.push('\n');
        }
        if text.is_empty() { "Nothing was sealed of this task.".to_owned() } else { text }
    })
}

fn listed(trash: &[TrashedTask]) -> String {
    let row = |trashed: &TrashedTask| {
        let TrashedTask { task, trashed_at, expires_at, size_bytes, .. } = trashed;
        let (since, until) = (day(trashed_at), day(expires_at));
        vec![short(&task.id).to_owned(), since, until, size(*size_bytes), one_line(&task.title, 60)]
    };
    let rows = trash.iter().map(row).collect();
    table(&["id", "deleted", "kept until", "size", "title"], rows, "The trash is empty.")
}

fn shown(seals: &[SealedChanges], output: Output) -> String {
    let mut text = String::new();
    for SealedChanges { seal, files, error_message } in seals {
        text.push_str(&format!("{}\n", output.paint(Tone::Strong, &seal_line(seal))));
        if !error_message.is_empty() {
            text.push_str(&format!("  {}\n", output.paint(Tone::Bad, error_message)));
        }
        text.push_str(&format!(
            "  {} files, {}; {} changed\n",
            seal.file_count,
            size(seal.size_bytes),
            files.len()
        ));
        for LeftOut { path, size_bytes, reason } in &seal.left_out {
            let bytes = size_bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
            text.push_str(&format!("  left out: {path} ({}{bytes})\n", reason.replace('_', " ")));
        }
    }
    if text.is_empty() { "Nothing was sealed of this task.".to_owned() } else { text }
}

fn seal_line(seal: &Seal) -> String {
    let branch = match seal.branch.as_str() {
        _ if seal.kind == "folder" => "a folder",
        "" => "no branch",
        branch => branch,
    };
    format!(
        "{}  {}  {branch}",
        seal.created_at.get(..16).unwrap_or_default().replace('T', " "),
        seal.worktree_path
    )
}

pub(crate) fn day(instant: &str) -> String {
    instant.get(..10).unwrap_or(instant).to_owned()
}

/// A number of bytes as people read it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 10 * 1_024 && unit + 1 < UNITS.len() {
        value /= 1_024;
        unit += 1;
    }
    format!("{value} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_a_unit_that_keeps_them_short() {
        assert_eq!(
            [0, 10_239, 10_240, 20 << 20, 40 << 30].map(size),
            ["0 B", "10239 B", "10 KiB", "20 MiB", "40 GiB"]
        );
    }
}
