//! Closing: the one path that gives a workspace back.
//!
//! barrier (a *prepared* job, committed) → inventory through the task's environment → snapshot stored →
//! the task changes and the job becomes *pending*, in one transaction → the worker claims it → stops what
//! runs → looks again, at disk → seals → removes → verifies by looking → succeeds. A crash between any two steps
//! leaves a row that says where to go on. What a seal cannot hold waits for a person (*needs decision*).

mod automation;
mod borrowing;
mod closing;
pub(crate) mod expiry;
mod folder;
pub(crate) mod idle;
mod permit;
mod quarantine;
pub(crate) mod reaper;
mod reset;
mod reuse;
mod sealing;
pub(crate) mod steps;
pub(crate) mod sweep;
mod target;
pub(crate) mod waiting;

use freehold_domain::cleanup::{
    CleanupJob, CleanupState, CleanupTrigger, ResourceSnapshot, Snapshot, SnapshotWorktree, Stake,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{EnvironmentRepoStatus, TaskEnvironment, WorkspaceKind};
use freehold_domain::event::EventBody;
use freehold_domain::id::{CleanupJobId, NodeId, TaskId};
use freehold_domain::seal::WorkspaceSeal;
use freehold_domain::task::Task;
use freehold_store as store;
use freehold_store::{StoreError, Tx};

pub use self::borrowing::{BorrowerPolicy, TaskRef};
pub(crate) use self::borrowing::{lock_owner_too, may_be_visited, refs_of, visit_again};
pub use self::closing::{CloseReport, Reach};
pub(crate) use self::closing::{Scope, Terms};
pub use self::reset::{ResetEnvironment, ResetStart};
use crate::environment::reopen::Reopening;
use crate::{Engine, EngineError};

/// How long a server may take from the barrier to the activation of a job, in milliseconds, before others call the
/// job off as they start.
const PREPARING_MS: i64 = 120_000;

/// Why a job of another program waits for a person.
const FOREIGN: &str = "made by another program before the upgrade; its record is not understood, \
                       so nothing was removed";

/// Why such a job can only be called off.
const FOREIGN_ONLY_KEPT: &str = "it was made by another program before the upgrade and its record is not \
     understood; call it off (keep), then archive or delete the task again, so that Freehold takes its own inventory";

/// A way to close a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseAction {
    /// The task is put away; its branches stay.
    Archive,
    /// The task goes to the trash; its branches go where their commits are found elsewhere or sealed.
    Delete,
}

/// Asks for a task to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseTask {
    /// How.
    pub action: CloseAction,
    /// Whether work that exists nowhere else may be sealed and taken off the disk. Without this consent, a task
    /// with such work is not closed.
    pub seals: bool,
}

impl CloseAction {
    const fn trigger(self) -> CleanupTrigger {
        match self {
            Self::Archive => CleanupTrigger::Archive,
            Self::Delete => CleanupTrigger::Delete,
        }
    }
}

/// A person's decision about a job that waits for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Lose what is at stake, exactly as it was told. The person typed the phrase of [`discard_phrase`].
    Discard {
        /// What was typed.
        phrase: String,
    },
    /// Look again, after the work was committed or moved.
    Retry,
    /// Call the cleanup off; an archived or deleted task comes back with its workspace.
    Keep,
}

impl Decision {
    const fn word(&self) -> &'static str {
        match self {
            Self::Discard { .. } => "discard",
            Self::Retry => "retry",
            Self::Keep => "keep",
        }
    }
}

impl Engine {
    async fn call_off(&self, id: CleanupJobId) -> Result<(), EngineError> {
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let job = store::cleanup::require(tx, &id)?;
            store::cleanup::cancel(tx, &id, now)?;
            tell(tx, &job, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    async fn hand_to_worker(&self, job: CleanupJob) -> Result<(), EngineError> {
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::cleanup::activate(tx, &job.id, now)?;
            tell(tx, &job, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// Reads a cleanup job.
    pub async fn cleanup_job(&self, id: CleanupJobId) -> Result<CleanupJob, EngineError> {
        let now = self.now();
        let read = self.inner.store.read(move |tx| {
            let mut job = store::cleanup::require(tx, &id)?;
            waiting::say_who_is_waited_for(tx, std::slice::from_mut(&mut job), now)?;
            Ok::<_, StoreError>(job)
        });
        Ok(read.await?)
    }

    /// Lists cleanup jobs, newest first.
    pub async fn cleanup_jobs(
        &self,
        task_id: Option<TaskId>,
        state: Option<CleanupState>,
    ) -> Result<Vec<CleanupJob>, EngineError> {
        let now = self.now();
        let read = self.inner.store.read(move |tx| {
            let mut jobs = store::cleanup::list(tx, task_id.as_ref(), state)?;
            waiting::say_who_is_waited_for(tx, &mut jobs, now)?;
            Ok::<_, StoreError>(jobs)
        });
        Ok(read.await?)
    }

    /// Carries out a person's decision about a job that waits for one, or that was given up.
    pub async fn decide(&self, id: CleanupJobId, decision: Decision) -> Result<CleanupJob, EngineError> {
        let job_id = id.clone();
        if decision == Decision::Keep && self.has_given_back_a_part(&id).await? {
            let job = self.cleanup_job(id).await?;
            self.reopen_task(job.task_id, Reopening::default()).await?;
            return self.cleanup_job(job_id).await;
        }
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let job = store::cleanup::require(tx, &id)?;
            carry_out(tx, &job, &decision, now)?;
            tell(tx, &job, now);
            Ok::<_, EngineError>(())
        });
        write.await?;
        self.inner.cleanup_wake.notify_one();
        self.cleanup_job(job_id).await
    }

    /// Whether the job waits for a decision after some of its worktrees went, with their seals.
    async fn has_given_back_a_part(&self, id: &CleanupJobId) -> Result<bool, EngineError> {
        let id = id.clone();
        let read = self.inner.store.read(move |tx| {
            let job = store::cleanup::require(tx, &id)?;
            let seals = store::seal::of_task(tx, &job.task_id)?;
            Ok::<_, EngineError>((job, seals))
        });
        let (job, seals) = read.await?;
        let is_about_a_task = job.trigger.archives_task() || job.trigger.deletes_task();
        let is_gone = |seal: &WorkspaceSeal| seal.job_id == job.id && !seal_place_exists(seal);
        Ok(is_about_a_task && !job.state.is_final() && seals.iter().any(is_gone))
    }
}

fn carry_out(
    tx: &mut Tx<'_>,
    job: &CleanupJob,
    decision: &Decision,
    now: Timestamp,
) -> Result<(), EngineError> {
    let next = match decision {
        Decision::Keep => CleanupState::Cancelled,
        Decision::Retry | Decision::Discard { .. } => CleanupState::Pending,
    };
    job.state.step(next).map_err(|source| EngineError::CleanupStep { job_id: job.id.clone(), source })?;
    if next == CleanupState::Pending && job.resources().is_none() {
        return Err(refused(job, decision, FOREIGN_ONLY_KEPT.into()));
    }
    match decision {
        // Called off, the traces of an attempt would belong to nobody and be listed nowhere.
        Decision::Keep if job.trigger == CleanupTrigger::FailedCreation && job.resources().is_some() => {
            let reason = "it is no task's workspace; move the files you want, then retry".into();
            return Err(refused(job, decision, reason));
        }
        Decision::Keep => {
            require_whole(tx, job, decision)?;
            return keep(tx, job, now);
        }
        Decision::Retry => {}
        Decision::Discard { .. } if job.trigger == CleanupTrigger::Quarantine => {
            let reason = "nothing is lost by a quarantine; settle what is listed, then retry".into();
            return Err(refused(job, decision, reason));
        }
        Decision::Discard { phrase } => {
            require_discardable(job, decision, phrase)?;
            store::cleanup::set_accepted(tx, &job.id, &job.stakes, now)?;
        }
    }
    Ok(store::cleanup::requeue(tx, &job.id, now)?)
}

/// What a person types to lose what is at stake: `discard`, and how many files, commits or repositories it is.
#[must_use]
pub fn discard_phrase(stakes: &[Stake]) -> String {
    let total: u64 = stakes.iter().map(|stake| stake.total).sum();
    format!("discard {total}")
}

/// Of an open task that gets a new environment, a part may be sealed already: kept, it would stay without it.
fn require_whole(tx: &mut Tx<'_>, job: &CleanupJob, decision: &Decision) -> Result<(), EngineError> {
    if job.trigger != CleanupTrigger::EnvironmentReset {
        return Ok(());
    }
    let seals = store::seal::of_task(tx, &job.task_id)?;
    let gone = seals.iter().find(|seal| seal.job_id == job.id && !seal_place_exists(seal));
    gone.map_or(Ok(()), |seal| {
        let reason =
            format!("{} is sealed and off the disk already; retry to end the reset", seal.worktree_path);
        Err(refused(job, decision, reason))
    })
}

fn seal_place_exists(seal: &WorkspaceSeal) -> bool {
    std::path::Path::new(&seal.worktree_path).symlink_metadata().is_ok()
}

fn require_discardable(job: &CleanupJob, decision: &Decision, phrase: &str) -> Result<(), EngineError> {
    if let Some(doubt) = job.stakes.iter().find(|stake| !stake.kind.is_discardable()) {
        let reason = format!("it is in doubt what would be lost: {}", doubt.detail);
        return Err(refused(job, decision, reason));
    }
    if job.stakes.is_empty() {
        return Err(refused(job, decision, "nothing is at stake".into()));
    }
    let expected = discard_phrase(&job.stakes);
    if phrase.trim() == expected {
        return Ok(());
    }
    let reason = format!("type {expected:?} to lose exactly what is listed, not {phrase:?}");
    Err(refused(job, decision, reason))
}

/// Calls off the jobs that an earlier server of this node reserved but did not activate: their tasks did not
/// change, so nothing happened. One that another server reserves is left to it, unless it took too long. Whether that holds for a job of another program is not known; it goes to the
/// worker, which leaves it to a person.
pub(crate) async fn settle_unactivated_jobs(engine: &Engine) -> Result<(), EngineError> {
    for job in engine.inner.store.read(store::cleanup::list_prepared).await? {
        match job.resources() {
            None => engine.hand_to_worker(job).await?,
            Some(_) => {
                let (here, now) = (&engine.inner.options.node_id, engine.now());
                if job.lease.as_ref().is_none_or(|lease| lease.owner == *here || lease.expires_at <= now) {
                    engine.call_off(job.id).await?;
                }
            }
        }
    }
    Ok(())
}

/// Makes a job anew for what a closed task still owns, after its job was called off to bring the task back and that
/// failed. Does nothing when the task is open, owns nothing or has a job.
pub(crate) fn close_again(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    job_id: CleanupJobId,
    here: &NodeId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(task) = store::task::find(tx, task_id)?.filter(|task| !task.is_open()) else { return Ok(()) };
    let environment = store::environment::find_by_task(tx, task_id)?;
    let snapshot = take_inventory(tx, &task, environment.as_ref(), here.clone())?;
    let is_at_rest =
        snapshot.worktrees.is_empty() && (task.deleted_at.is_none() || task.trashed_at.is_some());
    if is_at_rest || store::cleanup::barrier_of(tx, task_id)?.is_some() {
        return Ok(());
    }
    let trigger = if task.deleted_at.is_some() { CleanupTrigger::Delete } else { CleanupTrigger::Archive };
    let job = prepared_job(job_id, &task.id, &task.title, trigger, now);
    insert_pending(tx, &job, &snapshot, now)
}

/// Stores a job whose inventory is known and whose task need not change: a worker may claim it as it is stored.
pub(crate) fn insert_pending(
    tx: &mut Tx<'_>,
    job: &CleanupJob,
    snapshot: &ResourceSnapshot,
    now: Timestamp,
) -> Result<(), StoreError> {
    let job = store::cleanup::insert_prepared(tx, job)?;
    store::cleanup::store_snapshot(tx, &job.id, snapshot, now)?;
    store::cleanup::activate(tx, &job.id, now)?;
    tell(tx, &job, now);
    Ok(())
}

pub(crate) fn prepared_job(
    id: CleanupJobId,
    task_id: &TaskId,
    task_title: &str,
    trigger: CleanupTrigger,
    now: Timestamp,
) -> CleanupJob {
    CleanupJob {
        operation_id: format!("{trigger}:{task_id}:{id}"),
        id,
        task_id: task_id.clone(),
        task_title: task_title.to_owned(),
        trigger,
        state: CleanupState::Prepared,
        snapshot: Snapshot::Own(ResourceSnapshot::default()),
        attempts: 0,
        next_attempt_at: None,
        lease: None,
        fence: 0,
        last_error: String::new(),
        stakes: Vec::new(),
        accepted: Vec::new(),
        created_at: now,
        updated_at: now,
        completed_at: None,
    }
}

/// What is said of a workspace on the file system of another server, which alone can look at it.
fn elsewhere(
    tx: &mut Tx<'_>,
    here: &NodeId,
    snapshot: &ResourceSnapshot,
) -> Result<Option<Stake>, StoreError> {
    let Some(node) = snapshot.node_id.as_ref().filter(|node| *node != here) else { return Ok(None) };
    if snapshot.worktrees.is_empty() && snapshot.executor_type != WorkspaceKind::Scratch.as_str() {
        return Ok(None);
    }
    let detail = format!(
        "The workspace is on {}; only the server there can look at it and give it back.",
        waiting::hostname_of(tx, node)?
    );
    Ok(Some(target::doubt(&snapshot.workspace_path, detail)))
}

/// Lists what the task owns, through its environment and never through its sessions. The job is that server's whose
/// file system holds it; `here` where that was not recorded.
fn take_inventory(
    tx: &mut Tx<'_>,
    task: &Task,
    environment: Option<&TaskEnvironment>,
    here: NodeId,
) -> Result<ResourceSnapshot, StoreError> {
    let node = store::node::of_task(tx, &task.id)?.unwrap_or(here);
    let mut snapshot = ResourceSnapshot { node_id: Some(node), ..ResourceSnapshot::default() };
    let Some(environment) = environment.filter(|environment| environment.task_id == task.id) else {
        return Ok(snapshot);
    };
    snapshot.environment_id = Some(environment.id.clone());
    if environment.kind().is_some_and(WorkspaceKind::is_kept) {
        snapshot.kept_path.clone_from(&environment.workspace_path);
        return Ok(snapshot);
    }
    snapshot.executor_type.clone_from(&environment.executor_type);
    snapshot.workspace_path.clone_from(&environment.workspace_path);
    snapshot.task_dir_name.clone_from(&environment.task_dir_name);
    for repo in store::environment::repos_of(tx, &environment.id)? {
        let Some(worktree_id) = repo.worktree_id.filter(|_| repo.status != EnvironmentRepoStatus::Deleted)
        else {
            continue;
        };
        let repository_path = store::repository::find_path(tx, &repo.repository_id)?.unwrap_or_default();
        let preparation = store::preparation::find(tx, &repo.id)?.unwrap_or_default();
        snapshot.worktrees.push(SnapshotWorktree {
            planted: preparation.planted,
            environment_repo_id: Some(repo.id),
            worktree_id,
            repository_id: repo.repository_id,
            repository_path,
            path: repo.worktree_path,
            branch: repo.worktree_branch,
            branch_made: repo.origin.as_ref().is_none_or(|origin| origin.branch_made),
            base_commit: repo.origin.as_ref().map(|origin| origin.base_commit.clone()).unwrap_or_default(),
            origin: repo.origin,
        });
    }
    Ok(snapshot)
}

pub(crate) fn tell(tx: &mut Tx<'_>, job: &CleanupJob, now: Timestamp) {
    let (task_id, job_id) = (job.task_id.clone(), job.id.clone());
    tx.emit(EventBody::CleanupJobChanged { task_id, job_id }, now);
}

/// Calls a job off and brings the task back as it was.
fn keep(tx: &mut Tx<'_>, job: &CleanupJob, now: Timestamp) -> Result<(), EngineError> {
    lock_owner_too(tx, &job.task_id)?;
    store::cleanup::cancel(tx, &job.id, now)?;
    quarantine::store_called_off(tx, job, now)?;
    if store::task::find(tx, &job.task_id)?.is_none() {
        return Ok(());
    }
    match job.trigger {
        trigger if trigger.archives_task() => store::task::set_archived(tx, &job.task_id, None, now)?,
        trigger if trigger.deletes_task() => {
            store::task::set_deleted(tx, &job.task_id, None, now)?;
            crate::workspace::bring_back(tx, &job.task_id, now)?;
            store::task::keep_quick_chat(tx, &job.task_id, now)?;
        }
        _ => {}
    }
    visit_again(tx, &job.task_id, now)?;
    tx.emit(EventBody::TaskChanged { task_id: job.task_id.clone() }, now);
    Ok(())
}

fn refused(job: &CleanupJob, decision: &Decision, reason: String) -> EngineError {
    EngineError::DecisionRefused { job_id: job.id.clone(), decision: decision.word(), reason }
}
