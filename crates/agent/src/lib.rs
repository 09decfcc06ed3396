//! Agents over ACP: starts, supervises and reaps them; knows no database.
//!
//! An *agent* is a program that speaks the Agent Client Protocol over its standard streams. An *execution* is
//! one run of it: a process group, a mark in the environment of everything it starts, and one ACP session in
//! one directory. The invariant of this crate: when an execution is over, however it ended, none of its
//! processes is left.
//!
//! Entry points: [`start`] runs an agent and gives an [`Agent`] with the stream of its [`AgentEvent`]s;
//! [`end_group`] and [`end_execution`] sweep up after a server that died; [`run_demo_agent`] is the other side,
//! the agent that ships with Freehold.

mod acp;
mod demo;
mod environment;
mod error;
mod event;
mod process;
mod script;

pub use acp::{Agent, AgentLimits, start};
pub use demo::{
    DemoError, DemoScript, DemoStep, DemoTurn, FileEdit, FileName, Flood, NewFile, OnStart, PermissionStep,
    SCRIPT_VARIABLE, StubbornChild, load_demo_script, run_demo_agent,
};
pub use error::AgentError;
pub use event::{AgentEvent, PermissionOption, PlanEntry, StopReason, ToolCallUpdate, ToolDiff};
pub use process::{
    AgentCommand, EXECUTION_VARIABLE, ExitReport, ProcessIdentity, end_execution, end_group, is_running,
};
pub use script::{ScriptEnd, ScriptLimits, run_script};
