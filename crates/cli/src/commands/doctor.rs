//! `freehold doctor`.

use crate::compose::Setup;
use crate::failure::Failure;
use crate::output::Output;

/// Carries out the command.
pub(crate) fn run(_setup: &Setup, _output: Output) -> Result<(), Failure> {
    Ok(())
}
