//! Plays the steps of one turn. A cancelled turn ends at once, whatever step it is in.

use std::path::Path;
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, RequestPermissionOutcome, RequestPermissionRequest, StopReason, TextContent,
    ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};

use super::script::{DemoStep, FileEdit, Flood, PermissionStep, StubbornChild};
use super::stage::Stage;
use super::{child, files};

/// The line that `edit_existing` puts at the end of a file.
const EDITED_LINE: &str = "Edited by the Freehold demo agent.\n";
/// The most names that `list` says.
const MAX_LISTED: usize = 200;

/// Plays the steps and says why the turn ended.
pub(super) async fn play(stage: &mut Stage, steps: &[DemoStep]) -> Result<StopReason, Error> {
    let cancelled = stage.cancelled.clone();
    tokio::select! {
        () = cancelled.cancelled() => Ok(StopReason::Cancelled),
        played = play_all(stage, steps) => played,
    }
}

async fn play_all(stage: &mut Stage, steps: &[DemoStep]) -> Result<StopReason, Error> {
    for step in steps {
        play_one(stage, step).await?;
    }
    Ok(StopReason::EndTurn)
}

async fn play_one(stage: &mut Stage, step: &DemoStep) -> Result<(), Error> {
    match step {
        DemoStep::Say { say, chunk_ms, chunks } => speak(stage, say, *chunk_ms, *chunks).await,
        DemoStep::Think { think } => stage.think(think),
        DemoStep::Plan { plan, done } => stage.plan(plan_of(plan, *done)),
        DemoStep::Edit { edit } => edit_file(stage, edit),
        DemoStep::EditExisting { edit_existing } => edit_first_files(stage, *edit_existing),
        DemoStep::Create { create } => {
            let content = Some(create.content.clone());
            edit_file(stage, &FileEdit { path: create.path.clone(), content, ..FileEdit::default() })
        }
        DemoStep::Read { read } => read_file(stage, &read.path),
        DemoStep::List { list } => {
            if *list {
                list_files(stage)
            } else {
                Ok(())
            }
        }
        DemoStep::Permission { permission } => ask(stage, permission).await,
        DemoStep::Wait { wait_ms } => {
            tokio::time::sleep(Duration::from_millis(*wait_ms)).await;
            Ok(())
        }
        DemoStep::Hang { hang } => {
            if *hang {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
        DemoStep::Fail { fail } => Err(Error::internal_error().data(fail.clone())),
        DemoStep::Exit { exit } => {
            stage.told_all().await;
            std::process::exit(*exit)
        }
        DemoStep::Garbage { garbage } => {
            if *garbage {
                stage.told_all().await;
                let _ = stage.raw_output.send("Segmentation fault (core dumped)".to_owned());
            }
            Ok(())
        }
        DemoStep::Flood { flood } => pour(stage, *flood),
        DemoStep::SpawnStubbornChild { spawn_stubborn_child } => {
            start_child(stage, spawn_stubborn_child).await
        }
        DemoStep::SayVariable { say_variable } => {
            let value = std::env::var(say_variable);
            stage.say(&format!("{say_variable}={}", value.as_deref().unwrap_or("(none)")))
        }
        DemoStep::Warn { warn } => {
            warn_line(warn);
            Ok(())
        }
    }
}

async fn speak(stage: &Stage, text: &str, pause_ms: u64, pieces: usize) -> Result<(), Error> {
    let letters: Vec<char> = text.chars().collect();
    let length = letters.len().div_ceil(pieces.max(1)).max(1);
    for (index, piece) in letters.chunks(length).enumerate() {
        if index > 0 && pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
        stage.say(&piece.iter().collect::<String>())?;
    }
    Ok(())
}

fn plan_of(entries: &[String], done: usize) -> Plan {
    let entry = |(index, text): (usize, &String)| {
        let status = if index < done { PlanEntryStatus::Completed } else { PlanEntryStatus::Pending };
        PlanEntry::new(text.clone(), PlanEntryPriority::Medium, status)
    };
    Plan::new(entries.iter().enumerate().map(entry).collect())
}

fn edit_file(stage: &mut Stage, edit: &FileEdit) -> Result<(), Error> {
    let path = stage.folder.join(&edit.path);
    let title = format!("{} {}", if path.exists() { "Edit" } else { "Write" }, edit.path.display());
    let call = stage.begin_call(&title, ToolKind::Edit, Some(&edit.path))?;
    stage.call_status(&call, ToolCallStatus::InProgress)?;
    match files::edit(&path, edit) {
        Ok(edited) => {
            let diff = Diff::new(path, edited.new_text).old_text(edited.old_text);
            stage.end_call(&call, ToolCallStatus::Completed, ToolCallContent::Diff(diff))
        }
        Err(error) => stage.end_call(&call, ToolCallStatus::Failed, text_content(&error.to_string())),
    }
}

fn edit_first_files(stage: &mut Stage, count: usize) -> Result<(), Error> {
    for path in files::text_files(&stage.folder, count) {
        edit_file(stage, &FileEdit { path, append: Some(EDITED_LINE.to_owned()), ..FileEdit::default() })?;
    }
    Ok(())
}

fn read_file(stage: &mut Stage, path: &Path) -> Result<(), Error> {
    let call = stage.begin_call(&format!("Read {}", path.display()), ToolKind::Read, Some(path))?;
    stage.call_status(&call, ToolCallStatus::InProgress)?;
    match std::fs::read_to_string(stage.folder.join(path)) {
        Ok(text) => {
            stage.end_call(&call, ToolCallStatus::Completed, text_content(&text))?;
            stage.say(&format!("`{}` holds:\n\n{text}\n\n", path.display()))
        }
        Err(error) => {
            stage.end_call(&call, ToolCallStatus::Failed, text_content(&error.to_string()))?;
            stage.say(&format!("`{}` is missing.\n\n", path.display()))
        }
    }
}

fn list_files(stage: &mut Stage) -> Result<(), Error> {
    let call = stage.begin_call("List the files", ToolKind::Search, None)?;
    stage.call_status(&call, ToolCallStatus::InProgress)?;
    let found = files::newest_files(&stage.folder, MAX_LISTED);
    let names: Vec<String> = found.iter().map(|path| format!("- `{}`", path.display())).collect();
    let names = names.join("\n");
    stage.end_call(&call, ToolCallStatus::Completed, text_content(&names))?;
    stage.say(&format!("I see these files, the one changed last first:\n\n{names}\n"))
}

async fn ask(stage: &mut Stage, step: &PermissionStep) -> Result<(), Error> {
    let call = stage.begin_call(&step.title, ToolKind::Edit, None)?;
    let asked = ToolCallUpdate::new(call.clone(), ToolCallUpdateFields::new().title(step.title.clone()));
    let request = RequestPermissionRequest::new(stage.session_id.clone(), asked, options_of(step));
    let answer = stage.connection.send_request(request).block_task().await?;
    let RequestPermissionOutcome::Selected(selected) = answer.outcome else {
        // A client answers "cancelled" when it cancels the turn, and the turn then ends with that reason.
        stage.call_status(&call, ToolCallStatus::Failed)?;
        stage.cancelled.cancel();
        return std::future::pending().await;
    };
    let is_allowed = selected.option_id.0.starts_with("allow");
    let status = if is_allowed { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    stage.call_status(&call, status)?;
    let steps = if is_allowed { &step.then } else { &step.otherwise };
    Box::pin(play_all(stage, steps)).await.map(drop)
}

fn options_of(step: &PermissionStep) -> Vec<PermissionOption> {
    let named = |kind: &str| {
        let (name, kind_value) = match kind {
            "allow_once" => ("Allow", PermissionOptionKind::AllowOnce),
            "allow_always" => ("Always allow", PermissionOptionKind::AllowAlways),
            "reject_always" => ("Never allow", PermissionOptionKind::RejectAlways),
            _ => ("Refuse", PermissionOptionKind::RejectOnce),
        };
        PermissionOption::new(kind.to_owned(), name, kind_value)
    };
    if step.options.is_empty() {
        ["allow_once", "reject_once"].into_iter().map(named).collect()
    } else {
        step.options.iter().map(|kind| named(kind)).collect()
    }
}

fn pour(stage: &Stage, flood: Flood) -> Result<(), Error> {
    let piece = "~".repeat(flood.bytes);
    (0..flood.chunks).try_for_each(|_| stage.say(&piece))
}

async fn start_child(stage: &Stage, step: &StubbornChild) -> Result<(), Error> {
    let pid_file = stage.folder.join(&step.pid_file);
    child::spawn_stubborn(step, &pid_file)
        .await
        .map_err(|error| Error::internal_error().data(error.to_string()))
}

/// Writes a line on standard error.
pub(super) fn warn_line(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn text_content(text: &str) -> ToolCallContent {
    ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))
}
