//! The cleanup worker: claims due jobs, one at a time, and keeps its claim alive while it works.
//!
//! It is woken by a signal and by the clock alike, so a job that a crash left behind is found without one.

use std::sync::Arc;
use std::time::Duration;

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::clock::Timestamp;
use freehold_git::Remover;
use freehold_store as store;

use crate::cleanup::waiting::SIGN_OF_LIFE_MS;
use crate::{Engine, EngineError};

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
    pub(crate) fn new(engine: Engine, remover: Remover) -> Self {
        Self { engine, remover: Arc::new(remover) }
    }

    pub(crate) async fn run(self) {
        let shutdown = self.engine.inner.shutdown.clone();
        let (mut swept, mut closed): (Option<Timestamp>, Option<Timestamp>) = (None, None);
        let mut seen = self.engine.now();
        while !shutdown.is_cancelled() {
            let now = self.engine.now();
            if swept.is_none_or(|swept| now.millis_since(swept) > SWEEP_MS) {
                swept = Some(now);
                if let Err(error) = self.engine.purge_expired().await {
                    tracing::error!(%error, "what has reached its age could not be purged");
                }
            }
            if closed.is_none_or(|closed| now.millis_since(closed) > CLOSING_SWEEP_MS) {
                closed = Some(now);
                if let Err(error) = self.engine.close_what_is_due().await {
                    tracing::error!(%error, "what closes by itself could not be looked through");
                }
            }
            // First, as what a crash left half taken has to be whole before the job of its attempt looks at it.
            if let Err(error) = self.give_back_idle().await {
                tracing::error!(%error, "idle worktrees could not be given back");
            }
            if now.millis_since(seen) >= SIGN_OF_LIFE_MS {
                seen = now;
                self.give_sign_of_life().await;
            }
            match self.claim().await {
                Ok(Some(job)) => self.work(job).await,
                Ok(None) => self.sleep().await,
                Err(error) => {
                    tracing::error!(%error, "cleanup jobs could not be claimed");
                    self.sleep().await;
                }
            }
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

    async fn claim(&self) -> Result<Option<CleanupJob>, EngineError> {
        let (node, now) = (self.engine.inner.options.node_id.clone(), self.engine.now());
        let write = self.engine.inner.store.write(move |tx| {
            let job = store::cleanup::claim_next(tx, &node, now, LEASE_MS)?;
            if let Some(job) = &job {
                crate::cleanup::tell(tx, job, now);
            }
            Ok::<_, EngineError>(job)
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

    async fn sleep(&self) {
        let now = self.engine.now();
        let node = self.engine.inner.options.node_id.clone();
        let read = self.engine.inner.store.read(move |tx| store::cleanup::next_due(tx, &node));
        let due = read.await.ok().flatten();
        let pause = due.map_or(IDLE_MS, |due: Timestamp| due.millis_since(now).clamp(50, IDLE_MS));
        tokio::select! {
            () = self.engine.inner.cleanup_wake.notified() => {}
            () = self.job_of_another_server() => {}
            () = self.engine.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(pause.unsigned_abs())) => {}
        }
    }
}
