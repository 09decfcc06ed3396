//! The store on both engines. One program, so that one PostgreSQL server serves all of its tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, also in what tests share"
)]

mod barrier;
mod cleanup;
mod conversation;
mod events;
mod fixture;
mod home_lock;
mod list;
mod ownership;
mod places;
mod preparation;
mod schema;
mod seal;
mod transaction;
