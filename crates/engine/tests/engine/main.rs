//! The life of a task against real Git, real agents over ACP and both database engines.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails and says where; scenes are closures, given away"
)]

mod borrowing;
mod capability;
mod closing;
mod crash;
mod creation;
mod deletion;
mod family;
mod folders;
mod ground;
mod harness;
mod inherited;
mod pool;
mod pool_reuse;
mod preparation;
mod reaper;
mod reopening;
mod reopening_again;
mod reset;
mod session;
mod spy;
mod starts;
mod storage;
mod sweep;
mod two_servers;
mod worker;
