//! `freehold completions`: prints the completions for a shell.

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::Output;

/// Carries out the command.
pub(crate) fn run(shell: clap_complete::Shell, output: Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "freehold", &mut script);
    let script = String::from_utf8_lossy(&script);
    output.answer(&script, || script.to_string())
}
