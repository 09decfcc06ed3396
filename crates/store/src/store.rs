//! The store: worker threads behind one closure interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{oneshot, watch};

use crate::dialect::{Database, Mode};
use crate::worker::{Job, Workers};
use crate::{DatabaseUrl, Engine, StoreError, Tx, event, schema, statement, transaction};

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
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    writers: Workers,
    readers: Workers,
    last_event: watch::Sender<i64>,
    stop_listening: Arc<AtomicBool>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens a database; blocking. Makes the schema when the database is empty, and refuses, unchanged, one
    /// that belongs to another program.
    pub fn open(url: &DatabaseUrl, options: StoreOptions) -> Result<Self, StoreError> {
        apart(url, || open(url, options))
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
        let last_event = self.shared.last_event.clone();
        run(&self.shared.writers, move |seq| event::announce(&last_event, seq), work).await
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
        run(&self.shared.readers, |_| {}, work).await
    }

    /// The newest committed event's sequence number, also of other nodes.
    #[must_use]
    pub fn last_event(&self) -> watch::Receiver<i64> {
        self.shared.last_event.subscribe()
    }

    /// The engine in use.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.shared.engine
    }

    /// Prepares every SQL statement of this crate; gives their number. Shows that the schema fits the program.
    pub async fn verify_statements(&self) -> Result<usize, StoreError> {
        self.write(|tx| {
            let mut count = 0;
            for statement in statement::all() {
                tx.prepare(statement)?;
                count += 1;
            }
            Ok(count)
        })
        .await
    }

    /// Ends the worker threads after the transactions that were asked for; later ones fail with
    /// [`StoreError::Closed`]. Blocking.
    pub fn close(&self) {
        self.shared.writers.close();
        self.shared.readers.close();
        self.shared.stop_listening.store(true, Ordering::Relaxed);
        // Readers first: the last connection of SQLite to close, a writer's, tidies its file up.
        self.shared.readers.join();
        self.shared.writers.join();
        let listener = self.shared.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if listener.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the listening thread of the store panicked");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop_listening.store(true, Ordering::Relaxed);
    }
}

/// Runs something on a thread of its own: the PostgreSQL client must not be used on a thread of an async
/// runtime.
pub(crate) fn apart<T: Send>(
    url: &DatabaseUrl,
    work: impl FnOnce() -> Result<T, StoreError> + Send,
) -> Result<T, StoreError> {
    std::thread::scope(|scope| {
        let done = scope.spawn(work).join();
        done.unwrap_or_else(|_| Err(StoreError::Panicked { message: format!("while opening {url}") }))
    })
}

fn open(url: &DatabaseUrl, options: StoreOptions) -> Result<Store, StoreError> {
    let database = Arc::new(Database::new(url)?);
    let mut first = schema::establish(&database, url)?;
    let newest = transaction::run_on(&mut first, Mode::Read, event::newest)?;
    let (last_event, _) = watch::channel(newest);
    let stop_listening = Arc::new(AtomicBool::new(false));
    let failed = |error| StoreError::database("start the threads of the store", error);
    let writers =
        Workers::start(&database, Mode::Write, database.writers(options), Some(first)).map_err(failed)?;
    let readers = Workers::start(&database, Mode::Read, options.readers.max(1), None).map_err(failed)?;
    let listener = database.listen(last_event.clone(), Arc::clone(&stop_listening)).map_err(failed)?;
    let engine = database.engine();
    let listener = Mutex::new(listener);
    Ok(Store { shared: Arc::new(Shared { engine, writers, readers, last_event, stop_listening, listener }) })
}

async fn run<T, E>(
    workers: &Workers,
    committed: impl FnOnce(i64) + Send + 'static,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let job: Job = Box::new(move |slot| {
        // Nobody may be waiting any more; the transaction has ended either way.
        drop(answer.send(transaction::run(slot, committed, work)));
    });
    workers.submit(job);
    answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
}
