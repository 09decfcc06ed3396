//! Joins store, git and agent; reads as the life of a task.
//!
//! 1. [`task`] — a task is stored, prompt and all, before anything is made for it.
//! 2. [`environment`] — its workspace is made: planned in a journal, materialised, owned.
//! 3. [`session`] — agents visit the workspace; deleting a session touches nothing on disk.
//! 4. [`review`] — what changed since the task's base commit.
//! 5. [`cleanup`] — the one path that gives a workspace back, sealed.
//! 6. [`storage`] — what takes room, what nobody owns, and the quarantine.
//! 7. [`trash`] — what was closed can be looked at, and [`environment::reopen`] brings it back.
//!
//! Invariants: no database transaction is open while a Git or file-system lock is held; every future has an
//! owner and ends at shutdown; only [`cleanup`] can name a permit to remove.

pub mod agent;
pub mod cleanup;
pub mod environment;
pub mod error;
pub mod events;
pub mod repository;
pub mod repository_settings;
pub mod review;
pub mod session;
pub mod storage;
pub mod system;
pub mod task;
pub mod trash;
pub mod workspace;

mod launch;
mod metrics;
mod pool;
mod preparation;
mod setup;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use freehold_domain::clock::{Clock, IdSource, Timestamp};
use freehold_domain::id::NodeId;
use freehold_git::Git;
use freehold_store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::{EngineError, ErrorKind};

/// What the engine needs to know about the machine it runs on.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// This server, as the database knows it.
    pub node_id: NodeId,
    /// The name of the machine, for people.
    pub hostname: String,
    /// The absolute directory under which task workspaces are made; only Freehold writes there.
    pub workspaces_root: PathBuf,
    /// The absolute directory of the repository that holds seals of folders; made when it is first needed.
    pub folder_seals: PathBuf,
    /// The program that runs the built-in demo agent, with its first arguments.
    pub demo_agent: (PathBuf, Vec<String>),
    /// How long an agent may take to answer the greeting, in milliseconds.
    pub agent_handshake_ms: u64,
    /// How long a stopped agent may take to end by itself, in milliseconds.
    pub agent_stop_grace_ms: u64,
    /// How long deleted tasks, and seals that nothing refers to, are kept, in milliseconds.
    pub retention_ms: i64,
    /// How many worktrees are made ahead of time for each repository in use; 0 makes none.
    pub idle_per_repository: u32,
    /// How many of the newest runs of each automation keep their workspaces on a board.
    pub automation_runs: u32,
}

/// The use cases. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) git: Git,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) options: EngineOptions,
    pub(crate) sessions: session::live::LiveSessions,
    pub(crate) launches: launch::Launches,
    pub(crate) setups: setup::RunningSetups,
    pub(crate) measuring: storage::Measuring,
    /// Wakes the cleanup worker.
    pub(crate) cleanup_wake: Notify,
    /// Wakes the reaper of removed directories.
    pub(crate) reaper_wake: Notify,
    /// The workspaces that are being made now.
    pub(crate) makings: environment::making::Makings,
    /// Owns every future that outlives a request.
    pub(crate) tracker: TaskTracker,
    pub(crate) shutdown: CancellationToken,
}

impl Engine {
    /// Starts the engine: judges what an earlier server left half done, then starts the cleanup worker and
    /// goes on with tasks that wait for their workspace.
    ///
    /// The caller holds the home lock, so that no other server of this node is running.
    pub async fn start(
        store: Store,
        git: Git,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        options: EngineOptions,
    ) -> Result<Self, EngineError> {
        let remover = Arc::new(freehold_git::Remover::new(git.clone()));
        let engine = Self {
            inner: Arc::new(Inner {
                store,
                git,
                clock,
                ids,
                options,
                sessions: session::live::LiveSessions::default(),
                launches: launch::Launches::default(),
                setups: setup::RunningSetups::default(),
                measuring: storage::Measuring::default(),
                cleanup_wake: Notify::new(),
                reaper_wake: Notify::new(),
                makings: environment::making::Makings::default(),
                tracker: TaskTracker::new(),
                shutdown: CancellationToken::new(),
            }),
        };
        environment::prepare_root(&engine.inner.options.workspaces_root)?;
        workspace::ensure_default(&engine).await?;
        session::reconcile::interrupt_orphaned_sessions(&engine).await?;
        environment::reconcile::settle_unfinished_creations(&engine).await?;
        setup::interrupt_orphaned_setups(&engine).await?;
        cleanup::settle_unactivated_jobs(&engine).await?;
        storage::quarantine::settle_unfinished_restores(&engine).await?;
        pool::judge(&engine).await?;
        engine.own(cleanup::reaper::TrashReaper::new(engine.clone(), remover.clone()).run());
        let worker = worker::CleanupWorker::new(engine.clone(), remover);
        engine.own(worker.run());
        engine.own(engine.clone().keep_measuring());
        engine.launch_waiting_tasks().await?;
        Ok(engine)
    }

    /// Stops everything the engine started and waits for it: agents end, sessions become interrupted, the
    /// cleanup worker finishes the step it is in.
    pub async fn shutdown(&self) {
        self.inner.shutdown.cancel();
        self.inner.tracker.close();
        self.inner.tracker.wait().await;
    }

    /// Gives a future an owner: it is polled until it ends, and [`Engine::shutdown`] waits for it.
    pub(crate) fn own(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.inner.tracker.spawn(future);
    }

    /// Carries a change through although its caller may go away meanwhile, as one whose connection breaks does.
    pub(crate) async fn to_the_end<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        match self.inner.tracker.spawn(work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(EngineError::Panicked { operation }),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn ids(&self) -> &dyn IdSource {
        self.inner.ids.as_ref()
    }

    /// Runs blocking work, such as a Git command, off the async threads.
    pub(crate) async fn blocking<T, E>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Git) -> Result<T, E> + Send + 'static,
    ) -> Result<T, EngineError>
    where
        T: Send + 'static,
        E: Into<EngineError> + Send + 'static,
    {
        let git = self.inner.git.clone();
        match tokio::task::spawn_blocking(move || work(&git)).await {
            Ok(result) => result.map_err(Into::into),
            Err(_) => Err(EngineError::Panicked { operation }),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("node", &self.inner.options.node_id).finish_non_exhaustive()
    }
}

/// Ends the process here, as a crash would, when the named failpoint is set to `return`; costs nothing when the
/// feature `failpoints` is off.
macro_rules! failpoint {
    ($name:literal) => {
        fail::fail_point!($name, |_| std::process::abort());
    };
}
pub(crate) use failpoint;

/// What Git tells that doors show as it is.
pub mod git {
    pub use freehold_git::{Branch, ChangeKind, FileChange, FileDiff};
}
