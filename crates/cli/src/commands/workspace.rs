//! `freehold workspace`: workspaces with their boards, and how they are deleted.

use freehold_api::workspace::{DeleteWorkflowOptions, DeleteWorkspaceOptions, UpdateStep, Workspace};

use crate::arguments::{DeleteBoard, DeleteWorkspace, SetColumn, WorkspaceCommand};
use crate::commands::cleanup;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::lookup;
use crate::output::{Output, short, table};

/// Carries out the command.
pub(crate) fn run(
    connection: &Connection,
    command: &WorkspaceCommand,
    output: Output,
) -> Result<(), Failure> {
    match command {
        WorkspaceCommand::List => {
            let workspaces = connection.client.workspaces()?;
            output.answer(&workspaces, || listed(&workspaces))
        }
        WorkspaceCommand::Delete(arguments) => delete(connection, arguments, output),
        WorkspaceCommand::DeleteBoard(arguments) => delete_board(connection, arguments, output),
        WorkspaceCommand::Column(arguments) => set_column(connection, arguments, output),
    }
}

fn listed(workspaces: &[Workspace]) -> String {
    let mut rows = Vec::new();
    for workspace in workspaces {
        for board in &workspace.workflows {
            for step in &board.steps {
                let rule = step.auto_archive_after_ms.map_or_else(String::new, |millis| {
                    let seals = if step.auto_archive_seals { ", sealed" } else { "" };
                    format!("after {}{seals}", spoken(millis))
                });
                let names = [&workspace.name, &board.name, &step.name].map(Clone::clone);
                rows.push([short(&workspace.id).to_owned()].into_iter().chain(names).chain([rule]).collect());
            }
        }
    }
    table(&["id", "workspace", "board", "column", "archived by itself"], rows, "No workspace here.")
}

fn spoken(millis: i64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = units.into_iter().find(|(unit, _)| millis % unit == 0);
    whole.map_or_else(|| format!("{millis}ms"), |(unit, word)| format!("{}{word}", millis / unit))
}

fn delete(connection: &Connection, arguments: &DeleteWorkspace, output: Output) -> Result<(), Failure> {
    let workspace = lookup::workspace(&connection.client, &arguments.workspace)?;
    let (confirm, seal) = match &arguments.confirm {
        Some(typed) => (typed.clone(), arguments.yes),
        None if output.can_ask() => {
            output.note("All its tasks are sealed and go to the trash.");
            (output.ask(&format!("Type {:?} to delete it: ", workspace.name))?, true)
        }
        None => (String::new(), false),
    };
    let options = DeleteWorkspaceOptions { confirm, seal: Some(seal) };
    let jobs = connection.client.delete_workspace(&workspace.id, &options)?;
    cleanup::wait_and_show_all(connection, jobs, output)
}

fn delete_board(connection: &Connection, arguments: &DeleteBoard, output: Output) -> Result<(), Failure> {
    let client = &connection.client;
    let to = arguments.to.as_deref().map(|text| lookup::board(client, text)).transpose()?;
    let board = lookup::board(client, &arguments.board)?;
    let options = DeleteWorkflowOptions {
        to: to.map(|board| board.id),
        close: arguments.close.clone(),
        seal: Some(arguments.yes),
    };
    let jobs = client.delete_workflow(&board.id, &options)?;
    cleanup::wait_and_show_all(connection, jobs, output)
}

fn set_column(connection: &Connection, arguments: &SetColumn, output: Output) -> Result<(), Failure> {
    let column = lookup::column(&connection.client, &arguments.column)?;
    let request = UpdateStep {
        auto_archive_after_ms: arguments.archive_after.filter(|_| !arguments.never),
        auto_archive_seals: arguments.seal,
    };
    let workspaces = connection.client.update_step(&column.id, &request)?;
    output.answer(&workspaces, || listed(&workspaces))
}
