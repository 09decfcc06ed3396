//! Worker threads: each owns one connection and runs the jobs of one queue, one after the other.
//!
//! A job runs to its end once it is queued, whether or not anyone still waits for its result, so that a
//! request that goes away cannot leave a transaction half done.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::StoreError;
use crate::dialect::{Connection, Database, Mode};

/// What a worker does with its connection.
pub(crate) type Job = Box<dyn FnOnce(&mut Slot) + Send>;

/// A worker's connection, opened when first needed and again when it was lost.
pub(crate) struct Slot {
    database: Arc<Database>,
    mode: Mode,
    connection: Option<Connection>,
}

impl Slot {
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let usable = self.connection.take().filter(|connection| !connection.is_lost());
        let connection = match usable {
            Some(connection) => connection,
            None => self.database.connect(self.mode)?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Ends whatever transaction is open; a connection that cannot even do that is given up.
    pub(crate) fn roll_back(&mut self) {
        if let Some(connection) = &mut self.connection
            && let Err(error) = connection.rollback()
        {
            tracing::warn!(%error, "cannot roll back; the connection is given up");
            self.connection = None;
        }
    }
}

/// Some threads with one queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Workers {
    /// Starts `count` threads; the first one begins with `first`, when a connection is open already.
    pub(crate) fn start(
        database: &Arc<Database>,
        mode: Mode,
        count: usize,
        mut first: Option<Connection>,
    ) -> std::io::Result<Self> {
        let workers = Self { queue: Arc::new(Queue::default()), threads: Mutex::default() };
        for number in 0..count {
            let queue = Arc::clone(&workers.queue);
            let mut slot = Slot { database: Arc::clone(database), mode, connection: first.take() };
            let name =
                format!("freehold-store-{}-{number}", if mode == Mode::Read { "read" } else { "write" });
            let thread = std::thread::Builder::new().name(name).spawn(move || queue.work(&mut slot))?;
            lock(&workers.threads).push(thread);
        }
        Ok(workers)
    }

    /// Queues a job; drops it when the queue is closed.
    pub(crate) fn submit(&self, job: Job) {
        let mut state = lock(&self.queue.state);
        if !state.closed {
            state.jobs.push_back(job);
            self.queue.changed.notify_one();
        }
    }

    /// Takes no more jobs; the threads end after the ones they have.
    pub(crate) fn close(&self) {
        lock(&self.queue.state).closed = true;
        self.queue.changed.notify_all();
    }

    /// Waits for the threads to end.
    pub(crate) fn join(&self) {
        for thread in lock(&self.threads).drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Queue {
    fn work(&self, slot: &mut Slot) {
        while let Some(job) = self.next() {
            job(slot);
        }
        if let Some(connection) = &mut slot.connection {
            connection.retire();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// No job runs while one of these locks is held, so a panic cannot leave what they guard half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
