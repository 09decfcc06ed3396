//! The agent that ships with Freehold: a real ACP agent whose mind is a script.
//!
//! It is what a newcomer sees first, with a friendly built-in script, and what tests use to make an agent behave
//! in any way, also badly. It edits real files in the directory of its session.

mod script;
mod serve;

pub use script::{DemoError, DemoScript, DemoStep, DemoTurn, OnStart, SCRIPT_VARIABLE, load_demo_script};
pub use serve::run_demo_agent;
