//! Purging: tasks leave the trash and seals go with age, through the same jobs as everything that is taken away.

use freehold_domain::cleanup::{CleanupJob, CleanupTrigger, ResourceSnapshot, SnapshotSeal};
use freehold_domain::id::{CleanupJobId, TaskId};
use freehold_domain::seal::WorkspaceSeal;
use freehold_store as store;

use super::{insert_pending, prepared_job, tell};
use crate::{Engine, EngineError};

impl Engine {
    /// Reserves the barrier, lists the task's seals and hands the job to the worker.
    pub(crate) async fn purge_from_trash(&self, id: TaskId) -> Result<CleanupJob, EngineError> {
        let job = self.reserve(&id, CleanupTrigger::TrashPurge).await?;
        crate::failpoint!("engine.purge.reserved");
        let (stored, now) = (job.clone(), self.now());
        let node = self.inner.options.node_id.clone();
        let write = self.inner.store.write(move |tx| {
            let seals = store::seal::of_task(tx, &stored.task_id)?;
            // The seals are where they were taken; a server that cannot reach them leaves the job to one that can.
            let node_id = seals.first().map_or(node, |seal| seal.node_id.clone());
            let snapshot = snapshot_of(seals, node_id);
            store::cleanup::store_snapshot(tx, &stored.id, &snapshot, now)?;
            store::cleanup::activate(tx, &stored.id, now)?;
            tell(tx, &stored, now);
            Ok::<_, EngineError>(())
        });
        if let Err(error) = write.await {
            self.call_off(job.id).await?;
            return Err(error);
        }
        self.inner.cleanup_wake.notify_one();
        self.cleanup_job(job.id).await
    }

    /// Purges what has reached its age: tasks in the trash, what is in quarantine, and seals that bring nothing
    /// back.
    pub(crate) async fn purge_expired(&self) -> Result<(), EngineError> {
        let limit = self.now().plus_millis(-self.inner.options.retention_ms);
        let node = self.inner.options.node_id.clone();
        let read = self.inner.store.read(move |tx| {
            let tasks = store::task::trashed_before(tx, limit)?;
            let held = store::quarantine::held_before(tx, &node, limit)?.into_iter().map(|entry| entry.id);
            Ok::<_, EngineError>((tasks, store::seal::expired(tx, &node, limit)?, held.collect::<Vec<_>>()))
        });
        let (tasks, seals, held) = read.await?;
        for task_id in tasks {
            match self.purge_from_trash(task_id).await {
                // Another server was first, or a person brought it back meanwhile.
                Ok(_) | Err(EngineError::Barrier { .. } | EngineError::TaskClosed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for id in held {
            match self.purge_quarantined(id).await {
                Ok(_) | Err(EngineError::Barrier { .. } | EngineError::Quarantine(_)) => {}
                Err(error) => tracing::warn!(%error, "something stays in quarantine beyond its time"),
            }
        }
        for seals in seals.chunk_by(|one, other| one.task_id == other.task_id) {
            self.expire_seals(seals.to_vec()).await?;
        }
        Ok(())
    }

    async fn expire_seals(&self, seals: Vec<WorkspaceSeal>) -> Result<(), EngineError> {
        let Some(task_id) = seals.first().map(|seal| seal.task_id.clone()) else { return Ok(()) };
        let (id, now) = (CleanupJobId::generate(self.ids()), self.now());
        let job = prepared_job(id, &task_id, "", CleanupTrigger::SealExpiry, now);
        let snapshot = snapshot_of(seals, self.inner.options.node_id.clone());
        self.inner.store.write(move |tx| insert_pending(tx, &job, &snapshot, now)).await?;
        self.inner.cleanup_wake.notify_one();
        Ok(())
    }
}

fn snapshot_of(seals: Vec<WorkspaceSeal>, node_id: freehold_domain::id::NodeId) -> ResourceSnapshot {
    let listed = seals.into_iter().map(|seal| SnapshotSeal {
        id: seal.id,
        repository_path: seal.repository_path,
        commit: seal.commit,
    });
    ResourceSnapshot { node_id: Some(node_id), seals: listed.collect(), ..ResourceSnapshot::default() }
}
