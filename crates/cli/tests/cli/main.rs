//! The binary as a person or a script meets it: every command, its answers, its errors and its exit codes.

mod agents;
mod cleanup;
mod demo;
mod help;
mod machine;
mod repositories;
mod scene;
mod server;
mod sessions;
mod tasks;
