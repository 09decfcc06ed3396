//! Tests of the crate against the real git program, in temporary homes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod branch;
mod command;
mod contents;
#[cfg(feature = "failpoints")]
mod crash;
mod diff;
mod folder;
#[cfg(feature = "failpoints")]
mod folder_crash;
mod lock;
mod ownership;
mod plant;
mod pool;
mod pool_bench;
#[cfg(feature = "failpoints")]
mod pool_crash;
mod pool_random;
mod pool_speed;
mod removal;
mod removal_half_made;
mod removal_identity;
mod removal_merged;
mod removal_reaped;
mod removal_sealed;
#[cfg(feature = "failpoints")]
mod removal_speed;
mod repository;
mod seal;
mod seal_bench;
#[cfg(feature = "failpoints")]
mod seal_crash;
mod seal_ground;
mod seal_left_out;
mod seal_random;
mod seal_restore;
mod seal_speed;
mod start;
mod status;
mod worktree;
mod world;
