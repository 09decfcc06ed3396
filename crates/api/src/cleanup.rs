//! Cleanup jobs and what is at stake.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::task::TaskRef;

/// The durable intent to give a task's resources back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CleanupJob {
    /// Its id.
    pub id: String,
    /// The request that made it; the jobs of one request share it.
    #[serde(default)]
    pub operation: String,
    /// The task; it may be gone. For `quarantine` and `quarantine_purge`, the entry of the quarantine.
    pub task_id: String,
    /// The task's title when the job was made; the path of what goes into quarantine.
    pub task_title: String,
    /// `archive`, `delete`, `failed_creation`, `trash_purge` and others; `unknown` for a word of another program.
    pub trigger: String,
    /// `prepared`, `pending`, `running`, `retry_wait`, `needs_decision`, `succeeded`, `failed` or `cancelled`.
    pub state: String,
    /// Whether another program made it before an upgrade. Its record is not understood, so nothing is removed
    /// because of it, and it can only be called off (`keep`).
    pub is_foreign: bool,
    /// How often it was tried.
    pub attempts: i64,
    /// When it is tried next.
    pub next_attempt_at: Option<String>,
    /// What stopped it last; otherwise empty.
    pub last_error: String,
    /// What a person must decide; empty unless it waits for that.
    pub stakes: Vec<Stake>,
    /// What a person types to lose exactly what is at stake; none where that cannot be agreed to.
    pub discard_phrase: Option<String>,
    /// The worktrees it gives back.
    pub worktree_paths: Vec<String>,
    /// The checkout of a person in which the task worked, which stays as it is; otherwise empty.
    #[serde(default)]
    pub kept_path: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it reached a final state.
    pub completed_at: Option<String>,
}

/// Something that would be lost, or a reason why a directory is not what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stake {
    /// `uncommitted`, `untracked`, `ignored`, `commits`, `nested_repository`, `operation_in_progress`,
    /// `occupied`, `locked`, `in_use`, `unsealed` or `unknown`.
    pub kind: String,
    /// The absolute path of the worktree.
    pub worktree_path: String,
    /// Files or commits, at most 50.
    pub items: Vec<String>,
    /// How many there are in all.
    pub total: u64,
    /// A sentence for people.
    pub detail: String,
}

/// What closing a task would give back and what stands in the way; nothing is changed by asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CloseReport {
    /// The sessions that would be stopped.
    pub live_sessions: u64,
    /// The workspace; empty when none was made.
    pub workspace_path: String,
    /// Whether the workspace is a person's own and stays as it is.
    #[serde(default)]
    pub keeps_workspace: bool,
    /// The branches that stay.
    pub branches_kept: Vec<String>,
    /// How much of the disk comes back, in bytes; 0 while other tasks work in the workspace.
    #[serde(default)]
    pub disk_bytes: u64,
    /// What exists nowhere else and is sealed, so that it can be brought back.
    pub sealed: Vec<Stake>,
    /// What a seal does not hold; when not empty, the cleanup waits for a decision and removes nothing.
    pub stakes: Vec<Stake>,
    /// Why commits that no branch, tag or remote branch has are no loss, in sentences: merged as one commit, or pushed.
    #[serde(default)]
    pub found_elsewhere: Vec<String>,
    /// Until when the task can be brought back from the trash, were it deleted now; none for an archive.
    pub restorable_until: Option<String>,
    /// Its open sub-tasks, and theirs.
    #[serde(default)]
    pub sub_tasks: Vec<TaskRef>,
    /// The open tasks that work in its workspace without owning it.
    #[serde(default)]
    pub borrowers: Vec<TaskRef>,
    /// Who of them would own the workspace from then on.
    pub heir_id: Option<String>,
}

/// What deleting a workspace would give back and what is at stake, of all its open tasks together; nothing is changed
/// by asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceCloseReport {
    /// The name that must be typed to delete it.
    pub name: String,
    /// How many open tasks are closed with it.
    pub task_count: u64,
    /// The sessions that would be stopped.
    pub live_sessions: u64,
    /// How much of the disk comes back, in bytes.
    pub disk_bytes: u64,
    /// What exists nowhere else and is sealed; at most 100 entries.
    pub sealed: Vec<Stake>,
    /// What a seal does not hold, so that a person must decide; at most 100 entries.
    pub stakes: Vec<Stake>,
    /// Until when the tasks can be brought back from the trash, were it deleted now.
    pub restorable_until: String,
}

/// How a task is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CloseOptions {
    /// Whether work that exists nowhere else may be sealed and taken off the disk; false by default. Without this
    /// consent a task with such work is refused with what it is.
    pub seal: Option<bool>,
    /// Whether its sub-tasks, and theirs, are closed with it; by default they stay open and stand by themselves.
    pub sub_tasks: Option<bool>,
    /// What becomes of a workspace that other open tasks work in. `transfer` (by default): the oldest of them that
    /// has none of its own owns it from then on. `refuse`: the task is not closed.
    pub borrowers: Option<String>,
}

/// What closing is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CloseQuery {
    /// `archive` or `delete`.
    pub action: String,
}

/// Which cleanup jobs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CleanupQuery {
    /// Only jobs of this task.
    pub task_id: Option<String>,
    /// Only jobs in this state.
    pub state: Option<String>,
}

/// A person's decision about a cleanup job that waits for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CleanupDecision {
    /// `retry`: look again, after what stands in the way was moved or ended. `keep`: call the cleanup off; an
    /// archived or deleted task comes back with its workspace. `discard`: lose exactly what is at stake.
    pub decision: String,
    /// For `discard`: the job's `discard_phrase`, typed by a person.
    #[serde(default)]
    pub phrase: Option<String>,
}
