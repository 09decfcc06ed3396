//! Real agents in processes of their own, over ACP on their standard streams.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_agents;
mod endings;
mod foreign_agents;
mod permissions;
mod scripts;
mod support;
mod sweeping;
mod turns;
