//! Errors as they are sent: a code for programs, a sentence for people, a hint for the next step.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cleanup::Stake;

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
}
