//! Workspaces, boards and the server itself.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Says that the server is up. It needs no token and tells nothing private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The version of the binary.
    pub version: String,
}

/// What a person may want to know about the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerInfo {
    /// The version of the binary.
    pub version: String,
    /// `sqlite` or `postgresql`.
    pub database: String,
    /// The absolute path of the home folder.
    pub home: String,
    /// The absolute path under which task workspaces are made.
    pub workspaces_root: String,
    /// The version of the Git program.
    pub git_version: String,
    /// The newest event's sequence number.
    pub last_event: i64,
}

/// A named container of boards, tasks and repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its boards, in order.
    pub workflows: Vec<Workflow>,
}

/// A board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workflow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its columns, from the left.
    pub steps: Vec<Step>,
}

/// A column of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its place from the left, from 0.
    pub position: i64,
    /// Whether new tasks start here.
    pub is_start: bool,
    /// How long a task stands here before it is archived by itself, in milliseconds; none: it is not.
    pub auto_archive_after_ms: Option<i64>,
    /// Whether a task with work that exists nowhere else is sealed then; otherwise it stays.
    #[serde(default)]
    pub auto_archive_seals: bool,
}

/// A deleted workspace whose tasks are in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedWorkspace {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// How a workspace is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteWorkspaceOptions {
    /// The workspace's name, typed by a person.
    pub confirm: String,
    /// Whether work that exists nowhere else may be sealed and taken off the disk; false by default.
    pub seal: Option<bool>,
}

/// How a board is deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteWorkflowOptions {
    /// The board to which its tasks move; by default the first other one of the workspace.
    pub to: Option<String>,
    /// `archive` or `delete`: closes its open tasks; by default they stay open.
    pub close: Option<String>,
    /// Whether work that exists nowhere else may be sealed and taken off the disk; false by default.
    pub seal: Option<bool>,
}

/// Changes a column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateStep {
    /// How long a task stands here before it is archived by itself, in milliseconds; none ends it.
    #[serde(default)]
    pub auto_archive_after_ms: Option<i64>,
    /// Whether a task with work that exists nowhere else is sealed then; otherwise it stays.
    #[serde(default)]
    pub auto_archive_seals: bool,
}
