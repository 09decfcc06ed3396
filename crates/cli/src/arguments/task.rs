//! `freehold task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Create, watch, review and close tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Create a task and let an agent begin
    #[command(visible_alias = "create")]
    New(Box<NewTask>),
    /// List tasks
    List(ListTasks),
    /// Show a task with its workspace, sessions and cleanup jobs
    Show {
        /// The task
        task: String,
    },
    /// Make the workspace and start a first session
    Start(StartTask),
    /// Run the set-up scripts of a task's repositories again
    Setup {
        /// The task
        task: String,
    },
    /// Show what changed since the task's base commit
    Diff(TaskDiff),
    /// Put a task away: its workspace is sealed and given back; branches stay
    Archive(CloseTask),
    /// Bring an archived task back, with the same files at the same place
    Unarchive(ReopenTask),
    /// Move a task to the trash: its workspace is sealed and given back
    Delete(CloseTask),
    /// Give a task a fresh workspace; the one before is sealed
    Reset(ResetTask),
    /// Give a task's workspace to another task that has none
    Transfer {
        /// The task that owns the workspace
        task: String,
        /// The task that owns it from then on
        #[arg(long, value_name = "TASK")]
        to: String,
    },
}

/// Bring a closed task back.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is overwritten: where something else came to the place or the branch moved on, the task stays closed and
the error says what to choose.")]
pub(crate) struct ReopenTask {
    /// The task
    pub(crate) task: String,
    /// Restore to a new folder, as something else came to the place
    #[arg(long)]
    pub(crate) elsewhere: bool,
    /// What is checked out: the sealed branch, a new one at the sealed commit, or none
    #[arg(long, value_name = "WHICH", default_value = "sealed", value_parser = ["sealed", "new", "detached"])]
    pub(crate) branch: String,
    /// Bring back the tasks that were closed with it, too
    #[arg(long)]
    pub(crate) sub_tasks: bool,
}

/// Give a task a fresh workspace.
#[derive(Debug, Args)]
#[command(after_help = "\
The task stays open and keeps its conversations. Every file of the old workspace is in a seal; see it with
`freehold trash show TASK`.")]
pub(crate) struct ResetTask {
    /// The task
    pub(crate) task: String,
    /// Start at what the base branch is now, instead of at the commit where the old workspace started
    #[arg(long)]
    pub(crate) from_base_branch: bool,
    /// Do not ask; work that exists nowhere else is sealed
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Create a task.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  freehold task new 'Fix the typo in the README' --wait
  freehold task new --repo shop --from release/2 --agent gemini 'Translate the help texts'
  freehold task new --checkout feature/login 'Finish the login page'
  freehold task new --pull 42 'Review this pull request'
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
    #[command(flatten)]
    pub(crate) start: StartPoint,
    /// The agent by name or id; by default the built-in demo agent
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) agent: Option<String>,
    /// Make it a sub-task of this task, on the same repositories unless others are named
    #[arg(long, value_name = "TASK")]
    pub(crate) parent: Option<String>,
    /// Work in the workspace of the parent instead of in one of its own
    #[arg(long, requires = "parent")]
    pub(crate) borrow: bool,
    /// Make it a quick chat, which goes to the trash by itself
    #[arg(long)]
    pub(crate) quick: bool,
    /// How long a quick chat lives, such as 30m, 2h or 7d
    #[arg(long, value_name = "TIME", requires = "quick", default_value = "24h", value_parser = crate::duration::parse)]
    pub(crate) expires: i64,
    /// Make it a run of this automation; the newest runs keep their workspaces, older finished ones are archived
    #[arg(long, value_name = "NAME", conflicts_with = "quick")]
    pub(crate) automation: Option<String>,
    /// Only store the task
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_start: bool,
    /// Show the conversation until the agent's turn ends
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Where a task starts and works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where it starts")]
pub(crate) struct StartPoint {
    /// The branch, remote branch, tag or commit to start from; by default the repository's default branch
    #[arg(long, visible_alias = "base", value_name = "REF", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Ask the remote first where the remote branch named by --from is now
    #[arg(long, requires = "from")]
    pub(crate) refresh: bool,
    /// The name of the new branch; by default one is made up from the title
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) branch: Option<String>,
    /// Work on an existing branch, local or remote, instead of a new one
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true, conflicts_with_all = ["from", "refresh", "branch"])]
    pub(crate) checkout: Option<String>,
    /// Fetch this pull request and start a new branch from it; short for --fetch pull/N/head
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "refresh", "checkout"])]
    pub(crate) pull: Option<u64>,
    /// Fetch a ref of a remote, such as merge-requests/7/head, and start a new branch from it
    #[arg(long, value_name = "REF", conflicts_with_all = ["from", "refresh", "checkout", "pull"])]
    pub(crate) fetch: Option<String>,
    /// The remote of --pull or --fetch; not needed when there is only one
    #[arg(long, value_name = "NAME")]
    pub(crate) remote: Option<String>,
    /// Work in the repository's main checkout itself, which is never removed
    #[arg(long, conflicts_with_all = ["from", "refresh", "branch", "checkout", "pull", "fetch", "remote"])]
    pub(crate) in_place: bool,
    /// Work in a worktree that you made, which is never removed
    #[arg(
        long, value_name = "PATH",
        conflicts_with_all = ["from", "refresh", "branch", "checkout", "pull", "fetch", "remote", "in_place"]
    )]
    pub(crate) adopt: Option<PathBuf>,
    /// Work in a folder of its own, without a repository
    #[arg(
        long,
        conflicts_with_all = [
            "from", "refresh", "branch", "checkout", "pull", "fetch", "remote", "in_place", "adopt", "repositories"
        ]
    )]
    pub(crate) scratch: bool,
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
Before a workspace goes it is sealed: every file but what a build makes again, the index and the commits. The
seal brings it back byte for byte. With work that exists nowhere else, this asks first, or wants --yes; what no
seal can hold, such as a repository inside, waits for your decision, and the exit code is 4.")]
pub(crate) struct CloseTask {
    /// The task
    pub(crate) task: String,
    /// Close its sub-tasks too, and theirs; otherwise they stay open and stand by themselves
    #[arg(long)]
    pub(crate) sub_tasks: bool,
    /// What becomes of a workspace that other open tasks work in: one of them owns it, or the task stays open
    #[arg(long, value_name = "WHAT", default_value = "transfer", value_parser = ["transfer", "refuse"])]
    pub(crate) borrowers: String,
    /// Do not ask; work that exists nowhere else is sealed
    #[arg(long, short)]
    pub(crate) yes: bool,
}
