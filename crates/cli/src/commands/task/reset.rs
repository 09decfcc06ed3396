//! `freehold task reset` and `freehold task transfer`: a fresh workspace, or another owner for one.

use freehold_api::cleanup::CloseQuery;
use freehold_api::task::{ResetWorkspace, TransferWorkspace};

use crate::arguments::ResetTask;
use crate::commands::cleanup;
use crate::commands::trash::size;
use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::lookup;
use crate::output::{Output, short};

/// Carries out the command. To be asked and say yes, or `--yes`, is consent to a seal.
pub(super) fn run(connection: &Connection, arguments: &ResetTask, output: Output) -> Result<(), Failure> {
    let task_id = lookup::task(&connection.client, &arguments.task)?;
    let mut consents = arguments.yes;
    if output.can_ask() && !consents {
        output.note("The workspace is sealed and given back; the task stays open and gets a fresh one.");
        let query = CloseQuery { action: "archive".to_owned() };
        let report = connection.client.close_report(&task_id, &query)?;
        let at_stake = report.sealed.iter().chain(&report.stakes);
        at_stake.for_each(|stake| output.note(&cleanup::stake_text(stake)));
        output.note(&format!("Comes back to the disk: {}", size(report.disk_bytes)));
        if !output.confirm("Really reset it?")? {
            output.note("Nothing was changed.");
            return Ok(());
        }
        consents = true;
    }
    let start = arguments.from_base_branch.then(|| "base_branch".to_owned());
    let request = ResetWorkspace { start, seal: consents, borrowers: None };
    let job = connection.client.reset_workspace(&task_id, &request).map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.exit == Exit::NeedsDecision && !failure.body.stakes.is_empty() {
            failure.body.hint = format!("to seal it: freehold task reset {} --yes", arguments.task);
        }
        failure
    })?;
    cleanup::wait_and_show(connection, job, output)
}

/// Gives the workspace of one task to another.
pub(super) fn transfer(connection: &Connection, task: &str, to: &str, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let (from, to) = (lookup::task(client, task)?, lookup::task(client, to)?);
    let detail = client.transfer_workspace(&from, &TransferWorkspace { to })?;
    output.answer(&detail, || {
        let path = detail.environment.as_ref().map_or("", |environment| &environment.workspace_path);
        format!("{path} belongs to {} from now on.", short(&detail.task.id))
    })
}
