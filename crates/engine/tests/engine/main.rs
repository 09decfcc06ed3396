//! The life of a task against real Git, real agents over ACP and both database engines.

mod closing;
mod crash;
mod creation;
mod harness;
mod session;
