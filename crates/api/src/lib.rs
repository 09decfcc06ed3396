//! The wire contract: what the server sends and takes, and a typed client for it.
//!
//! Shapes here are flat and speak in strings: ids are opaque text, instants are RFC 3339 in UTC with six
//! digits. The OpenAPI document is made from these types, the web app's types from the document.

pub mod agent;
pub mod cleanup;
pub mod client;
pub mod error;
pub mod live;
pub mod preparation;
pub mod repository;
pub mod session;
pub mod storage;
pub mod task;
pub mod trash;
pub mod workspace;

/// The prefix of every path of the HTTP interface.
pub const BASE_PATH: &str = "/api/v1";
