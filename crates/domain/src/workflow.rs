//! Workspaces, workflows and steps: where tasks are shown.

use crate::clock::Timestamp;
use crate::id::{StepId, WorkflowId, WorkspaceId};

/// A named container of boards, tasks and repositories. It is not a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// The name a person gave it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A board of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The name a person gave it.
    pub name: String,
    /// Its place among the workspace's workflows, from 0.
    pub position: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A column of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The workflow it belongs to.
    pub workflow_id: WorkflowId,
    /// The name a person gave it.
    pub name: String,
    /// Its place from the left, from 0.
    pub position: i64,
    /// Whether new tasks start here; one step per workflow does.
    pub is_start: bool,
    /// When tasks that stand here are archived by themselves; none when they are not.
    pub auto_archive: Option<AutoArchive>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The rule by which tasks in a column are archived by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoArchive {
    /// How long a task stands in the column before, in milliseconds.
    pub after_ms: i64,
    /// Whether work that exists nowhere else is sealed; without it, a task with such work stays.
    pub seals: bool,
}

/// The steps of the workflow that a new workspace gets.
pub const DEFAULT_STEPS: [&str; 4] = ["Backlog", "In progress", "Review", "Done"];
