//! Borrowing: a task works in the environment of another, and owns nothing of it.
//!
//! A *borrower* is an open task that names the environment, or of which a session uses it, whatever that session
//! does. While there is one, the environment is not given back: it goes over to an *heir*, a borrower without an
//! environment of its own, or its owner is not closed. A closed borrower keeps its reference, so that it visits
//! again when it comes back, but it holds nothing.
//!
//! Invariant: borrowing locks the owner's row and is refused behind its barrier, so that once the barrier is
//! committed borrowers can only become fewer.

use freehold_domain::cleanup::{CleanupJob, CleanupState, ResourceSnapshot, Stake, StakeKind};
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::TaskEnvironment;
use freehold_domain::event::EventBody;
use freehold_domain::id::TaskId;
use freehold_store as store;
use freehold_store::Tx;

use crate::{Engine, EngineError};

/// What becomes of an environment that other open tasks work in when its owner is closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BorrowerPolicy {
    /// It goes over to the oldest of them that has none of its own; the owner is not closed when there is none.
    #[default]
    Transfer,
    /// The owner is not closed.
    Refuse,
}

/// A task as an answer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
}

/// What the closing of a task does with the environment that it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Disposition {
    /// It owns none.
    Nothing,
    /// It is given back.
    GiveBack(TaskEnvironment),
    /// It goes over to another task.
    Transfer {
        /// The environment.
        environment: TaskEnvironment,
        /// The open tasks that work in it.
        borrowers: Vec<TaskId>,
        /// Its new owner; none when nobody can take it.
        heir: Option<TaskId>,
    },
}

pub(crate) fn refs_of(tx: &mut Tx<'_>, ids: &[TaskId]) -> Result<Vec<TaskRef>, EngineError> {
    let mut refs = Vec::new();
    for id in ids {
        let title = store::task::find(tx, id)?.map(|task| task.title).unwrap_or_default();
        refs.push(TaskRef { id: id.clone(), title });
    }
    Ok(refs)
}

/// Decides about the environment of a task that is closed together with `members`.
pub(super) fn disposition(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    members: &[TaskId],
) -> Result<Disposition, EngineError> {
    let Some(environment) = store::environment::find_by_task(tx, task_id)? else {
        return Ok(Disposition::Nothing);
    };
    let mut borrowers = store::task::borrowers_of(tx, &environment.id)?;
    borrowers.retain(|borrower| !members.contains(borrower));
    if borrowers.is_empty() {
        return Ok(Disposition::GiveBack(environment));
    }
    let mut heir = None;
    for borrower in &borrowers {
        let can_take = store::environment::find_by_task(tx, borrower)?.is_none()
            && store::cleanup::barrier_of(tx, borrower)?.is_none();
        if can_take {
            heir = Some(borrower.clone());
            break;
        }
    }
    Ok(Disposition::Transfer { environment, borrowers, heir })
}

/// As [`disposition`], refused when the policy, or the lack of an heir, keeps the owner from being closed.
pub(super) fn allowed_disposition(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    members: &[TaskId],
    policy: BorrowerPolicy,
) -> Result<Disposition, EngineError> {
    let found = disposition(tx, task_id, members)?;
    if let Disposition::Transfer { borrowers, heir, .. } = &found
        && (policy == BorrowerPolicy::Refuse || heir.is_none())
    {
        let has_heir = heir.is_some();
        return Err(EngineError::Borrowed {
            task_id: task_id.clone(),
            borrowers: refs_of(tx, borrowers)?,
            has_heir,
        });
    }
    Ok(found)
}

/// Gives an environment to its heir. What the former owner leaves behind is a visit: brought back, it works in the
/// same place again; `forgets` ends that too, for an owner that stays open and gets another.
pub(super) fn hand_over(
    tx: &mut Tx<'_>,
    environment: &TaskEnvironment,
    heir: &TaskId,
    forgets: bool,
    now: Timestamp,
) -> Result<bool, EngineError> {
    let owner = &environment.task_id;
    if !store::environment::transfer(tx, &environment.id, owner, heir, now)? {
        return Ok(false);
    }
    if forgets {
        store::environment::unlink_sessions_of(tx, &environment.id, owner)?;
    } else if store::task::find(tx, owner)?.is_some() {
        store::task::set_borrowed_environment(tx, owner, Some(&environment.id), now)?;
    }
    tracing::info!(environment_id = %environment.id, from = %owner, to = %heir, "a workspace has another owner");
    tx.emit(EventBody::TaskChanged { task_id: heir.clone() }, now);
    tx.emit(EventBody::TaskChanged { task_id: owner.clone() }, now);
    Ok(true)
}

/// Locks a task together with the owner of the environment that it borrows.
pub(crate) fn lock_owner_too(tx: &mut Tx<'_>, task_id: &TaskId) -> Result<(), EngineError> {
    let mut ids = vec![task_id.clone()];
    let borrowed = store::task::find(tx, task_id)?.and_then(|task| task.borrowed_environment_id);
    if let Some(id) = borrowed
        && let Some(environment) = store::environment::find(tx, &id)?
    {
        ids.push(environment.task_id);
    }
    Ok(store::task::lock_in_order(tx, &ids)?)
}

/// Lets a task that was opened again visit the environment that it borrowed, if its owner holds it still; else it
/// gets one of its own when it needs one.
pub(crate) fn visit_again(tx: &mut Tx<'_>, task_id: &TaskId, now: Timestamp) -> Result<(), EngineError> {
    let Some(task) = store::task::find(tx, task_id)?.filter(freehold_domain::task::Task::is_open) else {
        return Ok(());
    };
    let Some(id) = task.borrowed_environment_id else { return Ok(()) };
    let is_held = match store::environment::find(tx, &id)? {
        Some(environment) => may_be_visited(tx, &environment)?.is_ok(),
        None => false,
    };
    if !is_held {
        store::task::set_borrowed_environment(tx, task_id, None, now)?;
        store::environment::unlink_sessions_of(tx, &id, task_id)?;
    }
    Ok(())
}

/// Whether the owner of an environment holds it; otherwise why not.
pub(crate) fn may_be_visited(
    tx: &mut Tx<'_>,
    environment: &TaskEnvironment,
) -> Result<Result<(), EngineError>, EngineError> {
    let owner = store::task::lock(tx, &environment.task_id)?;
    Ok(crate::session::require_open(tx, &owner))
}

/// What a worker finds of the environment of its job, right before anything is sealed.
pub(super) enum Holding {
    /// The job's task owns it and nobody else works in it.
    Own,
    /// Another task owns it: the snapshot is out of date.
    Transferred,
    /// Others work in it and none of them can take it.
    Held(Stake),
}

impl Engine {
    /// Looks whether the environment is still the job's to give back. One that is borrowed goes over to an heir.
    pub(super) async fn holding_of(
        &self,
        job: &CleanupJob,
        resources: &ResourceSnapshot,
    ) -> Result<Holding, EngineError> {
        let Some(id) = resources.environment_id.clone() else { return Ok(Holding::Own) };
        let (job, now, path) = (job.clone(), self.now(), resources.workspace_path.clone());
        let write = self.inner.store.write(move |tx| {
            let Some(found) = store::environment::find(tx, &id)? else { return Ok(Holding::Own) };
            let mut ids = store::task::borrowers_of(tx, &id)?;
            ids.push(found.task_id);
            store::task::lock_in_order(tx, &ids)?;
            let environment = store::environment::find(tx, &id)?;
            if environment.is_none_or(|environment| environment.task_id != job.task_id) {
                return Ok(Holding::Transferred);
            }
            match disposition(tx, &job.task_id, &[])? {
                Disposition::Nothing | Disposition::GiveBack(_) => Ok(Holding::Own),
                Disposition::Transfer { environment, heir: Some(heir), .. } => {
                    let forgets = job.trigger == freehold_domain::cleanup::CleanupTrigger::EnvironmentReset;
                    hand_over(tx, &environment, &heir, forgets, now)?;
                    Ok(Holding::Transferred)
                }
                Disposition::Transfer { borrowers, heir: None, .. } => {
                    Ok(Holding::Held(held_by(&path, &refs_of(tx, &borrowers)?)))
                }
            }
        });
        write.await
    }

    /// Gives the workspace of one task to another that has none. It wins over a cleanup job that is not at work
    /// yet: the job then finds nothing to give back.
    pub async fn transfer_workspace(&self, from: TaskId, to: TaskId) -> Result<(), EngineError> {
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            store::task::lock_in_order(tx, &[from.clone(), to.clone()])?;
            let (owner, heir) = (store::task::require(tx, &from)?, store::task::require(tx, &to)?);
            if owner.workspace_id != heir.workspace_id || from == to {
                let reason = format!("{to} is not another task of the same workspace");
                return Err(EngineError::InvalidField { field: "to", reason });
            }
            let environment = store::environment::find_by_task(tx, &from)?;
            let environment = environment.ok_or(EngineError::NoWorkspace { task_id: from.clone() })?;
            if let Some(own) = store::environment::find_by_task(tx, &to)? {
                let reason = format!("{to} has a workspace of its own at {}", own.workspace_path);
                return Err(EngineError::InvalidField { field: "to", reason });
            }
            match store::cleanup::barrier_of(tx, &from)? {
                Some(job) if !may_lose_to_a_transfer(tx, &job)? => {
                    return Err(EngineError::Barrier { task_id: from, job_id: job.id, trigger: job.trigger });
                }
                None if !owner.is_open() => return Err(EngineError::TaskClosed { task_id: from }),
                _ => {}
            }
            hand_over(tx, &environment, &to, false, now)?;
            crate::failpoint!("engine.transfer.changed");
            Ok::<_, EngineError>(())
        });
        write.await?;
        crate::failpoint!("engine.transfer.stored");
        Ok(())
    }
}

/// Whether a job has sealed or removed nothing and no worker is at it. Its row is locked, as a claim locks it.
fn may_lose_to_a_transfer(tx: &mut Tx<'_>, job: &CleanupJob) -> Result<bool, EngineError> {
    let job = store::cleanup::lock(tx, &job.id)?;
    let is_at_rest = matches!(job.state, CleanupState::Prepared | CleanupState::Pending);
    Ok(is_at_rest && job.attempts == 0)
}

fn held_by(path: &str, borrowers: &[TaskRef]) -> Stake {
    let items: Vec<String> = borrowers.iter().map(|it| format!("{} {}", it.id, it.title)).collect();
    let total = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let detail = "Other tasks work in it, and none of them can take it over; close them first.".to_owned();
    Stake { kind: StakeKind::InUse, worktree_path: path.to_owned(), items, total, detail }
}
