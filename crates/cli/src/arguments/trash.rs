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
    /// Bring a deleted task back
    Restore(ReopenTask),
    /// Let a deleted task go for good: its conversations and its seals
    Purge {
        /// The task
        task: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
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
