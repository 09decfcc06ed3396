//! The cleanup worker: claims due jobs, works on several at once, and keeps its claims alive meanwhile.
//!
//! Jobs that touch the same repository or the same task run one after another; a repository that keeps its job
//! waiting does not hold up others. The worker is woken by a signal and by the clock alike, so a job that a crash left
//! behind is found without one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::clock::Timestamp;
use freehold_git::Remover;
use freehold_store as store;
use freehold_store::cleanup::Claim;
use tokio::task::{Id, JoinError, JoinSet};

use crate::cleanup::waiting::SIGN_OF_LIFE_MS;
use crate::{Engine, EngineError};

/// How many jobs are worked on at once.
const MAX_AT_ONCE: usize = 4;
/// How long a claim lasts without a heartbeat, in milliseconds.
const LEASE_MS: i64 = 30_000;
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest sleep, so that jobs of other writers are found without a signal.
const IDLE_MS: i64 = 5_000;
/// How often tasks that close by themselves are looked for.
const CLOSING_SWEEP_MS: i64 = 60 * 1_000;
/// How long events of other servers may wait to be looked at.
const LISTEN_PAUSE: Duration = Duration::from_millis(100);
/// How often tasks in the trash and old seals are looked through.
const SWEEP_MS: i64 = 10 * 60 * 1_000;

/// Claims and runs cleanup jobs until the server shuts down.
pub(crate) struct CleanupWorker {
    engine: Engine,
    remover: Arc<Remover>,
}

impl CleanupWorker {
    pub(crate) const fn new(engine: Engine, remover: Arc<Remover>) -> Self {
        Self { engine, remover }
    }

    pub(crate) async fn run(self) {
        let worker = Arc::new(self);
        let shutdown = worker.engine.inner.shutdown.clone();
        let mut work = Work::default();
        worker.release_claims().await;
        let (mut swept, mut closed): (Option<Timestamp>, Option<Timestamp>) = (None, None);
        let mut seen = worker.engine.now();
        while !shutdown.is_cancelled() {
            let now = worker.engine.now();
            if swept.is_none_or(|swept| now.millis_since(swept) > SWEEP_MS) {
                swept = Some(now);
                if let Err(error) = worker.engine.purge_expired().await {
                    tracing::error!(%error, "what has reached its age could not be purged");
                }
            }
            if closed.is_none_or(|closed| now.millis_since(closed) > CLOSING_SWEEP_MS) {
                closed = Some(now);
                if let Err(error) = worker.engine.close_what_is_due().await {
                    tracing::error!(%error, "what closes by itself could not be looked through");
                }
            }
            // First, as what a crash left half taken has to be whole before the job of its attempt looks at it.
            if let Err(error) = worker.give_back_idle().await {
                tracing::error!(%error, "idle worktrees could not be given back");
            }
            if now.millis_since(seen) >= SIGN_OF_LIFE_MS {
                seen = now;
                worker.give_sign_of_life().await;
            }
            worker.begin_what_is_due(&mut work).await;
        }
        while work.end_of_one().await {}
    }

    /// Begins the next job that can be worked on; where there is none, waits until that may have changed.
    async fn begin_what_is_due(self: &Arc<Self>, work: &mut Work) {
        self.engine.give_way().await;
        let claim = if work.is_full() { Ok(Claim::Unwanted) } else { self.claim(work.busy()).await };
        match claim {
            Ok(Claim::Job(job)) => work.begin(*job, self),
            Ok(Claim::Unwanted) => {
                tokio::select! {
                    _ = work.end_of_one(), if !work.is_idle() => {}
                    () = self.engine.inner.shutdown.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_millis(IDLE_MS.unsigned_abs())) => {}
                }
            }
            Ok(Claim::Nothing) => self.sleep(work).await,
            Err(error) => {
                tracing::error!(%error, "cleanup jobs could not be claimed");
                self.sleep(work).await;
            }
        }
    }

    /// What this node's earlier life was working on is due at once.
    async fn release_claims(&self) {
        let node = self.engine.inner.options.node_id.clone();
        let write = self.engine.inner.store.write(move |tx| store::cleanup::release_all(tx, &node));
        if let Err(error) = write.await {
            tracing::warn!(%error, "claims of an earlier start last until their leases end");
        }
    }

    /// Gives back every idle worktree that is due.
    async fn give_back_idle(&self) -> Result<(), EngineError> {
        while !self.engine.inner.shutdown.is_cancelled() && self.engine.give_back_idle(&self.remover).await? {
        }
        Ok(())
    }

    async fn give_sign_of_life(&self) {
        if let Err(error) = self.engine.give_sign_of_life().await {
            tracing::warn!(%error, "that this server runs could not be stored");
        }
    }

    async fn claim(&self, busy: HashSet<String>) -> Result<Claim, EngineError> {
        let (node, now) = (self.engine.inner.options.node_id.clone(), self.engine.now());
        let write = self.engine.inner.store.write(move |tx| {
            let is_wanted = |job: &CleanupJob| touched(job).is_disjoint(&busy);
            let claim = store::cleanup::claim_next(tx, &node, now, LEASE_MS, is_wanted)?;
            if let Claim::Job(job) = &claim {
                crate::cleanup::tell(tx, job, now);
            }
            Ok::<_, EngineError>(claim)
        });
        write.await
    }

    async fn work(&self, job: CleanupJob) {
        let id = job.id.clone();
        let heartbeat = self.keep_claim(job.clone());
        let attempt = async {
            if let Err(error) = self.engine.run_cleanup(job, self.remover.clone()).await {
                tracing::error!(job_id = %id, %error, "the outcome of a cleanup attempt could not be stored");
            }
        };
        tokio::select! {
            () = attempt => {}
            () = heartbeat => {}
        }
    }

    /// Extends the lease until it is dropped. A lost claim is logged only: the fence refuses what the attempt
    /// would store, and each removal looks again before it moves anything.
    async fn keep_claim(&self, job: CleanupJob) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            let (id, fence, now) = (job.id.clone(), job.fence, self.engine.now());
            let beat = self
                .engine
                .inner
                .store
                .write(move |tx| store::cleanup::heartbeat(tx, &id, fence, now, LEASE_MS));
            match beat.await {
                Ok(true) => self.give_sign_of_life().await,
                Ok(false) => tracing::warn!(job_id = %job.id, "another worker took over a cleanup job"),
                Err(error) => tracing::warn!(job_id = %job.id, %error, "a heartbeat could not be stored"),
            }
        }
    }

    /// Waits until something happened that another server may have handed over as a job; with SQLite there is none.
    async fn job_of_another_server(&self) {
        if self.engine.inner.store.engine() == store::Engine::Sqlite {
            return std::future::pending().await;
        }
        let mut events = self.engine.inner.store.last_event();
        events.mark_unchanged();
        // Agents that talk make events without end; the queue need not be asked for each of them.
        tokio::time::sleep(LISTEN_PAUSE).await;
        if events.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn sleep(&self, work: &mut Work) {
        let now = self.engine.now();
        let node = self.engine.inner.options.node_id.clone();
        let read = self.engine.inner.store.read(move |tx| store::cleanup::next_due(tx, &node));
        let due = read.await.ok().flatten();
        let pause = due.map_or(IDLE_MS, |due: Timestamp| due.millis_since(now).clamp(50, IDLE_MS));
        tokio::select! {
            _ = work.end_of_one(), if !work.is_idle() => {}
            () = self.engine.inner.cleanup_wake.notified() => {}
            () = self.job_of_another_server() => {}
            () = self.engine.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(pause.unsigned_abs())) => {}
        }
    }
}

/// The jobs that are worked on, and what they touch.
#[derive(Default)]
struct Work {
    attempts: JoinSet<()>,
    touched: HashMap<Id, HashSet<String>>,
}

impl Work {
    fn begin(&mut self, job: CleanupJob, worker: &Arc<CleanupWorker>) {
        let touched = touched(&job);
        let worker = worker.clone();
        let attempt = self.attempts.spawn(async move { worker.work(job).await });
        self.touched.insert(attempt.id(), touched);
    }

    /// What may not be touched by another job now.
    fn busy(&self) -> HashSet<String> {
        self.touched.values().flatten().cloned().collect()
    }

    fn is_full(&self) -> bool {
        self.attempts.len() >= MAX_AT_ONCE
    }

    fn is_idle(&self) -> bool {
        self.attempts.is_empty()
    }

    /// Waits for an attempt to end; false when none runs.
    async fn end_of_one(&mut self) -> bool {
        let Some(ended) = self.attempts.join_next_with_id().await else { return false };
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                // Its claim runs out, and it is tried again.
                tracing::error!(%error, "a cleanup attempt stopped unexpectedly");
                JoinError::id(&error)
            }
        };
        self.touched.remove(&id);
        true
    }
}

/// What a job works on that no other may work on meanwhile: its task and its repositories.
fn touched(job: &CleanupJob) -> HashSet<String> {
    let mut touched = HashSet::from([job.task_id.as_str().to_owned()]);
    if let Some(resources) = job.resources() {
        touched.extend(resources.worktrees.iter().map(|worktree| worktree.repository_path.clone()));
        touched.extend(resources.seals.iter().map(|seal| seal.repository_path.clone()));
    }
    touched
}
