//! What can go wrong in the store: one variant per operation, each naming its subject.

use freehold_domain::cleanup::{CleanupState, CleanupTrigger};
use freehold_domain::id::{CleanupJobId, SessionId, TaskId};

/// The cause an engine gave.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Says what the store could not do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The text names no database.
    #[error("{url:?} does not name a database: {reason}")]
    InvalidUrl {
        /// The text, without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database could not be opened or reached.
    #[error("cannot open the database {url}: {source}")]
    Open {
        /// The database, without its password.
        url: String,
        /// Why.
        source: Cause,
    },
    /// The database belongs to another program; it was left unchanged.
    #[error("{url} is not a Freehold database: it holds tables {tables}; nothing was changed")]
    NotFreehold {
        /// The database, without its password.
        url: String,
        /// Names of some tables found.
        tables: String,
    },
    /// The database was written by a version that this one does not know; it was left unchanged.
    #[error(
        "{url} has schema version {found:?}, and this program knows version {known}; nothing was changed \
         (use the version that wrote it, or a newer one)"
    )]
    UnknownSchema {
        /// The database, without its password.
        url: String,
        /// The version recorded.
        found: String,
        /// The version this program writes.
        known: i64,
    },
    /// A statement or transaction failed.
    #[error("cannot {operation}: {source}")]
    Database {
        /// What was tried, for example `run task::INSERT` or `commit`.
        operation: String,
        /// Why.
        source: Cause,
    },
    /// No row has the id.
    #[error("there is no {noun} {id}")]
    NotFound {
        /// The noun, for example `task`.
        noun: &'static str,
        /// The id that was asked for.
        id: String,
    },
    /// A stored value cannot be read as what its column holds.
    #[error("{table}.{column} of row {id:?} holds {word:?}, which cannot be read")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// The row's first column, its id.
        id: String,
        /// The value found, shortened to 80 characters.
        word: String,
    },
    /// A cleanup job forbids new sessions and worktrees for the task.
    #[error("task {task_id} is being cleaned up ({trigger}, job {job_id}); try again when the job has ended")]
    Barrier {
        /// The task.
        task_id: TaskId,
        /// The job.
        job_id: CleanupJobId,
        /// What caused the job.
        trigger: CleanupTrigger,
    },
    /// The task is archived or deleted.
    #[error("task {task_id} is archived or deleted, so it gets no new session and no workspace")]
    TaskClosed {
        /// The task.
        task_id: TaskId,
    },
    /// The session has an execution already.
    #[error("session {session_id} has a running agent already")]
    ExecutionExists {
        /// The session.
        session_id: SessionId,
    },
    /// The worker lost its claim on the job; another may work on it.
    #[error("cleanup job {job_id} is no longer claimed with fence {fence}")]
    StaleFence {
        /// The job.
        job_id: CleanupJobId,
        /// The fence the worker held.
        fence: i64,
    },
    /// The job cannot go from one state to another.
    #[error("cleanup job {job_id} is {from} and cannot become {to}")]
    CleanupStep {
        /// The job.
        job_id: CleanupJobId,
        /// The state it is in.
        from: CleanupState,
        /// The state asked for.
        to: CleanupState,
    },
    /// The closure of a transaction panicked; the transaction was rolled back unless it had committed.
    #[error("a transaction panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A read transaction tried to emit an event.
    #[error("an event was emitted in a read transaction")]
    EmitInRead,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn database(operation: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Database { operation: operation.into(), source: source.into() }
    }
}
