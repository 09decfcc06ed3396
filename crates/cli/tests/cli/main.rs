//! The binary as a person or a script meets it: every command, its answers, its errors and its exit codes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test whose scene cannot be made has failed")]

mod agents;
mod cleanup;
#[cfg(feature = "failpoints")]
mod crashes;
mod demo;
mod help;
mod lending;
mod machine;
mod repositories;
mod scene;
mod server;
mod sessions;
mod starts;
mod storage;
mod tasks;
mod upgrade;
