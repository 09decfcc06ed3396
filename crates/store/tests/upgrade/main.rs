//! The upgrade of old databases, on both engines.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, also in what tests share"
)]

mod concurrency;
mod conflicts;
mod facts;
mod fixture;
mod import;
mod refusals;
mod snapshot;
mod whole;
mod world;
