//! `freehold workspace …`.

use clap::{Args, Subcommand};

/// Workspaces, boards and columns.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List the workspaces with their boards and columns
    List,
    /// Delete a workspace: all its tasks are sealed and go to the trash
    Delete(DeleteWorkspace),
    /// Delete a board: its tasks move to another board of the workspace
    DeleteBoard(DeleteBoard),
    /// Set when tasks that stand in a column are archived by themselves
    Column(SetColumn),
}

/// Delete a workspace.
#[derive(Debug, Args)]
#[command(after_help = "\
The workspace goes for good with the last of its tasks in the trash; a task that is brought back brings it back.

Example:
  freehold workspace delete Experiments --confirm Experiments --yes")]
pub(crate) struct DeleteWorkspace {
    /// The workspace by name or id
    pub(crate) workspace: String,
    /// Its name, typed again
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) confirm: Option<String>,
    /// Work that exists nowhere else is sealed; without, nothing is deleted while there is such work
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Delete a board.
#[derive(Debug, Args)]
pub(crate) struct DeleteBoard {
    /// The board by name or id
    pub(crate) board: String,
    /// The board to which its tasks move; by default the first other one of the workspace
    #[arg(long, value_name = "BOARD")]
    pub(crate) to: Option<String>,
    /// Close its open tasks, too
    #[arg(long, value_name = "HOW", value_parser = ["archive", "delete"])]
    pub(crate) close: Option<String>,
    /// Work that exists nowhere else is sealed; without, nothing is closed while there is such work
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Set a column's rule.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  freehold workspace column Done --archive-after 14d --seal
  freehold workspace column Done --never")]
pub(crate) struct SetColumn {
    /// The column by name or id
    pub(crate) column: String,
    /// How long a task stands here before it is archived, such as 12h or 14d
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse, required_unless_present = "never")]
    pub(crate) archive_after: Option<i64>,
    /// Seal work that exists nowhere else; without, a task with such work stays
    #[arg(long, requires = "archive_after")]
    pub(crate) seal: bool,
    /// Archive nothing by itself
    #[arg(long, conflicts_with = "archive_after")]
    pub(crate) never: bool,
}
