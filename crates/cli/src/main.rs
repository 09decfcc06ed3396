//! The binary `freehold`: composes the parts.
fn main() {}
