//! House rules, generators and benchmarks.
fn main() {}
