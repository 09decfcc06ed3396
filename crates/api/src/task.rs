//! Tasks, their environments and their changes.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::cleanup::CleanupJob;
use crate::preparation::{PortBlock, Preparation, Setup};
use crate::session::Session;

/// A task as a board or list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskCard {
    /// Its id.
    pub id: String,
    /// The open task that it is a part of.
    pub parent_id: Option<String>,
    /// Whether it is a quick chat, which goes to the trash when it is closed.
    #[serde(default)]
    pub is_quick: bool,
    /// The name of the automation that it is a run of; empty for every other task.
    #[serde(default)]
    pub automation: String,
    /// When a quick chat is closed by itself.
    pub expires_at: Option<String>,
    /// The workspace it belongs to.
    pub workspace_id: String,
    /// The board it is on.
    pub workflow_id: String,
    /// The column it is in.
    pub step_id: String,
    /// Its title.
    pub title: String,
    /// `TODO`, `SCHEDULING`, `IN_PROGRESS`, `WAITING_FOR_INPUT`, `REVIEW`, `BLOCKED`, `CREATED`, `COMPLETED`,
    /// `FAILED` or `CANCELLED`.
    pub state: String,
    /// Its place within the column, ascending.
    pub position: i64,
    /// The names of its repositories, in order.
    pub repositories: Vec<String>,
    /// The state of its primary session, when it has one.
    pub session_state: Option<String>,
    /// The state of its environment, when it has one: `creating`, `ready`, `stopped` or `failed`.
    pub environment_status: Option<String>,
    /// The state of its unfinished cleanup job, when it has one; `needs_decision` waits for a person.
    pub cleanup_state: Option<String>,
    /// When it was archived.
    pub archived_at: Option<String>,
    /// When its deletion was asked for.
    pub deleted_at: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The tasks, in board order.
    pub items: Vec<TaskCard>,
    /// Where the next page begins; none on the last.
    pub next_cursor: Option<String>,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// The workspace; by default the first.
    pub workspace_id: Option<String>,
    /// Only tasks in this column.
    pub step_id: Option<String>,
    /// Archived tasks instead of open ones.
    pub archived: Option<bool>,
    /// Only tasks whose title holds these words.
    pub query: Option<String>,
    /// Where the page begins, from the page before.
    pub cursor: Option<String>,
    /// How many, 1 to 200; 100 by default.
    pub limit: Option<u32>,
}

/// Everything about one task but its conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetail {
    /// The task.
    pub task: TaskCard,
    /// What the person asked for.
    pub prompt: String,
    /// Why it failed; otherwise empty.
    pub error_message: String,
    /// The agent that its first session uses.
    pub agent_profile_id: Option<String>,
    /// Its environment, when it was made.
    pub environment: Option<Environment>,
    /// Its sessions, oldest first.
    pub sessions: Vec<Session>,
    /// Its cleanup jobs, newest first.
    pub cleanup_jobs: Vec<CleanupJob>,
    /// Its open sub-tasks, and theirs.
    #[serde(default)]
    pub sub_tasks: Vec<TaskRef>,
}

/// A task as other answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskRef {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
}

/// The task's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Environment {
    /// Its id.
    pub id: String,
    /// The task that owns it; another one, where it is borrowed.
    #[serde(default)]
    pub owner_id: String,
    /// `worktree` or `scratch`, which the task owns; `in_place` or `adopted`, which is a person's and never removed;
    /// or another program's word.
    pub kind: String,
    /// `creating`, `ready`, `stopped` or `failed`.
    pub status: String,
    /// The absolute directory in which agents of the task start.
    pub workspace_path: String,
    /// Its repositories, in order.
    pub repositories: Vec<EnvironmentRepo>,
    /// The runs of set-up and tear-down scripts, oldest first.
    pub setups: Vec<Setup>,
    /// The ports that are reserved for it.
    pub ports: Option<PortBlock>,
}

/// One repository of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentRepo {
    /// Its id.
    pub id: String,
    /// The repository.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The absolute path of the worktree.
    pub worktree_path: String,
    /// The branch it was made on, or that was checked out when the task began to work in it.
    pub worktree_branch: String,
    /// What it was made from.
    pub base_branch: String,
    /// The full object id of the commit it was made at; empty when not recorded.
    pub base_commit: String,
    /// Whether Freehold made the branch; one that was there before stays in any case.
    pub branch_made: bool,
    /// What went wrong without harm as it was made, such as a hook that failed; otherwise empty.
    pub warning: String,
    /// `active`, `merged` or `deleted`.
    pub status: String,
    /// What the worktree got besides its tracked files, once that is done.
    pub preparation: Option<Preparation>,
}

/// Asks for a new task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewTask {
    /// The title, one line of at most 500 characters; by default the first line of the prompt.
    #[serde(default)]
    pub title: Option<String>,
    /// What the agent is asked to do; the first prompt of the first session.
    #[serde(default)]
    pub prompt: String,
    /// Where the task works: `worktree` (by default), `in_place` for the main checkout of its one repository,
    /// `adopted` for a worktree that you made, or `scratch` for a folder without a repository.
    #[serde(default)]
    pub workspace_kind: Option<String>,
    /// The repositories to work on, at least one; none for a scratch folder. By default those of the task it borrows
    /// from or is a part of.
    #[serde(default)]
    pub repositories: Vec<NewTaskRepository>,
    /// The agent; by default the built-in demo agent.
    #[serde(default)]
    pub agent_profile_id: Option<String>,
    /// The column; by default the board's start.
    #[serde(default)]
    pub step_id: Option<String>,
    /// The workspace; by default the first.
    #[serde(default)]
    pub workspace_id: Option<String>,
    /// The task that it is a part of.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// The task in whose workspace it works; by default it gets one of its own.
    #[serde(default)]
    pub borrow_from: Option<String>,
    /// Makes it a quick chat, which goes to the trash after so many milliseconds.
    #[serde(default)]
    pub expires_in_ms: Option<i64>,
    /// The name of the automation that it is a run of, in at most 100 characters. Of each automation the newest runs
    /// on a board keep their workspaces; older finished ones are archived.
    #[serde(default)]
    pub automation: Option<String>,
    /// Whether to make the workspace and start a session at once.
    #[serde(default)]
    pub start: bool,
}

/// One repository of a new task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewTaskRepository {
    /// The repository.
    pub repository_id: String,
    /// The branch, tag or commit to start from; by default the repository's default branch.
    #[serde(default)]
    pub base_branch: Option<String>,
    /// The name of the new branch; by default one is made up from the title.
    #[serde(default)]
    pub new_branch: Option<String>,
    /// The existing branch to work on instead of a new one: a local one, or a remote one of which a local one is
    /// made.
    #[serde(default)]
    pub checkout_branch: Option<String>,
    /// The ref to fetch from a remote and start from, for example `pull/42/head`.
    #[serde(default)]
    pub fetch_ref: Option<String>,
    /// The remote of that ref; by default the only one.
    #[serde(default)]
    pub remote: Option<String>,
    /// Whether to ask the remote of `base_branch`, a remote branch, where it is now before work starts from it.
    #[serde(default)]
    pub refresh: bool,
    /// The absolute path of the worktree to work in, for the kind `adopted`.
    #[serde(default)]
    pub adopt_path: Option<String>,
}

/// Asks for a fresh workspace; the one before is sealed and given back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetWorkspace {
    /// `same_base` (by default): the commit at which the one before started. `base_branch`: what that branch is now.
    #[serde(default)]
    pub start: Option<String>,
    /// Whether work that exists nowhere else may be sealed and taken off the disk.
    #[serde(default)]
    pub seal: bool,
    /// `transfer` (by default): a task that works in it owns it from then on. `refuse`: it is not reset then.
    #[serde(default)]
    pub borrowers: Option<String>,
}

/// Gives a workspace to another task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TransferWorkspace {
    /// The task that owns it from then on; it has none of its own.
    pub to: String,
}

/// Changes a task; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateTask {
    /// A new title.
    #[serde(default)]
    pub title: Option<String>,
    /// A new column.
    #[serde(default)]
    pub step_id: Option<String>,
    /// The task after which it stands in the column; an empty text puts it first. By default it goes last.
    #[serde(default)]
    pub after_task_id: Option<String>,
}

/// What differs from the base commit, in one repository of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryChanges {
    /// The repository.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The branch that is checked out now; empty when none is.
    pub branch: String,
    /// The commit that the files are compared with.
    pub base_commit: String,
    /// The branch whose newest common commit the files are compared with, because no start commit was recorded
    /// when another program made the worktree; otherwise none.
    pub inferred_base: Option<String>,
    /// The files, by path.
    pub files: Vec<FileChange>,
    /// Why they cannot be shown; otherwise empty.
    pub error_message: String,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    /// The path, relative to the worktree.
    pub path: String,
    /// The path before, for a renamed file.
    pub old_path: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed` or `type_changed`.
    pub kind: String,
    /// Lines added; none for a binary file.
    pub additions: Option<u64>,
    /// Lines deleted; none for a binary file.
    pub deletions: Option<u64>,
    /// Whether Git does not track it yet.
    pub untracked: bool,
}

/// Which file's diff to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The repository.
    pub repository_id: String,
    /// The path, relative to the worktree.
    pub path: String,
}

/// One file's difference from the base commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDiff {
    /// The path, relative to the worktree.
    pub path: String,
    /// The path before, for a renamed file.
    pub old_path: Option<String>,
    /// A unified diff; empty for a binary file.
    pub patch: String,
    /// Whether the file is binary.
    pub binary: bool,
    /// Whether the diff was cut off because it is larger than 1 MiB.
    pub too_large: bool,
}
