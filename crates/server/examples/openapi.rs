//! Prints the OpenAPI document.

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() -> Result<(), serde_json::Error> {
    println!("{}", serde_json::to_string_pretty(&freehold_server::openapi())?);
    Ok(())
}
