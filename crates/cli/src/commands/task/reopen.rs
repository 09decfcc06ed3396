//! `freehold task unarchive` and `freehold trash restore`: brings a closed task back.

use freehold_api::trash;

use crate::arguments::ReopenTask;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, short};

/// Carries out the command for a task whose id is known.
pub(crate) fn run(
    connection: &Connection,
    task_id: &str,
    arguments: &ReopenTask,
    output: Output,
) -> Result<(), Failure> {
    let request = trash::ReopenTask {
        place: arguments.elsewhere.then(|| "elsewhere".to_owned()),
        branch: Some(arguments.branch.clone()),
        sub_tasks: arguments.sub_tasks,
    };
    let reopened = connection.client.reopen_task(task_id, &request).map_err(Failure::from);
    let detail = reopened.map_err(|failure| {
        let id = short(task_id);
        let again = |option: &str| format!("nothing was changed; try: freehold task unarchive {id} {option}");
        match failure.body.code.as_str() {
            "path_taken" => failure.hint(again("--elsewhere")),
            "branch_moved" | "branch_in_use" | "branch_taken" => failure.hint(again("--branch new")),
            _ => failure,
        }
    })?;
    output.answer(&detail, || match &detail.environment {
        Some(environment) => format!("{} is back at {}", detail.task.title, environment.workspace_path),
        None => format!("{} is back; it had no workspace.", detail.task.title),
    })
}
