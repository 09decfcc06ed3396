//! The committed OpenAPI document: the binary prints it, `docs/openapi.json` holds it.
//!
//! The web app's types are made from the committed document, so a document that is out of date would let the
//! two drift apart unseen.

use std::path::PathBuf;

use crate::Failure;
use crate::program::{freehold_binary, output_of, program};
use crate::tree::repository_root;

const DOCUMENT: &str = "docs/openapi.json";

/// Writes the document that the binary prints; gives its path.
pub fn write() -> Result<&'static str, Failure> {
    let document = printed()?;
    std::fs::write(path(), document)
        .map_err(|error| Failure::new(format!("could not write {DOCUMENT}: {error}")))?;
    Ok(DOCUMENT)
}

/// Fails when the committed document differs from what the binary prints; gives its path.
pub fn check() -> Result<&'static str, Failure> {
    let committed =
        std::fs::read(path()).map_err(|error| Failure::new(format!("could not read {DOCUMENT}: {error}")))?;
    if committed == printed()? {
        return Ok(DOCUMENT);
    }
    Err(Failure::new(format!(
        "{DOCUMENT} is stale: run `cargo run -p xtask -- codegen` and commit the result"
    )))
}

fn printed() -> Result<Vec<u8>, Failure> {
    output_of(program(freehold_binary("ci")?).arg("openapi"))
}

fn path() -> PathBuf {
    repository_root().join(DOCUMENT)
}
