//! Cleanup jobs: the durable intent to give resources back, claimed by workers with a lease and a fence.
//!
//! A claim raises the row's *fence*. What a worker writes afterwards names the fence it was given, so a worker
//! whose *lease* ran out and whose job another took over changes nothing.
//!
//! Databases that people bring along hold jobs of another program. Words that are not known are read as those
//! with which nothing is removed, so that one such row stops neither the other jobs nor a start.

use freehold_domain::cleanup::{
    CleanupJob, CleanupState, CleanupTrigger, Lease, ResourceSnapshot, Snapshot, Stake,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{CleanupJobId, NodeId, TaskId};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, task};

const TABLE: &str = "task_resource_cleanup_jobs";
const NOUN: &str = "cleanup job";

macro_rules! columns {
    () => {
        "id, operation_id, task_id, task_title, trigger, state, resource_snapshot, attempts, next_attempt_at, \
         lease_owner, lease_expires_at, fence, last_error, stakes, accepted, created_at, updated_at, completed_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM task_resource_cleanup_jobs ", $rest)
    };
}

/// Whether a job can be claimed at an instant: pending, waiting for its retry, or left by a worker that is gone.
macro_rules! due {
    ($now:literal) => {
        concat!(
            "state = 'pending' OR (state = 'retry_wait' AND (next_attempt_at IS NULL OR next_attempt_at <= ",
            $now,
            ")) OR (state = 'running' AND (lease_expires_at IS NULL OR lease_expires_at <= ",
            $now,
            "))"
        )
    };
}

/// How many due jobs are looked at for one that can be worked on.
const DUE_LIMIT: i64 = 200;

statements! {
    INSERT = concat!(
        "INSERT INTO task_resource_cleanup_jobs (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ",
        "$11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT (operation_id) DO NOTHING"
    );
    FIND_BY_OPERATION = select!("WHERE operation_id = $1");
    STORE_SNAPSHOT =
        "UPDATE task_resource_cleanup_jobs SET resource_snapshot = $1, node_id = $2, updated_at = $3 WHERE id = $4";
    LIST_DUE = concat!(
        "SELECT ", columns!(), " FROM task_resource_cleanup_jobs WHERE node_id IN ('', $1) AND (", due!("$2"), ") ",
        "ORDER BY created_at, id LIMIT $3"
    );
    CLAIM = concat!(
        "UPDATE task_resource_cleanup_jobs SET state = 'running', lease_owner = $1, lease_expires_at = $2, ",
        "fence = fence + 1, attempts = attempts + 1, next_attempt_at = NULL, updated_at = $3 WHERE id = $4 AND (",
        due!("$3"), ") RETURNING ", columns!()
    );
    RELEASE =
        "UPDATE task_resource_cleanup_jobs SET lease_expires_at = NULL WHERE state = 'running' AND lease_owner = $1";
    PARK =
        "UPDATE task_resource_cleanup_jobs SET state = 'needs_decision', last_error = $1, lease_owner = '', \
         lease_expires_at = NULL WHERE id = $2";
    HEARTBEAT =
        "UPDATE task_resource_cleanup_jobs SET lease_expires_at = $1, updated_at = $2 \
         WHERE id = $3 AND fence = $4 AND state = 'running'";
    FINISH =
        "UPDATE task_resource_cleanup_jobs SET state = $1, next_attempt_at = $2, last_error = $3, stakes = $4, \
         completed_at = $5, updated_at = $6, lease_owner = '', lease_expires_at = NULL \
         WHERE id = $7 AND fence = $8 AND state = 'running'";
    FIND = select!("WHERE id = $1");
    LOCK = select!("WHERE id = $1/*pg  FOR UPDATE*/");
    LIST = select!("WHERE $1 = '' OR task_id = $1 ORDER BY created_at DESC, id DESC");
    UNFINISHED_OF = select!(
        "WHERE task_id = $1 AND state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY created_at, id"
    );
    LIST_PREPARED = select!("WHERE state = 'prepared' ORDER BY created_at, id");
    ACTIVATE =
        "UPDATE task_resource_cleanup_jobs SET state = 'pending', lease_owner = '', lease_expires_at = NULL, \
         updated_at = $1 WHERE id = $2";
    REQUEUE =
        "UPDATE task_resource_cleanup_jobs SET state = 'pending', attempts = 0, stakes = '[]', completed_at = NULL, \
         updated_at = $1 WHERE id = $2";
    CANCEL =
        "UPDATE task_resource_cleanup_jobs SET state = 'cancelled', stakes = '[]', next_attempt_at = NULL, \
         completed_at = $1, updated_at = $2 WHERE id = $3";
    NEXT_DUE =
        "SELECT MIN(CASE state WHEN 'running' THEN lease_expires_at WHEN 'retry_wait' THEN next_attempt_at \
         ELSE created_at END) FROM task_resource_cleanup_jobs \
         WHERE node_id IN ('', $1) AND state IN ('pending', 'retry_wait', 'running')";
    SET_ACCEPTED = "UPDATE task_resource_cleanup_jobs SET accepted = $1, updated_at = $2 WHERE id = $3";
}

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

impl CleanupOutcome {
    /// The state of the job after it.
    #[must_use]
    pub const fn state(&self) -> CleanupState {
        match self {
            Self::Succeeded => CleanupState::Succeeded,
            Self::RetryWait { .. } => CleanupState::RetryWait,
            Self::NeedsDecision { .. } => CleanupState::NeedsDecision,
            Self::Failed { .. } => CleanupState::Failed,
        }
    }

    fn error(&self) -> &str {
        match self {
            Self::Succeeded => "",
            Self::RetryWait { error, .. } | Self::NeedsDecision { error, .. } | Self::Failed { error } => {
                error
            }
        }
    }
}

/// Stores a prepared job, a barrier from now on; gives the stored job of the same operation if there is one.
/// Locks the task's row first, as those who store sessions and environments do.
pub fn insert_prepared(tx: &mut Tx<'_>, job: &CleanupJob) -> Result<CleanupJob, StoreError> {
    task::find_locked(tx, &job.task_id)?;
    let snapshot = match &job.snapshot {
        Snapshot::Own(resources) => to_json(resources)?,
        Snapshot::Foreign(text) => text.clone(),
    };
    let lease_owner = job.lease.as_ref().map_or("", |lease| lease.owner.as_str());
    let values = params![
        job.id.as_str(),
        &job.operation_id,
        job.task_id.as_str(),
        &job.task_title,
        job.trigger.as_str(),
        CleanupState::Prepared.as_str(),
        snapshot,
        job.attempts,
        job.next_attempt_at,
        lease_owner,
        job.lease.as_ref().map(|lease| lease.expires_at),
        job.fence,
        &job.last_error,
        to_json(&job.stakes)?,
        to_json(&job.accepted)?,
        job.created_at,
        job.updated_at,
        job.completed_at,
    ];
    tx.execute(&INSERT, values)?;
    let stored = tx.row(&FIND_BY_OPERATION, params![&job.operation_id], TABLE, read)?;
    stored.ok_or_else(|| absent(&job.id))
}

/// Stores what a prepared job gives back.
pub fn store_snapshot(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    snapshot: &ResourceSnapshot,
    now: Timestamp,
) -> Result<(), StoreError> {
    let node = snapshot.node_id.as_ref().map_or("", |node| node.as_str());
    tx.change(&STORE_SNAPSHOT, params![to_json(snapshot)?, node, now, id.as_str()], NOUN, id.as_str())
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::database("write a cleanup job as JSON", error))
}

fn absent(id: &CleanupJobId) -> StoreError {
    StoreError::NotFound { noun: NOUN, id: id.to_string() }
}

/// Lets workers claim a prepared job.
pub fn activate(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    require_step_from(tx, id, &[CleanupState::Prepared], CleanupState::Pending)?;
    tx.execute(&ACTIVATE, params![now, id.as_str()]).map(drop)
}

/// Makes a job that waits for a decision, or was given up, due again with a fresh count of attempts.
pub fn requeue(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    let from = [CleanupState::NeedsDecision, CleanupState::Failed];
    require_step_from(tx, id, &from, CleanupState::Pending)?;
    tx.execute(&REQUEUE, params![now, id.as_str()]).map(drop)
}

/// Calls a job off.
pub fn cancel(tx: &mut Tx<'_>, id: &CleanupJobId, now: Timestamp) -> Result<(), StoreError> {
    require_step_from(tx, id, CleanupState::ALL, CleanupState::Cancelled)?;
    tx.execute(&CANCEL, params![now, now, id.as_str()]).map(drop)
}

/// Locks a job; fails unless it is in one of the states and can go from there to `next`.
fn require_step_from(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    states: &[CleanupState],
    next: CleanupState,
) -> Result<(), StoreError> {
    let job = tx.row(&LOCK, params![id.as_str()], TABLE, read)?.ok_or_else(|| absent(id))?;
    if states.contains(&job.state) && job.state.step(next).is_ok() {
        return Ok(());
    }
    Err(StoreError::CleanupStep { job_id: job.id, from: job.state, to: next })
}

/// What came of the wish for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The job is the node's until its lease ends.
    Job(Box<CleanupJob>),
    /// Jobs are due, but the worker wants none of them now.
    Unwanted,
    /// No job is due.
    Nothing,
}

/// Claims the oldest due job whose worktrees the node can reach, and that its worker wants: pending, waiting for
/// its retry, or running with an expired lease.
pub fn claim_next(
    tx: &mut Tx<'_>,
    node: &NodeId,
    now: Timestamp,
    lease_ms: i64,
    is_wanted: impl Fn(&CleanupJob) -> bool,
) -> Result<Claim, StoreError> {
    let due = tx.rows(&LIST_DUE, params![node.as_str(), now, DUE_LIMIT], TABLE, |fields| Ok(read(fields)))?;
    let mut is_any_due = false;
    for job in due {
        let job = match job {
            Ok(job) => job,
            Err(error @ StoreError::Corrupt { .. }) => {
                park(tx, error)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        is_any_due = true;
        if !is_wanted(&job) {
            continue;
        }
        let values = params![node.as_str(), now.plus_millis(lease_ms), now, job.id.as_str()];
        // Another server may have been faster since the list was read.
        if let Some(job) = tx.row(&CLAIM, values, TABLE, read)? {
            return Ok(Claim::Job(Box::new(job)));
        }
    }
    Ok(if is_any_due { Claim::Unwanted } else { Claim::Nothing })
}

/// Leaves a job that cannot be read to a person; it would be the next one for ever.
fn park(tx: &mut Tx<'_>, error: StoreError) -> Result<(), StoreError> {
    let StoreError::Corrupt { id, .. } = &error else { return Err(error) };
    tracing::error!(%error, "a cleanup job that cannot be read is left to a person");
    match tx.execute(&PARK, params![error.to_string(), id])? {
        0 => Err(error),
        _ => Ok(()),
    }
}

/// Gives up every claim of a node: those of its earlier life, as it begins a new one.
pub fn release_all(tx: &mut Tx<'_>, node: &NodeId) -> Result<(), StoreError> {
    tx.execute(&RELEASE, params![node.as_str()])?;
    Ok(())
}

/// Extends a lease; false when the claim was lost.
pub fn heartbeat(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    fence: i64,
    now: Timestamp,
    lease_ms: i64,
) -> Result<bool, StoreError> {
    let values = params![now.plus_millis(lease_ms), now, id.as_str(), fence];
    Ok(tx.execute(&HEARTBEAT, values)? > 0)
}

/// Records how an attempt ended; fails with [`StoreError::StaleFence`] when the claim was lost.
pub fn finish(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    fence: i64,
    outcome: &CleanupOutcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    let state = outcome.state();
    let (mut at, mut stakes): (Option<Timestamp>, &[Stake]) = (None, &[]);
    match outcome {
        CleanupOutcome::RetryWait { at: retry_at, .. } => at = Some(*retry_at),
        CleanupOutcome::NeedsDecision { stakes: found, .. } => stakes = found,
        CleanupOutcome::Succeeded | CleanupOutcome::Failed { .. } => {}
    }
    let completed_at = state.is_final().then_some(now);
    let values = params![
        state.as_str(),
        at,
        outcome.error(),
        to_json(&stakes)?,
        completed_at,
        now,
        id.as_str(),
        fence
    ];
    match tx.execute(&FINISH, values)? {
        0 => Err(StoreError::StaleFence { job_id: id.clone(), fence }),
        _ => Ok(()),
    }
}

/// Finds a job.
pub fn find(tx: &mut Tx<'_>, id: &CleanupJobId) -> Result<Option<CleanupJob>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds a job and keeps workers from claiming it until the transaction ends; fails when it is absent.
pub fn lock(tx: &mut Tx<'_>, id: &CleanupJobId) -> Result<CleanupJob, StoreError> {
    tx.row(&LOCK, params![id.as_str()], TABLE, read)?.ok_or_else(|| absent(id))
}

/// Finds a job; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &CleanupJobId) -> Result<CleanupJob, StoreError> {
    find(tx, id)?.ok_or_else(|| absent(id))
}

/// Lists jobs, of one task and in one state when given, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    task: Option<&TaskId>,
    state: Option<CleanupState>,
) -> Result<Vec<CleanupJob>, StoreError> {
    let jobs = tx.rows(&LIST, params![task.map_or("", TaskId::as_str)], TABLE, read_or_tell)?;
    let mut jobs: Vec<CleanupJob> = jobs.into_iter().flatten().collect();
    jobs.retain(|job| state.is_none_or(|state| job.state == state));
    Ok(jobs)
}

/// Finds the unfinished job that forbids new sessions and worktrees for a task.
pub fn barrier_of(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<CleanupJob>, StoreError> {
    let unfinished = tx.rows(&UNFINISHED_OF, params![task.as_str()], TABLE, read)?;
    Ok(unfinished.into_iter().find(|job| job.trigger.is_barrier()))
}

/// Lists the prepared jobs, oldest first.
pub fn list_prepared(tx: &mut Tx<'_>) -> Result<Vec<CleanupJob>, StoreError> {
    Ok(tx.rows(&LIST_PREPARED, params![], TABLE, read_or_tell)?.into_iter().flatten().collect())
}

/// When the next job that a node can work on is due, counting expiries of leases; a past instant when one is due
/// already.
pub fn next_due(tx: &mut Tx<'_>, node: &NodeId) -> Result<Option<Timestamp>, StoreError> {
    Ok(tx.row(&NEXT_DUE, params![node.as_str()], TABLE, |fields| fields.readable_instant())?.flatten())
}

/// Records what a person agreed to lose.
pub fn set_accepted(
    tx: &mut Tx<'_>,
    id: &CleanupJobId,
    accepted: &[Stake],
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = params![to_json(&accepted)?, now, id.as_str()];
    tx.change(&SET_ACCEPTED, values, NOUN, id.as_str())
}

fn read(fields: &mut Fields<'_>) -> Result<CleanupJob, StoreError> {
    let (id, operation_id) = (fields.parse()?, fields.text()?);
    let (task_id, task_title) = (fields.parse()?, fields.text()?);
    let (trigger, state) = (fields.text()?, fields.text()?);
    Ok(CleanupJob {
        id,
        operation_id,
        task_id,
        task_title,
        trigger: CleanupTrigger::read(&trigger),
        state: CleanupState::read(&state),
        snapshot: Snapshot::parse(fields.text()?),
        attempts: fields.int()?,
        next_attempt_at: fields.optional_instant()?,
        lease: read_lease(fields)?,
        fence: fields.int()?,
        last_error: reason(&state, fields.text()?),
        stakes: fields.json()?,
        accepted: fields.json()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
        completed_at: fields.optional_instant()?,
    })
}

/// As [`read`], for lists: a row that cannot be read is told to whoever looks after the server, and hides none of
/// the others.
fn read_or_tell(fields: &mut Fields<'_>) -> Result<Option<CleanupJob>, StoreError> {
    let job = read(fields);
    if let Err(error) = &job {
        tracing::error!(%error, "a cleanup job cannot be read and is left out of a list");
    }
    Ok(job.ok())
}

/// What stopped a job; for one whose state is not known, that.
fn reason(state: &str, last_error: String) -> String {
    if last_error.is_empty() && state.parse::<CleanupState>().is_err() {
        return format!("its state {state:?} is not known; nothing is done about it");
    }
    last_error
}

fn read_lease(fields: &mut Fields<'_>) -> Result<Option<Lease>, StoreError> {
    let (owner, expires_at) = (fields.optional()?, fields.optional_instant()?);
    Ok(owner.zip(expires_at).map(|(owner, expires_at)| Lease { owner, expires_at }))
}
