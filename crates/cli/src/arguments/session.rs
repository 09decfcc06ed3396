//! `freehold session …`.

use clap::{Args, Subcommand};

/// Talk to the agents of a task.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Start another session of a task, in the same workspace
    Start(StartSession),
    /// List the sessions of a task
    List {
        /// The task
        task: String,
    },
    /// Show a session with its conversation
    Show {
        /// The session
        session: String,
    },
    /// Send a prompt; starts the agent when it does not run
    Send(SendPrompt),
    /// End the session's agent; the conversation and the files stay
    Stop {
        /// The session
        session: String,
    },
    /// Delete a session and its conversation; the files stay
    Delete(DeleteSession),
}

/// Start another session.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  freehold session start 3f2a --agent gemini --prompt 'Review what was done'"
)]
pub(crate) struct StartSession {
    /// The task
    pub(crate) task: String,
    /// The agent by name or id; by default the task's
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) agent: Option<String>,
    /// A first prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Do not wait for the end of the turn
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// Send a prompt.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  freehold session send 9c1b 'Now add a test'")]
pub(crate) struct SendPrompt {
    /// The session
    pub(crate) session: String,
    /// The prompt
    #[arg(allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// Do not wait for the end of the turn
    #[arg(long)]
    pub(crate) no_wait: bool,
}

/// Delete a session.
#[derive(Debug, Args)]
pub(crate) struct DeleteSession {
    /// The session
    pub(crate) session: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
