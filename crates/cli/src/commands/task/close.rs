//! `freehold task archive` and `freehold task delete`: asks, then waits for what becomes of the workspace.

use freehold_api::cleanup::{CleanupQuery, CloseOptions, CloseQuery, CloseReport};

use crate::arguments::CloseTask;
use crate::commands::cleanup;
use crate::commands::trash::size;
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, short};

/// A way to close a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is put away; its branches stay.
    Archive,
    /// It goes.
    Delete,
}

impl Action {
    const fn word(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Delete => "delete",
        }
    }
}

/// Carries out the command.
///
/// To be asked and say yes, or `--yes`, is consent to a seal. Without it, a task with work that exists nowhere else
/// stays as it is.
pub(crate) fn run(
    connection: &Connection,
    action: Action,
    arguments: &CloseTask,
    output: Output,
) -> Result<(), Failure> {
    let client = &connection.client;
    let task_id = lookup::task(client, &arguments.task)?;
    let mut consents = arguments.yes;
    if output.can_ask() && !arguments.yes {
        let query = CloseQuery { action: action.word().to_owned() };
        let report = client.close_report(&task_id, &query)?;
        output.note(&described(action, &report));
        for part in report.sub_tasks.iter().filter(|_| arguments.sub_tasks) {
            let of_part = client.close_report(&part.id, &query)?;
            let stakes = of_part.sealed.iter().chain(&of_part.stakes).map(cleanup::stake_text);
            let stakes = stakes.collect::<Vec<_>>().join("\n");
            output.note(&format!("{}: {}\n{stakes}", short(&part.id), of_part.workspace_path));
        }
        if !output.confirm(&format!("Really {} the task?", action.word()))? {
            output.note("Nothing was changed.");
            return Ok(());
        }
        consents = true;
    }
    let options = CloseOptions {
        seal: Some(consents),
        sub_tasks: Some(arguments.sub_tasks),
        borrowers: Some(arguments.borrowers.clone()),
    };
    let closed = match action {
        Action::Archive => client.archive_task(&task_id, &options),
        Action::Delete => client.delete_task(&task_id, &options),
    };
    let job = closed.map_err(|error| explained(action, &arguments.task, error.into()))?;
    if !arguments.sub_tasks {
        return cleanup::wait_and_show(connection, job, output);
    }
    let mut jobs = client.cleanup_jobs(&CleanupQuery::default())?;
    jobs.retain(|other| other.operation == job.operation);
    cleanup::wait_and_show_all(connection, jobs, output)
}

/// Lists what exists nowhere else, where that is why a task was not closed.
fn explained(action: Action, task: &str, mut failure: Failure) -> Failure {
    if failure.exit == Exit::NeedsDecision && !failure.body.stakes.is_empty() {
        let stakes: Vec<String> = failure.body.stakes.iter().map(cleanup::stake_text).collect();
        failure.body.message = format!(
            "the task has work that exists nowhere else, so nothing was changed:\n{}",
            stakes.join("\n")
        );
        failure.body.hint = format!(
            "to seal it, so that it can be brought back: freehold task {} {task} --yes",
            action.word()
        );
    }
    failure
}

fn described(action: Action, report: &CloseReport) -> String {
    let mut lines = Vec::new();
    if report.live_sessions > 0 {
        lines.push(format!("Agents that are stopped: {}", report.live_sessions));
    }
    if report.keeps_workspace {
        lines
            .push(format!("Nothing is removed; the workspace is yours and stays: {}", report.workspace_path));
    } else if !report.workspace_path.is_empty() && report.borrowers.is_empty() {
        lines.push(format!("The workspace is sealed and given back: {}", report.workspace_path));
        lines.push(format!("Comes back to the disk: {}", size(report.disk_bytes)));
    }
    if !report.sub_tasks.is_empty() {
        lines.push("Its sub-tasks, which are closed with it only with --sub-tasks:".to_owned());
        lines.extend(report.sub_tasks.iter().map(|task| format!("  {}  {}", short(&task.id), task.title)));
    }
    if !report.borrowers.is_empty() {
        let becomes = match &report.heir_id {
            Some(id) => format!("{} owns it from then on", short(id)),
            None => "none of them can take it over".to_owned(),
        };
        lines.push(format!("Other tasks work in its workspace; {becomes}:"));
        lines.extend(report.borrowers.iter().map(|task| format!("  {}  {}", short(&task.id), task.title)));
    }
    if !report.sealed.is_empty() {
        lines.push("Exists nowhere else; the seal keeps it:".to_owned());
        lines.extend(report.sealed.iter().map(cleanup::stake_text));
    }
    lines.extend(report.found_elsewhere.iter().cloned());
    if !report.branches_kept.is_empty() {
        lines.push(format!("Branches that stay: {}", report.branches_kept.join(", ")));
    }
    lines.push(match action {
        Action::Archive => {
            "`freehold task unarchive` brings the same files back to the same place.".to_owned()
        }
        Action::Delete => {
            let until = report.restorable_until.as_deref().and_then(|until| until.get(..10));
            let until = until.map(|day| format!(" until {day}")).unwrap_or_default();
            format!("It goes to the trash; `freehold trash restore` brings it back{until}.")
        }
    });
    if !report.stakes.is_empty() {
        lines.push("No seal holds this; it is not removed without your decision:".to_owned());
        lines.extend(report.stakes.iter().map(cleanup::stake_text));
    }
    lines.join("\n")
}
