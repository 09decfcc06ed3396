//! `freehold demo-agent`: runs the agent that ships with Freehold, over the standard streams.

use std::path::Path;

use freehold_agent::{DemoError, load_demo_script, run_demo_agent};

use crate::connection::runtime;
use crate::failure::{Exit, Failure};

/// Carries out the command.
pub(crate) fn run(script: Option<&Path>) -> Result<(), Failure> {
    let failure = |error: DemoError| {
        let exit = match error {
            DemoError::ReadScript { .. } | DemoError::ParseScript { .. } => Exit::Usage,
            DemoError::Serve { .. } => Exit::Failure,
        };
        Failure::new(exit, "demo_agent", error.to_string())
    };
    let script = script.map(load_demo_script).transpose().map_err(failure)?;
    runtime()?.block_on(run_demo_agent(script)).map_err(failure)
}
