//! `freehold openapi`: prints the OpenAPI document of the HTTP interface.

use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Carries out the command.
pub(crate) fn run(output: Output) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&freehold_server::openapi()).map_err(|error| {
        Failure::new(Exit::Failure, "internal", format!("the document cannot be written: {error}"))
    })?;
    output.line(&text);
    Ok(())
}
