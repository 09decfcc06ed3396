//! Workspaces, boards and the server itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
}
