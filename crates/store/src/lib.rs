//! Tables, transactions and the outbox, on SQLite and PostgreSQL alike.
//!
//! Every change is one synchronous closure over a [`Tx`], run on a worker thread: it commits whole or not at
//! all, cannot be cancelled half-way and cannot await anything. The modules named after nouns hold the
//! functions to call inside such a closure. SQL is written once; `dialect` holds every engine difference.

pub mod agent;
pub mod cleanup;
pub mod creation;
mod dialect;
pub mod environment;
mod error;
pub mod event;
mod home_lock;
pub mod message;
pub mod node;
pub mod pool;
pub mod port_block;
pub mod preparation;
pub mod quarantine;
pub mod removed;
pub mod repository;
pub mod repository_settings;
mod row;
mod schema;
pub mod seal;
pub mod session;
pub mod setup;
mod statement;
pub mod storage;
mod store;
pub mod task;
mod transaction;
pub mod upgrade;
mod url;
mod value;
mod worker;
pub mod workflow;
pub mod workspace;

pub use dialect::Engine;
pub use error::{Cause, StoreError};
pub use home_lock::{HomeLock, HomeLocked};
pub use store::{Store, StoreOptions};
pub use transaction::Tx;
pub use url::DatabaseUrl;
