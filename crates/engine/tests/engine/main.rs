//! The life of a task against real Git, real agents over ACP and both database engines.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails and says where; scenes are closures, given away"
)]

mod closing;
mod crash;
mod creation;
mod harness;
mod inherited;
mod preparation;
mod pool;
mod reopening;
mod session;
mod starts;
