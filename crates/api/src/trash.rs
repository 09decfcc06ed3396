//! Closed tasks: their seals, the trash, and how they come back.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::task::{FileChange, TaskCard};

/// A deleted task that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrashedTask {
    /// The task.
    pub task: TaskCard,
    /// When it was deleted and its workspace given back.
    pub trashed_at: String,
    /// When it goes for good.
    pub expires_at: String,
    /// How large its seals are together, in bytes.
    pub size_bytes: u64,
    /// Its seals, the newest first.
    pub seals: Vec<Seal>,
}

/// A restorable copy of a worktree, or of a folder that is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Seal {
    /// Its id.
    pub id: String,
    /// `worktree`, or `folder`: a scratch folder, or what lay beside the worktrees of a task.
    #[serde(default = "worktree")]
    pub kind: String,
    /// The cleanup job that took it.
    pub job_id: String,
    /// The worktree in the task's environment that comes back from it, if it is the newest with this id; none for
    /// what a failed attempt left, which does not come back by itself.
    pub environment_repo_id: Option<String>,
    /// The repository; empty for a folder.
    pub repository_id: String,
    /// The absolute path of the repository that holds it.
    pub repository_path: String,
    /// Where the worktree or folder was.
    pub worktree_path: String,
    /// The branch that was checked out; empty when none was.
    pub branch: String,
    /// How many files it holds.
    pub file_count: u64,
    /// How large they are together, in bytes.
    pub size_bytes: u64,
    /// What it does not hold, at most 100 places.
    pub left_out: Vec<LeftOut>,
    /// When it was taken.
    pub created_at: String,
}

fn worktree() -> String {
    "worktree".to_owned()
}

/// Makes a new task of a sealed workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskFromSeal {
    /// Its title; by default that of the task that was sealed.
    pub title: Option<String>,
}

/// Something that a seal does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOut {
    /// Its path relative to the top of the worktree.
    pub path: String,
    /// Its size in bytes, where it is known.
    pub size_bytes: Option<u64>,
    /// `disposable`, `too_large`, `over_total`, `nested_repository`, `submodule`, `mount`, `unreadable` or
    /// `special`.
    pub reason: String,
}

/// A seal with the files that differ from the task's base commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SealedChanges {
    /// The seal.
    pub seal: Seal,
    /// The files, by path.
    pub files: Vec<FileChange>,
    /// Why they cannot be shown; otherwise empty.
    pub error_message: String,
}

/// Which trash to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TrashQuery {
    /// The workspace; by default the first.
    pub workspace_id: Option<String>,
}

/// Which file of a seal to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SealedDiffQuery {
    /// Its path.
    pub path: String,
}

/// How a closed task comes back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReopenTask {
    /// `same` (by default) or `elsewhere`, where something else came to the place.
    #[serde(default)]
    pub place: Option<String>,
    /// `sealed` (by default): what was checked out. `new`: a new branch at the sealed commit. `detached`: no
    /// branch.
    #[serde(default)]
    pub branch: Option<String>,
    /// Whether the tasks that were closed with it come back too.
    #[serde(default)]
    pub sub_tasks: bool,
}
