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
        "{url} has schema version {found:?}, written by Freehold {writer}; this is Freehold {program}, which \
         knows version {known}. Nothing was changed: use the version that wrote it or a newer one, or go back to \
         {snapshot}",
        program = env!("CARGO_PKG_VERSION"),
        snapshot = match snapshot.as_str() {
            "" => "your own backup from before the upgrade",
            path => path,
        },
    )]
    UnknownSchema {
        /// The database, without its password.
        url: String,
        /// The version recorded.
        found: String,
        /// The version this program writes.
        known: i64,
        /// The version of the program that wrote it.
        writer: String,
        /// The snapshot from before its upgrade; empty when none is recorded.
        snapshot: String,
    },
    /// The database is an old one and may not be upgraded here; it was left unchanged.
    #[error("{url} is {shape}; it must be upgraded first, and nothing was changed", shape = plan.shape.describe())]
    UpgradeNeeded {
        /// The database, without its password.
        url: String,
        /// What an upgrade would do.
        plan: Box<crate::upgrade::Plan>,
    },
    /// Rows contradict each other where no rule decides; nothing was changed.
    #[error(
        "{url} cannot be upgraded before a person answers {count} {questions}; nothing was changed\n\n{texts}",
        count = conflicts.len(),
        questions = if conflicts.len() == 1 { "question" } else { "questions" },
        texts = conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    )]
    UpgradeConflicts {
        /// The database, without its password.
        url: String,
        /// What a person must decide.
        conflicts: Vec<crate::upgrade::Conflict>,
    },
    /// An answer to a conflict cannot be used; nothing was changed.
    #[error("{0}; nothing was changed")]
    Resolution(#[from] crate::upgrade::InvalidResolution),
    /// An upgrade did not pass its own checks, and was rolled back.
    #[error("the upgrade was called off, because a check failed: {what}; the database is as it was")]
    UpgradeCheck {
        /// What was found.
        what: String,
    },
    /// The snapshot before an upgrade could not be made; nothing was changed.
    #[error("cannot make the snapshot {path} before the upgrade: {source}; nothing was changed", path = path.display())]
    Snapshot {
        /// The file or folder concerned.
        path: std::path::PathBuf,
        /// Why.
        source: Cause,
    },
    /// Another program works with the database; nothing was changed.
    #[error("{url} is in use: {holder}; stop it first. Nothing was changed")]
    InUse {
        /// The database, without its password.
        url: String,
        /// Who uses it.
        holder: String,
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
