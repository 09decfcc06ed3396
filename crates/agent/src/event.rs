//! What an agent tells while it works.
//!
//! These are Freehold's own shapes: the protocol crate changes fast and stays behind `acp`. A *partial* tool
//! call says only what changed; what is `None` stays as it was.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::process::ExitReport;

/// One thing an agent told, in the order in which it came.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// A piece of the agent's answer; pieces are joined without anything between.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of the agent's thinking.
    Thought {
        /// The piece.
        text: String,
    },
    /// A tool call, begun or changed.
    ToolCall(ToolCallUpdate),
    /// The agent's whole plan; replaces the one before.
    Plan {
        /// Its entries, in order.
        entries: Vec<PlanEntry>,
    },
    /// The agent waits for an answer through [`crate::Agent::answer_permission`].
    PermissionRequested {
        /// The id to answer with; never used again, not by a later execution either.
        request_id: String,
        /// The tool call it is about.
        tool_call: ToolCallUpdate,
        /// The answers offered, in the agent's order.
        options: Vec<PermissionOption>,
    },
    /// An update of a kind that has no shape here, kept as it came.
    Other {
        /// Its name in the protocol, for example `available_commands_update`.
        kind: String,
        /// The whole update.
        raw: Value,
    },
    /// A line of the agent's standard error. Lines are left out when the receiver is too slow.
    Stderr {
        /// The line, without its end.
        line: String,
    },
    /// The process is gone and so is everything it started; always the last event.
    Exited(ExitReport),
}

/// A tool call as far as it is told; `None` means unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// The agent's id of the call.
    pub id: String,
    /// What it does, in the agent's words.
    pub title: Option<String>,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode` or `other`.
    pub kind: Option<String>,
    /// `pending`, `in_progress`, `completed` or `failed`.
    pub status: Option<String>,
    /// Paths it touches, as the agent named them.
    pub locations: Option<Vec<String>>,
    /// Edits it made or proposes; replaces the ones before.
    pub diffs: Option<Vec<ToolDiff>>,
    /// Text it put out; replaces the one before.
    pub output: Option<String>,
    /// The agent's raw input, kept as it came.
    pub raw_input: Option<Value>,
}

/// One edited file of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDiff {
    /// The path, as the agent named it; absolute by the protocol.
    pub path: String,
    /// The text before; none for a new file.
    pub old_text: Option<String>,
    /// The text after.
    pub new_text: String,
}

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// One answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// The agent's id of the option.
    pub option_id: String,
    /// The words shown.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// Why a turn ended, in the agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The agent finished.
    EndTurn,
    /// The model's limit of tokens was reached.
    MaxTokens,
    /// The limit of model requests in one turn was reached.
    MaxTurnRequests,
    /// The agent refused to go on.
    Refusal,
    /// The turn was cancelled.
    Cancelled,
}

impl StopReason {
    /// The word under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
        }
    }
}
