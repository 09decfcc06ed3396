//! The store: worker threads behind one closure interface.

use tokio::sync::watch;

use crate::{DatabaseUrl, Engine, StoreError, Tx};

/// How a store works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    /// Threads that read; each has a connection.
    pub readers: usize,
    /// Threads that write on PostgreSQL; each has a connection. SQLite has one writer always.
    pub postgres_writers: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { readers: 3, postgres_writers: 5 }
    }
}

/// A database with its worker threads; a clone is another handle on the same.
#[derive(Clone)]
pub struct Store {}

impl Store {
    /// Opens a database; blocking. Makes the schema when the database is empty, and refuses, unchanged, one
    /// that belongs to another program.
    pub fn open(url: &DatabaseUrl, options: StoreOptions) -> Result<Self, StoreError> {
        todo!()
    }

    /// Runs a closure in a transaction that may write. `Err` rolls back; dropping the future does not.
    pub async fn write<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        todo!()
    }

    /// Runs a closure in a transaction that reads one state of the database.
    pub async fn read<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        todo!()
    }

    /// The newest committed event's sequence number, also of other nodes.
    #[must_use]
    pub fn last_event(&self) -> watch::Receiver<i64> {
        todo!()
    }

    /// The engine in use.
    #[must_use]
    pub fn engine(&self) -> Engine {
        todo!()
    }

    /// Prepares every SQL statement of this crate; gives their number. Shows that the schema fits the program.
    pub async fn verify_statements(&self) -> Result<usize, StoreError> {
        todo!()
    }

    /// Ends the worker threads after the transactions that were asked for; later ones fail with
    /// [`StoreError::Closed`]. Blocking.
    pub fn close(&self) {
        todo!()
    }
}
