//! The reaper: unlinks what removals moved into trash folders, when nobody is waiting for anything.
//!
//! Terms: a *removed directory* has a row, written when its removal was done; what lies in a trash folder without a
//! row is not touched. A *step* is some hundred entries.
//!
//! One directory at a time. After each step the reaper rests as long as the step took, and longer while a workspace
//! is being made, so that neither disk nor journal of the file system is ever its own. Whatever cuts it short, the
//! row is still there and the next start goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freehold_domain::removed::RemovedDirectory;
use freehold_git::{Oid, Reaped, Remover, TrashEntry};
use freehold_store as store;

use super::permit::RemovedRow;
use crate::{Engine, EngineError};

/// How long after a failure the next attempt comes, in milliseconds.
const RETRY_MS: i64 = 60_000;

/// The longest sleep, so that what was postponed is found without a signal.
const IDLE: Duration = Duration::from_secs(30);

/// The longest rest after one step while workspaces are made without a pause.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often the reaper looks whether workspaces are still being made.
const LOOK: Duration = Duration::from_millis(10);

/// Unlinks removed directories until the server shuts down.
pub(crate) struct TrashReaper {
    engine: Engine,
    remover: Arc<Remover>,
}

impl TrashReaper {
    pub(crate) const fn new(engine: Engine, remover: Arc<Remover>) -> Self {
        Self { engine, remover }
    }

    pub(crate) async fn run(self) {
        let shutdown = self.engine.inner.shutdown.clone();
        while !shutdown.is_cancelled() {
            match self.reap_next().await {
                Ok(true) => {}
                Ok(false) => self.sleep().await,
                Err(error) => {
                    tracing::error!(%error, "removed directories could not be unlinked");
                    self.sleep().await;
                }
            }
        }
    }

    /// Unlinks the next directory that is due; false when none is.
    async fn reap_next(&self) -> Result<bool, EngineError> {
        let (node, now) = (self.engine.inner.options.node_id.clone(), self.engine.now());
        let read = self.engine.inner.store.read(move |tx| store::removed::next_due(tx, &node, now));
        let Some(removed) = read.await? else { return Ok(false) };
        crate::failpoint!("engine.reaper.found");
        let path = removed.path.clone();
        let outcome = self.reap(removed).await;
        crate::failpoint!("engine.reaper.unlinked");
        let now = self.engine.now();
        let write = self.engine.inner.store.write(move |tx| match outcome {
            Ok(Reaped::Gone) => store::removed::delete(tx, &path).map(drop),
            Ok(Reaped::Foreign) => {
                tracing::warn!(path, "something else is where a removed directory was; it stays");
                store::removed::delete(tx, &path).map(drop)
            }
            Ok(Reaped::Paused) => Ok(()),
            Err(error) => {
                tracing::warn!(path, %error, "a removed directory could not be unlinked yet");
                store::removed::postpone(tx, &path, &error.to_string(), now.plus_millis(RETRY_MS))
            }
        });
        write.await?;
        Ok(true)
    }

    async fn reap(&self, removed: RemovedDirectory) -> Result<Reaped, EngineError> {
        self.engine.calm(PATIENCE).await;
        let (engine, remover) = (self.engine.clone(), self.remover.clone());
        let row = Arc::new(RemovedRow::new(removed));
        if let Err(error) = engine.reuse_removed(&row, remover.clone()).await {
            tracing::warn!(path = row.removed().path, %error, "a given-back workspace does not return to the pool");
        }
        self.engine
            .blocking("unlinking a removed directory", move |_| {
                let mut began = Instant::now();
                row.reap(&remover, &mut || {
                    crate::failpoint!("engine.reaper.step");
                    engine.rest(began.elapsed());
                    began = Instant::now();
                    !engine.inner.shutdown.is_cancelled()
                })
            })
            .await
    }

    async fn sleep(&self) {
        tokio::select! {
            () = self.engine.inner.reaper_wake.notified() => {}
            () = self.engine.inner.shutdown.cancelled() => {}
            () = tokio::time::sleep(IDLE) => {}
        }
    }
}

impl Engine {
    /// Rests on a blocking thread: as long as the work before took, and on while workspaces are being made.
    fn rest(&self, worked: Duration) {
        let began = Instant::now();
        let is_over = || {
            let rested = began.elapsed();
            self.inner.shutdown.is_cancelled()
                || rested >= PATIENCE
                || (rested >= worked && self.inner.makings.are_none())
        };
        while !is_over() {
            std::thread::sleep(LOOK);
        }
    }

    /// Stores what a removal left in the trash, so that the reaper finds it.
    pub(super) async fn record_removed(&self, removed: Vec<RemovedDirectory>) -> Result<(), EngineError> {
        if removed.is_empty() {
            return Ok(());
        }
        let write = self
            .inner
            .store
            .write(move |tx| removed.iter().try_for_each(|removed| store::removed::insert(tx, removed)));
        write.await?;
        self.inner.reaper_wake.notify_one();
        Ok(())
    }

    /// The record of a directory that a removal left.
    pub(super) fn removed_directory(
        &self,
        entry: &TrashEntry,
        repository_id: &freehold_domain::id::RepositoryId,
        clean_commit: Option<&Oid>,
    ) -> RemovedDirectory {
        let now = self.now();
        RemovedDirectory {
            path: entry.path.display().to_string(),
            inode: entry.inode,
            node_id: self.inner.options.node_id.clone(),
            repository_id: repository_id.clone(),
            clean_commit: clean_commit.map(Oid::to_string).unwrap_or_default(),
            reason: String::new(),
            created_at: now,
            due_at: now,
        }
    }
}

/// The entry that a row stands for.
pub(super) fn entry_of(removed: &RemovedDirectory) -> TrashEntry {
    TrashEntry { path: PathBuf::from(&removed.path), inode: removed.inode }
}
