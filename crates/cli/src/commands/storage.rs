//! `freehold storage`: what takes room, what nobody owns, and the quarantine.

use freehold_api::client::ClientError;
use freehold_api::storage::{
    QuarantineEntry, QuarantinePlace, RestoreQuarantined, Room, Storage, TaskStorage, UnownedPlace,
};

use crate::arguments::{Quarantine, StorageCommand};
use crate::commands::cleanup;
use crate::commands::trash::{day, size};
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, Tone, one_line, short, table};

/// Carries out the command.
pub(crate) fn run(connection: &Connection, command: &StorageCommand, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    match command {
        StorageCommand::Show { measure } => {
            let storage = if *measure { client.measure_storage()? } else { client.storage()? };
            output.answer(&storage, || shown(&storage, output))
        }
        StorageCommand::Unowned => {
            let places = client.unowned()?;
            output.answer(&places, || unowned(&places))
        }
        StorageCommand::Quarantine(arguments) => quarantine(connection, arguments, output),
        StorageCommand::Restore { entry, to } => {
            let path = to.as_deref().map(absolute).transpose()?;
            let id = lookup::quarantine_entry(client, entry)?;
            let restored = client.restore_quarantined(&id, &RestoreQuarantined { path })?;
            output.answer(&restored, || {
                let note = if restored.error_message.is_empty() {
                    String::new()
                } else {
                    format!("\nBut {}.", restored.error_message)
                };
                format!("Done: it is back at {}.{note}", restored.restore_path)
            })
        }
        StorageCommand::Purge { entry, yes } => purge(connection, entry, *yes, output),
    }
}

fn absolute(path: &std::path::Path) -> Result<String, Failure> {
    let found = std::path::absolute(path).map_err(|error| Failure::file("find", path, &error))?;
    Ok(found.display().to_string())
}

fn quarantine(connection: &Connection, arguments: &Quarantine, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let Some(path) = &arguments.path else {
        let entries = client.quarantine()?;
        return output.answer(&entries, || listed(&entries));
    };
    let mut request = QuarantinePlace {
        path: absolute(path)?,
        confirm: arguments.confirm.clone(),
        requested_by: std::env::var("USER").ok().filter(|name| name.chars().count() <= 100),
    };
    let entry = match client.quarantine_place(&request) {
        Err(error) if is_owner_unknown(&error) && arguments.confirm.is_none() && output.can_ask() => {
            output.note(&error.to_string());
            request.confirm = Some(output.ask("Type the name of the directory to move it anyway: ")?);
            client.quarantine_place(&request)?
        }
        other => other?,
    };
    let job = cleanup::at_rest(connection, client.cleanup_job(&entry.job_id)?)?;
    if job.state != "succeeded" {
        return cleanup::wait_and_show(connection, job, output);
    }
    let entry = client.quarantine_entry(&entry.id)?;
    output.answer(&entry, || {
        let until = entry.expires_at.as_deref().map(day).unwrap_or_default();
        let id = short(&entry.id);
        match entry.state.as_str() {
            "held" => format!(
                "Done: {} is in quarantine until {until}.\nUndo: freehold storage restore {id}",
                entry.original_path
            ),
            _ => format!("Nothing was moved: {} has an owner by now, or is gone.", entry.original_path),
        }
    })
}

fn is_owner_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { body, .. } if body.code == "owner_unknown")
}

fn purge(connection: &Connection, entry: &str, yes: bool, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let entry = client.quarantine_entry(&lookup::quarantine_entry(client, entry)?)?;
    if !yes {
        let what = format!("{} would be gone for good, with its seals", entry.original_path);
        if !output.can_ask() {
            return Err(Failure::new(Exit::NeedsDecision, "not_confirmed", what)
                .hint("nothing was changed; say so with --yes")
                .subject(entry.id));
        }
        output.note(&format!("{what}."));
        if !output.confirm("Really let it go for good?")? {
            output.note("Nothing was changed.");
            return Ok(());
        }
    }
    let job = client.purge_quarantined(&entry.id)?;
    cleanup::wait_and_show(connection, job, output)
}

fn shown(storage: &Storage, output: Output) -> String {
    let free = storage.free_bytes.map_or_else(String::new, |free| format!(", {} free", size(free)));
    let mut text = format!("{}{free}\n", storage.root);
    if storage.is_measuring {
        text.push_str("Sizes are being measured.\n");
    }
    let repositories = storage.repositories.iter().map(|repository| {
        vec![
            one_line(&repository.name, 40),
            repository.worktrees.count.to_string(),
            room(&repository.worktrees),
            size(repository.seal_bytes),
        ]
    });
    let headings = ["repository", "worktrees", "on disk", "sealed"];
    let repositories = table(&headings, repositories.collect(), "No repository is registered.");
    let mut tasks: Vec<&TaskStorage> = storage.tasks.iter().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.workspace.size_bytes + task.seal_bytes));
    let tasks = table(
        &["task", "state", "on disk", "sealed", "measured", "title"],
        tasks.into_iter().map(task_row).collect(),
        "No task owns anything on disk.",
    );
    for (title, part) in [("Repositories", repositories), ("Tasks", tasks)] {
        text.push_str(&format!("\n{}\n{part}\n", output.paint(Tone::Strong, title)));
    }
    let others = [
        ("made ahead of time", &storage.idle),
        ("in quarantine", &storage.quarantine),
        ("without an owner", &storage.unowned),
    ];
    for (name, sum) in others {
        text.push_str(&format!("\n{} {name}: {}", sum.count, room(sum)));
    }
    text
}

fn task_row(task: &TaskStorage) -> Vec<String> {
    let on_disk = match task {
        TaskStorage { workspace_path, .. } if workspace_path.is_empty() => "nothing".to_owned(),
        TaskStorage { is_persons: true, .. } => "yours".to_owned(),
        _ => room(&task.workspace),
    };
    let on_disk = if task.hostname.is_empty() { on_disk } else { format!("{on_disk} on {}", task.hostname) };
    vec![
        short(&task.task_id).to_owned(),
        task.state.clone(),
        on_disk,
        size(task.seal_bytes),
        task.workspace.measured_at.as_deref().map(minute).unwrap_or_default(),
        one_line(&task.title, 50),
    ]
}

fn room(room: &Room) -> String {
    match room {
        Room { count: 0, .. } => "0 B".to_owned(),
        Room { measured_at: None, .. } => "not measured yet".to_owned(),
        Room { size_bytes, at_least, unmeasured, .. } if *at_least || *unmeasured > 0 => {
            format!("≥ {}", size(*size_bytes))
        }
        Room { size_bytes, .. } => size(*size_bytes),
    }
}

fn unowned(places: &[UnownedPlace]) -> String {
    let row = |place: &UnownedPlace| {
        let bytes = place.size_bytes.map_or_else(|| "not measured yet".to_owned(), size);
        vec![
            place.path.clone(),
            place.kind.clone(),
            if place.at_least { format!("≥ {bytes}") } else { bytes },
            place.since.as_deref().map(day).unwrap_or_default(),
            reason(place),
        ]
    };
    let rows: Vec<Vec<String>> = places.iter().map(row).collect();
    let is_empty = rows.is_empty();
    let listed =
        table(&["path", "kind", "size", "since", "reason"], rows, "Everything on disk has an owner.");
    if is_empty {
        return listed;
    }
    format!("{listed}\n\nNothing here is removed by itself. Move one aside: freehold storage quarantine PATH")
}

fn reason(place: &UnownedPlace) -> String {
    let reason = match place.reason.as_str() {
        "lost_owner" => "its owner was lost in an upgrade",
        "given_back" => "its task gave the workspace back, and something is here again",
        "restored" => "it was restored from the quarantine",
        "idle_in_doubt" => "it was made ahead of time, and there may be work in it",
        "trash_left_over" => "owner unknown: a removal left it half done",
        "quarantine_left_over" => "owner unknown: it is in quarantine, and no entry names it",
        _ => "owner unknown: no row of this database names it",
    };
    let more = [&place.detail, &place.refusal];
    let more: Vec<&str> = more.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    if more.is_empty() { reason.to_owned() } else { format!("{reason} ({})", more.join("; ")) }
}

fn listed(entries: &[QuarantineEntry]) -> String {
    let row = |entry: &QuarantineEntry| {
        vec![
            short(&entry.id).to_owned(),
            entry.state.replace('_', " "),
            entry.held_at.as_deref().map(day).unwrap_or_default(),
            entry.expires_at.as_deref().map(day).unwrap_or_default(),
            size(entry.size_bytes),
            entry.requested_by.clone(),
            entry.original_path.clone(),
        ]
    };
    let headings = ["id", "state", "since", "kept until", "size", "asked by", "was at"];
    table(&headings, entries.iter().map(row).collect(), "The quarantine is empty.")
}

fn minute(instant: &str) -> String {
    instant.get(..16).unwrap_or(instant).replace('T', " ")
}
