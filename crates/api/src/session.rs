//! Sessions, turns and messages.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// An agent conversation of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The task it belongs to.
    pub task_id: String,
    /// The name shown.
    pub name: String,
    /// `CREATED`, `STARTING`, `RUNNING`, `WAITING_FOR_INPUT`, `IDLE`, `COMPLETED`, `FAILED`, `CANCELLED` or
    /// `INTERRUPTED`.
    pub state: String,
    /// Why it failed; otherwise empty.
    pub error_message: String,
    /// Whether it is the one the board shows.
    pub is_primary: bool,
    /// The agent; none when its profile was removed.
    pub agent_profile_id: Option<String>,
    /// The name of the agent.
    pub agent_name: String,
    /// When it was made.
    pub started_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// Asks for a new session of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewSession {
    /// The agent; by default the task's.
    #[serde(default)]
    pub agent_profile_id: Option<String>,
    /// A first prompt; without one the agent is started and waits.
    #[serde(default)]
    pub prompt: Option<String>,
}

/// A prompt for a session. It starts the agent when it does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Prompt {
    /// The text, Markdown.
    pub text: String,
}

/// The answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionAnswer {
    /// The option chosen; none refuses by cancelling.
    #[serde(default)]
    pub option_id: Option<String>,
}

/// What became of a deleted session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionDeleted {
    /// The session that was deleted.
    pub session_id: String,
    /// The session that is primary now, when the task has one left.
    pub primary_session_id: Option<String>,
    /// The task's workspace, which was kept; empty when none was made.
    pub workspace_path: String,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// The turn it belongs to.
    pub turn_id: String,
    /// Its place in the session, from 1, without holes.
    pub ordinal: i64,
    /// `user`, `agent` or `system`.
    pub author: String,
    /// `message`, `thinking`, `tool_call`, `agent_plan`, `permission_request`, `error` or `status`.
    pub kind: String,
    /// Its text; for a tool call, the title.
    pub content: String,
    /// What is particular to its kind: [`ToolCall`], [`Plan`] or [`Permission`]; otherwise an empty object.
    #[schema(value_type = Object)]
    pub metadata: serde_json::Value,
    /// When it was begun.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A page of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessagePage {
    /// The messages.
    pub items: Vec<Message>,
    /// Whether there are older ones.
    pub has_older: bool,
    /// The newest event that the page already tells of: live events up to it are known, later ones are not.
    pub last_event: i64,
}

/// Which part of a conversation to show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessageQuery {
    /// Only messages before this ordinal; by default the newest.
    pub before: Option<i64>,
    /// How many, 1 to 500; 200 by default.
    pub limit: Option<u32>,
}

/// The metadata of a `tool_call` message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// The agent's raw input, as it came.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub raw_input: Option<serde_json::Value>,
}

/// One edited file of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolDiff {
    /// The absolute path.
    pub path: String,
    /// The text before; none for a new file.
    pub old_text: Option<String>,
    /// The text after.
    pub new_text: String,
}

/// The metadata of an `agent_plan` message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The entries, in order.
    pub entries: Vec<PlanEntry>,
}

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// The metadata of a `permission_request` message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Permission {
    /// The id under which it is answered.
    pub request_id: String,
    /// The tool call it is about; may be empty.
    pub tool_call_id: String,
    /// The answers the agent offers.
    pub options: Vec<PermissionOption>,
    /// `pending`, `answered` or `expired`.
    pub status: String,
    /// The option chosen, once answered.
    pub chosen: Option<String>,
}

/// One answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionOption {
    /// The agent's id of the option.
    pub option_id: String,
    /// The words shown.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}
