//! Agent profiles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentProfile {
    /// Its id.
    pub id: String,
    /// The kind of agent: `demo` or `custom`.
    pub kind: String,
    /// The name shown.
    pub name: String,
    /// The program; empty for the built-in demo agent.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The names of the environment variables it gets beyond the allowed ones; values are never sent.
    pub env_names: Vec<String>,
}

/// Asks for a custom agent: a program that speaks ACP over its standard streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddAgentProfile {
    /// The name to show; unique.
    pub name: String,
    /// The program: an absolute path or a name looked up in `PATH`.
    pub command: String,
    /// Its arguments; never given to a shell.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables it gets beyond the allowed ones.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}
