//! `freehold task …`.

use clap::{Args, Subcommand};

/// Create, watch, review and close tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Create a task and let an agent begin
    New(NewTask),
    /// List tasks
    List(ListTasks),
    /// Show a task with its workspace, sessions and cleanup jobs
    Show {
        /// The task
        task: String,
    },
    /// Make the workspace and start a first session
    Start(StartTask),
    /// Show what changed since the task's base commit
    Diff(TaskDiff),
    /// Put a task away and give its workspace back; branches stay
    Archive(CloseTask),
    /// Delete a task, its conversations and its workspace
    Delete(CloseTask),
}

/// Create a task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  freehold task new 'Fix the typo in the README' --wait
  freehold task new --repo shop --base release/2 --agent gemini 'Translate the help texts'
  freehold task new --title 'Look into it later' --no-start")]
pub(crate) struct NewTask {
    /// What the agent is asked to do
    #[arg(value_name = "PROMPT", conflicts_with = "prompt_option")]
    pub(crate) prompt: Option<String>,
    /// The same, as an option
    #[arg(long = "prompt", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt_option: Option<String>,
    /// One line for the board; by default the first line of the prompt
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// A repository by name, id or path; can be repeated; not needed when only one is registered
    #[arg(long = "repo", value_name = "NAME|ID|PATH")]
    pub(crate) repositories: Vec<String>,
    /// The branch, tag or commit to start from; by default the repository's default branch
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    pub(crate) base: Option<String>,
    /// The agent by name or id; by default the built-in demo agent
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) agent: Option<String>,
    /// Only store the task
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_start: bool,
    /// Show the conversation until the agent's turn ends
    #[arg(long)]
    pub(crate) wait: bool,
}

impl NewTask {
    /// The prompt, however it was given.
    #[must_use]
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.prompt.as_deref().or(self.prompt_option.as_deref())
    }
}

/// List tasks.
#[derive(Debug, Args)]
pub(crate) struct ListTasks {
    /// Archived tasks instead of open ones
    #[arg(long)]
    pub(crate) archived: bool,
    /// Only tasks whose title holds these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) query: Option<String>,
}

/// Start a task.
#[derive(Debug, Args)]
pub(crate) struct StartTask {
    /// The task
    pub(crate) task: String,
    /// Show the conversation until the agent's turn ends
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Show what changed.
#[derive(Debug, Args)]
pub(crate) struct TaskDiff {
    /// The task
    pub(crate) task: String,
    /// Only this file
    pub(crate) path: Option<String>,
    /// Only the names of the files
    #[arg(long, conflicts_with = "path")]
    pub(crate) stat: bool,
}

/// Close a task.
#[derive(Debug, Args)]
#[command(after_help = "\
Work that is found nowhere else is never removed: uncommitted and untracked files, and commits on no branch
that stays. Then the task waits for your decision, and the exit code is 4.")]
pub(crate) struct CloseTask {
    /// The task
    pub(crate) task: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
