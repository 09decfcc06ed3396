//! `freehold task archive` and `freehold task delete`: asks, then waits for what becomes of the workspace.

use freehold_api::cleanup::{CloseQuery, CloseReport};

use crate::arguments::CloseTask;
use crate::commands::cleanup;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::lookup;
use crate::output::Output;

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
/// Nobody to ask is no reason to stop: what is found nowhere else is not removed in any case.
pub(crate) fn run(
    connection: &Connection,
    action: Action,
    arguments: &CloseTask,
    output: Output,
) -> Result<(), Failure> {
    let client = &connection.client;
    let task_id = lookup::task(client, &arguments.task)?;
    if output.can_ask() && !arguments.yes {
        let query = CloseQuery { action: action.word().to_owned() };
        let report = client.close_report(&task_id, &query)?;
        output.note(&described(action, &report));
        if !output.confirm(&format!("Really {} the task?", action.word()))? {
            output.note("Nothing was changed.");
            return Ok(());
        }
    }
    let job = match action {
        Action::Archive => client.archive_task(&task_id)?,
        Action::Delete => client.delete_task(&task_id)?,
    };
    cleanup::wait_and_show(connection, job, output)
}

fn described(action: Action, report: &CloseReport) -> String {
    let mut lines = Vec::new();
    if report.live_sessions > 0 {
        lines.push(format!("Agents that are stopped: {}", report.live_sessions));
    }
    if !report.workspace_path.is_empty() {
        lines.push(format!("The workspace is given back: {}", report.workspace_path));
    }
    if !report.branches_kept.is_empty() {
        lines.push(format!("Branches that stay: {}", report.branches_kept.join(", ")));
    }
    if action == Action::Delete {
        lines.push("The task and its conversations are deleted for good.".to_owned());
    }
    if !report.stakes.is_empty() {
        lines.push("At stake, and therefore not removed without your decision:".to_owned());
        lines.extend(report.stakes.iter().map(cleanup::stake_text));
    }
    lines.join("\n")
}
