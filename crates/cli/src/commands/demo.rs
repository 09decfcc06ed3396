//! `freehold demo`.

use crate::arguments::DemoOptions;
use crate::failure::Failure;
use crate::output::Output;

/// Carries out the command.
pub(crate) fn run(_options: &DemoOptions, _database: Option<&str>, _output: Output) -> Result<(), Failure> {
    Ok(())
}
