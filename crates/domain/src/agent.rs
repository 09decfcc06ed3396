//! Agent profiles, executors and running executions.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::id::{AgentProfileId, ExecutionId, ExecutorId, NodeId, SessionId, TaskId};
use crate::words;

/// How an agent is started: a program that speaks ACP over its standard streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    /// Its id, for example `demo`.
    pub id: AgentProfileId,
    /// The kind of agent, for example `demo` or `custom`.
    pub agent_id: String,
    /// The name shown.
    pub name: String,
    /// The program: an absolute path or a name looked up in `PATH`. Empty for the built-in demo agent.
    pub command: String,
    /// Its arguments; never given to a shell.
    pub args: Vec<String>,
    /// Environment variables it gets beyond the allowed ones.
    pub env: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The id of the built-in demo agent's profile.
pub const DEMO_AGENT: &str = "demo";

/// Where environments are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executor {
    /// Its id.
    pub id: ExecutorId,
    /// The name shown.
    pub name: String,
    /// Its kind: `worktree` on this machine.
    pub kind: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The id of the built-in executor that makes Git worktrees on this machine.
pub const WORKTREE_EXECUTOR: &str = "exec-worktree";

words! {
    /// What a running execution is doing, as last recorded.
    pub enum ExecutionStatus("execution status") {
        /// The program was started and not yet greeted.
        Starting = "starting",
        /// The program answers.
        Running = "running",
        /// The program ended; the row goes with it.
        Stopped = "stopped",
    }
}

/// An agent's process, recorded so that a later server can prove whether it still runs and end it.
///
/// At most one exists per session; the database enforces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Its id.
    pub id: ExecutionId,
    /// The session.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// The server that started it.
    pub node_id: NodeId,
    /// What it was doing when last recorded.
    pub status: ExecutionStatus,
    /// The process, once started; also the number of its process group.
    pub process: Option<ProcessIdentity>,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProcessIdentity {
    /// The process number, also of its process group.
    pub pid: u32,
    /// The start time in clock ticks since boot, from `/proc/<pid>/stat`; 0 where the system does not tell.
    pub start_ticks: u64,
    /// The kernel's boot id; empty where the system does not tell.
    pub boot_id: String,
}
