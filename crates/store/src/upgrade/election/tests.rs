//! The rules of ownership, each as a table of rows and what becomes of them.

mod owners;
mod properties;
mod workspaces;
mod written;
