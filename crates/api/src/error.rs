//! Errors as they are sent: a code for programs, a sentence for people, a hint for the next step.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cleanup::Stake;
use crate::task::TaskRef;

/// What the server answers when it cannot do what was asked. Nothing was changed unless the message says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// A stable word, for example `unknown_task`; the web app translates it.
    pub code: String,
    /// What happened, to what, and what was kept, in English.
    pub message: String,
    /// What to do next, in English; may be empty.
    #[serde(default)]
    pub hint: String,
    /// The id, path or name that the error is about; may be empty.
    #[serde(default)]
    pub subject: String,
    /// What exists nowhere else, where that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stakes: Vec<Stake>,
    /// How much of the disk would come back, in bytes, where what exists nowhere else is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// The tasks that stand in the way, where that is the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRef>,
    /// What could be asked for instead, where there is something to offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
}

/// What could be asked for instead of a branch that is checked out already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Offer {
    /// What a new branch could start from.
    pub base_branch: String,
    /// A name that is free for it.
    pub new_branch: String,
    /// The worktree of a person that could be adopted.
    #[serde(default)]
    pub adopt_path: Option<String>,
    /// Whether the main checkout could be worked in.
    #[serde(default)]
    pub in_place: bool,
    /// The task that could get another session instead.
    #[serde(default)]
    pub task_id: Option<String>,
}
