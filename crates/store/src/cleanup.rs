//! Cleanup jobs: the durable intent to give resources back, claimed by workers with a lease and a fence.

use freehold_domain::cleanup::{CleanupJob, CleanupState, ResourceSnapshot, Stake};
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{CleanupJobId, NodeId, TaskId};

use crate::{StoreError, Tx};

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanupOutcome {
    /// Everything is given back.
    Succeeded,
    /// It is tried again.
    RetryWait {
        /// When.
        at: Timestamp,
        /// What stopped it.
        error: String,
    },
    /// A person must decide.
    NeedsDecision {
        /// What would be lost.
        stakes: Vec<Stake>,
        /// What stopped it.
        error: String,
    },
    /// It is given up.
    Failed {
        /// What stopped it.
        error: String,
    },
}

/// Stores a prepared job, a barrier from now on; gives the stored job of the same operation if there is one.
pub fn insert_prepared(tx: &mut Tx<'_>, job: &CleanupJob) -> Result<CleanupJob, StoreError> {
    todo!()
}
/// Stores what a prepared job gives back.
pub fn store_snapshot(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    snapshot: &ResourceSnapshot,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Lets workers claim a prepared job.
pub fn activate(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// Claims the oldest job that is due: pending, waiting for its retry, or running with an expired lease.
pub fn claim_next(
    tx: &mut Tx<'_>,
    node: &NodeId,
    now: Timestamp,
    lease_ms: i64,
) -> Result<Option<CleanupJob>, StoreError> {
    todo!()
}
/// Extends a lease; false when the claim was lost.
pub fn heartbeat(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    fence: i64,
    now: Timestamp,
    lease_ms: i64,
) -> Result<bool, StoreError> {
    todo!()
}
/// Records how an attempt ended; fails when the claim was lost.
pub fn finish(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    fence: i64,
    outcome: &CleanupOutcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Finds a job.
pub fn find(tx: &mut Tx<'_>, id: &CleanupJobId) -> Result<Option<CleanupJob>, StoreError> {
    todo!()
}
/// Finds a job; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &CleanupJobId) -> Result<CleanupJob, StoreError> {
    todo!()
}
/// Lists jobs, of one task and in one state when given, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    task: Option<&TaskId>,
    state: Option<CleanupState>,
) -> Result<Vec<CleanupJob>, StoreError> {
    todo!()
}
/// Finds the unfinished job that forbids new sessions and worktrees for a task.
pub fn barrier_of(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<CleanupJob>, StoreError> {
    todo!()
}
/// Lists the prepared jobs, oldest first.
pub fn list_prepared(tx: &mut Tx<'_>) -> Result<Vec<CleanupJob>, StoreError> {
    todo!()
}
/// Makes a job that waits for a decision, or was given up, due again with a fresh count of attempts.
pub fn requeue(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// Calls a job off.
pub fn cancel(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// When the next job is due, counting expiries of leases.
pub fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    todo!()
}
/// Records a person's decision about branches that the trigger would remove.
pub fn set_keep_branches(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    keep: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
