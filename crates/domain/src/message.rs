//! Turns and messages: what was said in a session.

use crate::clock::Timestamp;
use crate::id::{MessageId, SessionId, TaskId, TurnId};
use crate::words;

words! {
    /// Who wrote a message.
    pub enum Author("message author") {
        /// The person.
        User = "user",
        /// The agent.
        Agent = "agent",
        /// Freehold itself.
        System = "system",
    }
}

words! {
    /// What a message is.
    pub enum MessageKind("message kind") {
        /// Text of the person or the agent, Markdown.
        Text = "message",
        /// The agent's thinking.
        Thinking = "thinking",
        /// A tool call with its state, diff or output in the metadata.
        ToolCall = "tool_call",
        /// The agent's plan; entries in the metadata.
        Plan = "agent_plan",
        /// A permission the agent asks for; options and answer in the metadata.
        Permission = "permission_request",
        /// A failure that ended a turn or a session.
        Error = "error",
        /// A note of Freehold, for example that the session was interrupted.
        Status = "status",
    }
}

/// One prompt and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The session.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// When the prompt was sent.
    pub started_at: Timestamp,
    /// When it ended, however it did.
    pub completed_at: Option<Timestamp>,
    /// Why it ended: `end_turn`, `cancelled`, `refusal`, `max_tokens`, `max_turn_requests`, `failed` or
    /// `interrupted`; empty while it runs.
    pub stop_reason: String,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The session.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// The turn it belongs to.
    pub turn_id: TurnId,
    /// Its place in the session, from 1, without holes.
    pub ordinal: i64,
    /// Who wrote it.
    pub author: Author,
    /// What it is.
    pub kind: MessageKind,
    /// Its text; for a tool call, the title.
    pub content: String,
    /// What is particular to its kind, always of its shape: [`ToolCall`], [`Plan`] or [`Permission`]; for other
    /// kinds any object.
    pub metadata: serde_json::Value,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The metadata of a [`MessageKind::ToolCall`] message.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct ToolCall {
    /// The agent's id of the call.
    pub tool_call_id: String,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch` or `other`.
    pub tool_kind: String,
    /// `pending`, `in_progress`, `completed` or `failed`.
    pub status: String,
    /// Absolute paths it touches.
    #[serde(default)]
    pub locations: Vec<String>,
    /// Edits it made or proposes.
    #[serde(default)]
    pub diffs: Vec<ToolDiff>,
    /// Text it put out.
    #[serde(default)]
    pub output: String,
    /// The agent's raw input, kept as it came.
    #[serde(default)]
    pub raw_input: Option<serde_json::Value>,
}

/// One edited file of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolDiff {
    /// The absolute path.
    pub path: String,
    /// The text before; none for a new file.
    pub old_text: Option<String>,
    /// The text after.
    pub new_text: String,
}

/// The metadata of a [`MessageKind::Plan`] message.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The entries, in order.
    pub entries: Vec<PlanEntry>,
}

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// The metadata of a [`MessageKind::Permission`] message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Permission {
    /// The id under which it is answered.
    pub request_id: String,
    /// The tool call it is about, when the agent named one.
    pub tool_call_id: String,
    /// The answers the agent offers, in its order.
    pub options: Vec<PermissionOption>,
    /// `pending`, `answered` or `expired`.
    pub status: String,
    /// The option chosen, once answered.
    pub chosen: Option<String>,
}

/// One answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PermissionOption {
    /// The agent's id of the option.
    pub option_id: String,
    /// The words shown.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}
