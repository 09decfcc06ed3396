//! `freehold upgrade` and `freehold import`: what to do with a database that somebody brings along.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// How to upgrade.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Nothing is changed unless everything can be. An SQLite database is first copied into the
folder backups beside it; of a PostgreSQL database make a backup yourself.

Examples:
  freehold upgrade --plan
  freehold upgrade --db ~/.kandev/data/kandev.db --plan --json
  freehold upgrade --db postgres://me@localhost/work --resolve owner:3f2a=9c41")]
pub(crate) struct UpgradeOptions {
    /// Show what would be done and what you must decide, and change nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Answer a question that the plan asks; can be repeated
    #[arg(long = "resolve", value_name = "CONFLICT=CHOICE")]
    pub(crate) resolutions: Vec<String>,
}

/// Take over from another program.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Copy the database of a Kandev home and upgrade the copy; the original stays as it was
    Kandev(ImportKandev),
}

/// What to import, and where to.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Stop Kandev first. Worktrees stay where they are on disk, and belong to their tasks in
Freehold as well.

Examples:
  freehold import kandev
  freehold import kandev --home /srv/kandev --into ~/.freehold")]
pub(crate) struct ImportKandev {
    /// The home folder of Kandev; by default KANDEV_HOME_DIR, or else ~/.kandev
    // The same name as the option of every command, which it stands in for here.
    #[arg(long = "home", id = "home", value_name = "DIR")]
    pub(crate) kandev_home: Option<PathBuf>,
    /// The home folder of Freehold to fill; by default FREEHOLD_HOME, or else ~/.freehold
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Answer a question that the plan asks; can be repeated
    #[arg(long = "resolve", value_name = "CONFLICT=CHOICE")]
    pub(crate) resolutions: Vec<String>,
}
