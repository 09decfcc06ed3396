//! `freehold cleanup …`.

use clap::Subcommand;

/// See and decide about workspaces that are being given back.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  freehold cleanup list
  freehold cleanup retry 51ce          after the work was committed or moved
  freehold cleanup keep 51ce           call it off; the task comes back with its workspace
  freehold cleanup keep-branch 51ce    remove the workspace, keep its commits on their branch")]
pub(crate) enum CleanupCommand {
    /// List cleanup jobs
    List {
        /// Only those that wait for a decision
        #[arg(long)]
        waiting: bool,
    },
    /// Look again, after the work was committed or moved
    Retry {
        /// The cleanup job, or its task
        job: String,
    },
    /// Call the cleanup off; the task comes back with its workspace
    Keep {
        /// The cleanup job, or its task
        job: String,
    },
    /// Remove the workspace but keep its branch, where only commits are at stake
    KeepBranch {
        /// The cleanup job, or its task
        job: String,
    },
}
