//! `freehold storage …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// See what takes room, what nobody owns, and what is in quarantine.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Sizes are measured in the background and remembered; nothing that has no owner is removed by itself.

Examples:
  freehold storage show
  freehold storage unowned
  freehold storage quarantine ~/.freehold/workspaces/3f2a/shop
  freehold storage restore 7c1e")]
pub(crate) enum StorageCommand {
    /// Show what takes room, by repository and task
    Show {
        /// Measure everything anew, in the background
        #[arg(long)]
        measure: bool,
    },
    /// List what is on disk and no task owns
    Unowned,
    /// List what is in quarantine, or put something without an owner there
    Quarantine(Quarantine),
    /// Take something back from the quarantine
    Restore {
        /// The entry
        entry: String,
        /// Where it goes, when something is at its place; nothing is overwritten
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
    },
    /// Let something go from the quarantine for good, with its seals
    Purge {
        /// The entry
        entry: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Put something into quarantine.
#[derive(Debug, Args)]
#[command(after_help = "\
It is sealed and moved aside, and goes for good with the days of the trash. Where nothing tells whose it is, another
Freehold may be working there: then its name is asked for, or wanted with --confirm.")]
pub(crate) struct Quarantine {
    /// A path that `freehold storage unowned` lists; without it, what is in quarantine is listed
    pub(crate) path: Option<PathBuf>,
    /// The name of the directory, where its owner is unknown
    #[arg(long, value_name = "NAME", requires = "path")]
    pub(crate) confirm: Option<String>,
}
