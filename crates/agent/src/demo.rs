//! The agent that ships with Freehold: a real ACP agent whose mind is a script.
//!
//! It is what a newcomer sees first, with a friendly built-in script, and what tests use to make an agent behave
//! in any way, also badly. It edits real files in the directory of its session.

mod builtin;
mod child;
mod files;
mod play;
mod script;
mod serve;
mod stage;

pub use script::{
    DemoError, DemoScript, DemoStep, DemoTurn, FileEdit, FileName, Flood, NewFile, OnStart, PermissionStep,
    SCRIPT_VARIABLE, StubbornChild, load_demo_script,
};
pub use serve::run_demo_agent;
