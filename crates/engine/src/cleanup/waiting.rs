//! Which server's work something is, and what is said of a job whose server is not there.
//!
//! A workspace is on the file system of one server. Only that one can look at it, work in it and give it back; the
//! others hand it the job. Where it has not been seen for a while, the job says for whom it waits.

use freehold_domain::cleanup::{CleanupJob, CleanupState};
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{NodeId, TaskId};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use crate::{Engine, EngineError};

/// How often a server says that it runs, in milliseconds.
pub(crate) const SIGN_OF_LIFE_MS: i64 = 10_000;

/// After how long without a sign of life a server counts as stopped, in milliseconds.
const LOST_AFTER_MS: i64 = 40_000;

impl Engine {
    /// Records that this server runs.
    pub(crate) async fn give_sign_of_life(&self) -> Result<(), EngineError> {
        let (id, now) = (self.inner.options.node_id.clone(), self.now());
        let hostname = self.inner.options.hostname.clone();
        let write = self.inner.store.write(move |tx| store::node::upsert(tx, &id, &hostname, now));
        Ok(write.await?)
    }
}

/// Fails when the workspace of a task is on the file system of another server.
pub(crate) fn require_here(tx: &mut Tx<'_>, here: &NodeId, task_id: &TaskId) -> Result<(), EngineError> {
    let Some(node_id) = store::node::of_task(tx, task_id)?.filter(|node| node != here) else { return Ok(()) };
    let hostname = hostname_of(tx, &node_id)?;
    Err(EngineError::WorkspaceElsewhere { task_id: task_id.clone(), hostname })
}

/// The name of a server's machine, or its id where the machine has none.
pub(crate) fn hostname_of(tx: &mut Tx<'_>, id: &NodeId) -> Result<String, StoreError> {
    let hostname = store::node::find(tx, id)?.map(|node| node.hostname).filter(|name| !name.is_empty());
    Ok(hostname.unwrap_or_else(|| id.to_string()))
}

/// Lets jobs say for which server they wait, where it has not been seen for a while.
pub(crate) fn say_who_is_waited_for(
    tx: &mut Tx<'_>,
    jobs: &mut [CleanupJob],
    now: Timestamp,
) -> Result<(), StoreError> {
    if jobs.iter().all(|job| !is_waiting(job)) {
        return Ok(());
    }
    let nodes = store::node::list(tx)?;
    for job in jobs.iter_mut().filter(|job| is_waiting(job)) {
        let node_id = job.resources().and_then(|resources| resources.node_id.clone());
        let Some(node) = nodes.iter().find(|node| Some(&node.id) == node_id.as_ref()) else { continue };
        if now.millis_since(node.last_seen_at) < LOST_AFTER_MS {
            continue;
        }
        let name = if node.hostname.is_empty() { node.id.as_str() } else { &node.hostname };
        let waits =
            format!("waits for the server on {name}, which has not been seen since {}", node.last_seen_at);
        job.last_error =
            if job.last_error.is_empty() { waits } else { format!("{waits}; {}", job.last_error) };
    }
    Ok(())
}

const fn is_waiting(job: &CleanupJob) -> bool {
    matches!(job.state, CleanupState::Pending | CleanupState::Running | CleanupState::RetryWait)
}
