//! The doors, against a real engine, real Git, a real agent and both databases.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    reason = "a test that cannot go on has failed"
)]

mod access;
mod document;
mod door;
mod live;
mod mistakes;
mod pages;
mod story;
