//! `freehold trash …`.

use clap::{Args, Subcommand};

use super::task::ReopenTask;

/// Deleted tasks: look into them, bring them back, or let them go for good.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Deleted tasks stay in the trash for 30 days, with their conversations and every file of their workspace.

Examples:
  freehold trash list
  freehold trash diff 3f2a src/main.rs
  freehold trash restore 3f2a")]
pub(crate) enum TrashCommand {
    /// List the deleted tasks, the newest first
    List,
    /// Show what is kept of a task, archived ones included
    Show {
        /// The task
        task: String,
    },
    /// Show what a task's seals change
    Diff(SealedDiff),
    /// Bring a deleted task back, or make a new task of a sealed workspace
    Restore(RestoreTask),
    /// Let a deleted task go for good: its conversations and its seals
    Purge {
        /// The task
        task: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Bring a task, or what was sealed of it, back.
#[derive(Debug, Args)]
#[command(after_help = "\
With --as-new-task the task that was sealed stays as it is: the workspace of its newest seal, such as that of a reset,
comes to life in a new folder, on the sealed branch where that is free and else on a new one.")]
pub(crate) struct RestoreTask {
    #[command(flatten)]
    pub(crate) reopen: ReopenTask,
    /// Make a new task of the newest sealed workspace instead
    #[arg(long, conflicts_with_all = ["elsewhere", "branch", "sub_tasks"])]
    pub(crate) as_new_task: bool,
    /// The seal whose workspace becomes the new task, or the beginning of its id; `trash show --json` lists them
    #[arg(long, value_name = "SEAL", requires = "as_new_task")]
    pub(crate) seal: Option<String>,
    /// The title of the new task
    #[arg(long, requires = "as_new_task")]
    pub(crate) title: Option<String>,
}

/// Show what seals change.
#[derive(Debug, Args)]
pub(crate) struct SealedDiff {
    /// The task
    pub(crate) task: String,
    /// Only this file
    pub(crate) path: Option<String>,
    /// Only the names of the files
    #[arg(long, conflicts_with = "path")]
    pub(crate) stat: bool,
}
