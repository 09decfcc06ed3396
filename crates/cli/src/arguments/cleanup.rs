//! `freehold cleanup …`.

use clap::Subcommand;

/// See and decide about workspaces that are being given back.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  freehold cleanup list
  freehold cleanup retry 51ce      after what stands in the way was moved or ended
  freehold cleanup keep 51ce       call it off; the task comes back with its workspace
  freehold cleanup discard 51ce    lose what no seal holds, and give the workspace back")]
pub(crate) enum CleanupCommand {
    /// List cleanup jobs
    List {
        /// Only those that wait for a decision
        #[arg(long)]
        waiting: bool,
    },
    /// Look again, after what stands in the way was moved or ended
    Retry {
        /// The cleanup job, or its task
        job: String,
    },
    /// Call the cleanup off; the task comes back with its workspace
    Keep {
        /// The cleanup job, or its task
        job: String,
    },
    /// Lose what no seal holds, such as a repository inside the workspace, and give the workspace back
    Discard {
        /// The cleanup job, or its task
        job: String,
        /// The phrase that says exactly how much is lost, for example 'discard 2'; asked for on a terminal
        #[arg(long, value_name = "PHRASE")]
        confirm: Option<String>,
    },
}
