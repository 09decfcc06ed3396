//! The command line: every command, argument and help text.

mod cleanup;
mod repo;
mod session;
mod storage;
mod task;
mod trash;
mod upgrade;
mod workspace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use cleanup::CleanupCommand;
pub(crate) use repo::{SetRepository, TrustRepository};
pub(crate) use session::{DeleteSession, SendPrompt, SessionCommand, StartSession};
pub(crate) use storage::{Quarantine, StorageCommand};
pub(crate) use task::{
    CloseTask, NewTask, ReopenTask, ResetTask, StartPoint, StartTask, TaskCommand, TaskDiff,
};
pub(crate) use trash::{RestoreTask, SealedDiff, TrashCommand};
pub(crate) use upgrade::{ImportCommand, ImportKandev, UpgradeOptions};
pub(crate) use workspace::{DeleteBoard, DeleteWorkspace, SetColumn, WorkspaceCommand};

/// The port of a server that was not given another.
pub(crate) const DEFAULT_PORT: u16 = 7717;

const EVERY_COMMAND: &str = "Options of every command";

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  wrong arguments or values
  3  something named does not exist
  4  waits for your decision; nothing was removed
  5  not possible now: closed, busy, or being cleaned up
  6  the server or the database cannot be reached

Ids may be shortened to a beginning that only one has.

Examples:
  freehold                                     start, and open the browser
  freehold repo add ~/code/shop                register a repository
  freehold task new 'Fix the typo' --wait      let an agent work in its own workspace
  freehold task diff 3f2a                      see what it changed
  freehold task archive 3f2a                   seal it and give the disk space back
  freehold task unarchive 3f2a                 the same files are back at the same place";

/// Runs coding agents, each task in a workspace of its own.
///
/// Without a command, Freehold starts its server and opens the browser.
#[derive(Debug, Parser)]
#[command(name = "freehold", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalOptions {
    /// The folder with everything Freehold keeps; by default ~/.freehold
    #[arg(long, global = true, help_heading = EVERY_COMMAND, value_name = "DIR", env = "FREEHOLD_HOME", hide_env_values = true)]
    pub(crate) home: Option<PathBuf>,
    /// The database: a file, or postgres://USER:PASSWORD@HOST/DATABASE; by default a file in the home folder
    #[arg(long, global = true, help_heading = EVERY_COMMAND, value_name = "URL", visible_alias = "db", env = "FREEHOLD_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// Print one JSON document on standard output; errors go as JSON to standard error
    #[arg(long, global = true, help_heading = EVERY_COMMAND)]
    pub(crate) json: bool,
    /// What to write to standard error about the work inside, for example `info` or `freehold_engine=debug`
    #[arg(long, global = true, help_heading = EVERY_COMMAND, value_name = "FILTER", env = "FREEHOLD_LOG", hide_env_values = true)]
    pub(crate) log: Option<String>,
    /// How many days deleted tasks stay in the trash, and seals that bring nothing back are kept
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "N",
        env = "FREEHOLD_RETENTION_DAYS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub(crate) retention_days: u16,
    /// How long an agent may take to answer the greeting, in milliseconds
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "N",
        env = "FREEHOLD_AGENT_HANDSHAKE_MS",
        default_value_t = 30_000
    )]
    pub(crate) agent_handshake_ms: u64,
    /// How many worktrees are made ahead of time for each repository in use; 0 makes none
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "N",
        env = "FREEHOLD_IDLE_WORKTREES",
        default_value_t = 1
    )]
    pub(crate) idle_worktrees: u32,
    /// How many of the newest runs of each automation keep their workspaces on a board; older finished ones are
    /// archived, sealed
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "N",
        env = "FREEHOLD_AUTOMATION_RUNS",
        default_value_t = 5
    )]
    pub(crate) keep_automation_runs: u32,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(ServeOptions),
    /// Register and list repositories
    #[command(subcommand)]
    Repo(RepoCommand),
    /// Create, watch, review and close tasks
    #[command(subcommand)]
    Task(TaskCommand),
    /// Talk to the agents of a task
    #[command(subcommand)]
    Session(SessionCommand),
    /// Register and list agents
    #[command(subcommand)]
    Agent(AgentCommand),
    /// See workspaces with their boards, delete them, and let columns archive by themselves
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// See and decide about workspaces that are being given back
    #[command(subcommand)]
    Cleanup(CleanupCommand),
    /// Look into deleted tasks, bring them back, or let them go for good
    #[command(subcommand)]
    Trash(TrashCommand),
    /// See what takes room, what nobody owns, and what is in quarantine
    #[command(subcommand)]
    Storage(StorageCommand),
    /// Make an older database Freehold's own, completely or not at all
    Upgrade(UpgradeOptions),
    /// Take over from another program
    #[command(subcommand)]
    Import(ImportCommand),
    /// Play a task's whole life and verify every step on disk
    Demo(DemoOptions),
    /// Check this machine, the home folder and the database
    Doctor,
    /// Print the completions for a shell
    #[command(
        after_help = "Example:\n  freehold completions bash > ~/.local/share/bash-completion/completions/freehold"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the OpenAPI document of the HTTP interface
    #[command(hide = true)]
    Openapi,
    /// Run the agent that ships with Freehold, over the standard streams
    #[command(hide = true)]
    DemoAgent {
        /// A JSON file that says what it does
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
    },
}

/// How to serve.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  freehold serve --no-open\n  freehold serve --port 0 --json    one line with the address, once healthy"
)]
pub(crate) struct ServeOptions {
    /// The port on the loopback interface; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Do not open the browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Register a small sample repository, unless one is registered already
    #[arg(long)]
    pub(crate) sample: bool,
    /// Refuse an older database and show what an upgrade would do, instead of upgrading it
    #[arg(long)]
    pub(crate) no_upgrade: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { port: DEFAULT_PORT, no_open: false, sample: false, no_upgrade: false }
    }
}

/// Register and list repositories.
#[derive(Debug, Subcommand)]
pub(crate) enum RepoCommand {
    /// Register a repository; nothing in it is changed
    #[command(after_help = "Examples:\n  freehold repo add .\n  freehold repo add ~/code/shop --name shop")]
    Add {
        /// A checkout, a folder inside one, or a bare repository
        path: PathBuf,
        /// The name to show; by default the folder's
        #[arg(long)]
        name: Option<String>,
    },
    /// List the registered repositories
    List,
    /// Show a repository with what is set for its workspaces
    Show {
        /// The repository by name, id or path
        repo: String,
    },
    /// Set what new workspaces of a repository get
    Set(SetRepository),
    /// Trust the scripts in `.freehold` of a repository, by what they contain
    Trust(TrustRepository),
}

/// Register and list agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Register a program that speaks the Agent Client Protocol over its standard streams
    #[command(after_help = "Example:\n  freehold agent add gemini --env GEMINI_API_KEY=… -- gemini --acp")]
    Add {
        /// The name to show
        name: String,
        /// A variable the agent gets beyond the usual ones; can be repeated
        #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_variable)]
        variables: Vec<(String, String)>,
        /// The program, an absolute path or a name in PATH, and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// List the agents
    List,
}

/// How to play the demo.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The demo uses a home folder and a server of its own. It works on a repository that it makes, or on a clone of
the one named; the named one is only read.

Examples:
  freehold demo
  freehold demo --repo ~/code/shop --database postgres://me@localhost/scratch")]
pub(crate) struct DemoOptions {
    /// A repository to clone and play on, instead of a made-up one
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// How many files the made-up repository has
    #[arg(long, value_name = "N", default_value_t = 2_100, value_parser = clap::value_parser!(u32).range(10..=1_000_000), conflicts_with = "repo")]
    pub(crate) files: u32,
    /// Keep the folder of the demo to look at
    #[arg(long)]
    pub(crate) keep: bool,
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_variable_has_a_name() {
        assert_eq!(parse_variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert!(parse_variable("=b").is_err());
        assert!(parse_variable("A").is_err());
    }
}
