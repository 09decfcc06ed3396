//! Real agents in processes of their own, over ACP on their standard streams.

mod bad_agents;
mod endings;
mod foreign_agents;
mod permissions;
mod support;
mod sweeping;
mod turns;
