//! Closing: from a request to jobs that a worker may claim, whatever is closed and for whatever reason.
//!
//! A *scope* says which tasks are closed together and with which trigger. All of them are assessed, reserved,
//! inventoried and changed together: before anything changes a person has heard of all that is at stake, and a
//! crash leaves either all of them open or all of them closed, each with a job of its own.

use freehold_domain::cleanup::{
    CleanupJob, CleanupTrigger, Lease, ResourceSnapshot, SnapshotWorktree, Stake,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;
use freehold_domain::id::{CleanupJobId, NodeId, StepId, TaskId, WorkflowId, WorkspaceId};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use super::borrowing::{
    BorrowerPolicy, Disposition, TaskRef, allowed_disposition, disposition, hand_over, refs_of,
};
use super::folder::LookedFolder;
use super::reset::ResetStart;
use super::target::{JobView, Looked, foreign_executor};
use super::{CloseAction, CloseTask, PREPARING_MS, elsewhere, prepared_job, take_inventory, tell};
use crate::{Engine, EngineError};

/// How often a scope may get more tasks between the look at them and their barriers.
const MAX_LOOKS: u32 = 5;

/// How far the closing of one task reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// Whether its sub-tasks, and theirs, are closed with it. Otherwise they stay open and stand by themselves.
    pub sub_tasks: bool,
    /// What becomes of a workspace that other tasks work in.
    pub borrowers: BorrowerPolicy,
}

/// What a closing is allowed to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Whether work that exists nowhere else may be sealed and taken off the disk.
    pub(crate) seals: bool,
    /// What becomes of workspaces that other tasks work in.
    pub(crate) borrowers: BorrowerPolicy,
}

/// What closing a task would give back and what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloseReport {
    /// The sessions that would be stopped.
    pub live_sessions: u64,
    /// The workspace; empty when none was made.
    pub workspace_path: String,
    /// Whether the workspace is a person's own and stays as it is.
    pub keeps_workspace: bool,
    /// The branches that stay.
    pub branches_kept: Vec<String>,
    /// How much of the disk comes back, in bytes; none while other tasks work in the workspace, or when it is on
    /// another server.
    pub disk_bytes: u64,
    /// What exists nowhere else and is sealed.
    pub sealed: Vec<Stake>,
    /// What a seal does not hold, so that a person must decide.
    pub stakes: Vec<Stake>,
    /// Why commits that no branch, tag or remote branch has are no loss, in sentences.
    pub found_elsewhere: Vec<String>,
    /// Until when the task can be brought back, were it deleted now; none for an archive, which ends with no day.
    pub restorable_until: Option<Timestamp>,
    /// Its open sub-tasks, and theirs.
    pub sub_tasks: Vec<TaskRef>,
    /// The open tasks that work in its workspace without owning it.
    pub borrowers: Vec<TaskRef>,
    /// Who of them would own the workspace from then on.
    pub heir: Option<TaskId>,
}

/// What a look at a snapshot found.
#[derive(Debug, Default)]
struct Judged {
    sealed: Vec<Stake>,
    stakes: Vec<Stake>,
    found_elsewhere: Vec<String>,
}

/// Which tasks are closed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One task, with or without its parts.
    Task { id: TaskId, action: CloseAction, sub_tasks: bool },
    /// Every task of a workspace, and the workspace.
    Workspace { id: WorkspaceId },
    /// A board; its tasks move to a column of another, and the open ones are closed when there is an action.
    Workflow { id: WorkflowId, to: (WorkflowId, StepId), action: Option<CloseAction> },
    /// A finished run of an automation, which is archived.
    AutomationRun { id: TaskId },
    /// The environment of a task that stays open.
    Environment { id: TaskId, start: ResetStart },
}

/// A task of a scope and why it is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) task_id: TaskId,
    pub(crate) trigger: CleanupTrigger,
}

impl Scope {
    /// Lists the tasks that are closed, the one that was named first.
    fn members(&self, tx: &mut Tx<'_>) -> Result<Vec<Member>, EngineError> {
        let member = |trigger| move |task_id| Member { task_id, trigger };
        match self {
            Self::Task { id, action, sub_tasks } => {
                let is_quick = store::task::require(tx, id)?.is_quick;
                let (root, part) = match action {
                    CloseAction::Archive => (CleanupTrigger::Archive, CleanupTrigger::CascadeArchive),
                    CloseAction::Delete if is_quick => {
                        (CleanupTrigger::QuickChatExpire, CleanupTrigger::CascadeDelete)
                    }
                    CloseAction::Delete => (CleanupTrigger::Delete, CleanupTrigger::CascadeDelete),
                };
                let mut members = vec![Member { task_id: id.clone(), trigger: root }];
                if *sub_tasks {
                    members.extend(store::task::open_descendants_of(tx, id)?.into_iter().map(member(part)));
                }
                Ok(members)
            }
            Self::Workspace { id } => {
                let tasks = store::task::of_workspace(tx, id)?;
                Ok(tasks.into_iter().map(member(CleanupTrigger::WorkspaceDelete)).collect())
            }
            Self::Workflow { id, action: Some(action), .. } => {
                let tasks = store::task::of_workflow(tx, id)?;
                Ok(tasks.into_iter().map(member(action.trigger())).collect())
            }
            Self::Workflow { action: None, .. } => Ok(Vec::new()),
            Self::AutomationRun { id } => {
                Ok(vec![Member { task_id: id.clone(), trigger: CleanupTrigger::AutomationRetention }])
            }
            Self::Environment { id, .. } => {
                Ok(vec![Member { task_id: id.clone(), trigger: CleanupTrigger::EnvironmentReset }])
            }
        }
    }

    /// Keeps tasks from joining until the transaction ends; fails when what holds them is gone.
    fn hold(&self, tx: &mut Tx<'_>) -> Result<(), EngineError> {
        let workspace_id = match self {
            Self::Task { .. } | Self::AutomationRun { .. } | Self::Environment { .. } => return Ok(()),
            Self::Workspace { id } => id.clone(),
            Self::Workflow { id, .. } => {
                let found = store::workflow::find_workflow(tx, id)?;
                found.ok_or_else(|| EngineError::NotFound { noun: "board", id: id.to_string() })?.workspace_id
            }
        };
        let held = store::workspace::lock(tx, &workspace_id)?;
        let absent = || EngineError::NotFound { noun: "workspace", id: workspace_id.to_string() };
        held.map(drop).ok_or_else(absent)
    }

    /// Changes what holds the tasks, before they change in the same transaction.
    fn change(&self, tx: &mut Tx<'_>, engine: &Engine, now: Timestamp) -> Result<(), EngineError> {
        match self {
            Self::Task { .. } | Self::AutomationRun { .. } => Ok(()),
            Self::Workspace { id } => crate::workspace::mark_deleted(tx, id, engine.ids(), now),
            Self::Workflow { id, to, .. } => {
                store::task::move_board(tx, id, (&to.0, &to.1), now)?;
                store::workflow::delete(tx, id)?;
                Ok(())
            }
            Self::Environment { id, start } => super::reset::choose_start(tx, id, *start, now),
        }
    }
}

impl Engine {
    /// Tells what closing a task would give back and what stands in the way; changes nothing.
    pub async fn close_report(
        &self,
        task_id: TaskId,
        action: CloseAction,
    ) -> Result<CloseReport, EngineError> {
        let id = task_id.clone();
        let read = self.inner.store.read(move |tx| {
            let sub_tasks = store::task::open_descendants_of(tx, &id)?;
            let sub_tasks = refs_of(tx, &sub_tasks)?;
            let sessions = store::session::list_by_task(tx, &id)?;
            let live = sessions.iter().filter(|session| session.state.is_live()).count();
            let mut report = CloseReport { sub_tasks, ..CloseReport::default() };
            report.live_sessions = u64::try_from(live).unwrap_or(u64::MAX);
            match disposition(tx, &id, std::slice::from_ref(&id))? {
                Disposition::Nothing => {}
                Disposition::GiveBack(environment) => report.workspace_path = environment.workspace_path,
                Disposition::Transfer { environment, borrowers, heir } => {
                    report.workspace_path = environment.workspace_path;
                    (report.borrowers, report.heir) = (refs_of(tx, &borrowers)?, heir);
                }
            }
            Ok::<_, EngineError>(report)
        });
        let mut report = read.await?;
        let snapshot = self.inventory_of(task_id).await?;
        if report.borrowers.is_empty() {
            let judged = self.stakes_of_snapshot(&snapshot, action.trigger()).await?;
            (report.sealed, report.stakes, report.found_elsewhere) =
                (judged.sealed, judged.stakes, judged.found_elsewhere);
            report.disk_bytes = self.disk_bytes_of(&snapshot, action.trigger()).await?;
        }
        let stays = |worktree: &&SnapshotWorktree| {
            action == CloseAction::Archive
                || worktree.origin.is_none()
                || !worktree.branch_made
                || !report.borrowers.is_empty()
        };
        let retention = self.inner.options.retention_ms;
        report.restorable_until = (action == CloseAction::Delete).then(|| self.now().plus_millis(retention));
        report.keeps_workspace = !snapshot.kept_path.is_empty();
        let kept = snapshot.worktrees.iter().filter(stays);
        report.branches_kept = kept.map(|worktree| worktree.branch.clone()).collect();
        Ok(report)
    }

    async fn inventory_of(&self, id: TaskId) -> Result<ResourceSnapshot, EngineError> {
        let node = self.inner.options.node_id.clone();
        let read = self.inner.store.read(move |tx| {
            let task = store::task::require(tx, &id)?;
            let environment = store::environment::find_by_task(tx, &id)?;
            take_inventory(tx, &task, environment.as_ref(), node)
        });
        Ok(read.await?)
    }

    /// A doubt about a workspace that is on the file system of another server.
    pub(super) async fn unseen(&self, snapshot: &ResourceSnapshot) -> Result<Option<Stake>, EngineError> {
        if let Some(foreign) = foreign_executor(snapshot) {
            return Ok(Some(foreign));
        }
        let (here, snapshot) = (self.inner.options.node_id.clone(), snapshot.clone());
        Ok(self.inner.store.read(move |tx| elsewhere(tx, &here, &snapshot)).await?)
    }

    /// What would be sealed of a snapshot, and what a person must decide.
    async fn stakes_of_snapshot(
        &self,
        snapshot: &ResourceSnapshot,
        trigger: CleanupTrigger,
    ) -> Result<Judged, EngineError> {
        if let Some(doubt) = self.unseen(snapshot).await? {
            return Ok(Judged { stakes: vec![doubt], ..Judged::default() });
        }
        let view = JobView { resources: snapshot, trigger, accepted: &[], claimed: None };
        let looked = self.assess(&view).await?;
        let folder = self.assess_folder(&view).await?;
        let sealed = looked.iter().flat_map(Looked::sealable);
        let sealed = sealed.chain(folder.iter().flat_map(LookedFolder::sealable)).cloned().collect();
        let stakes = looked.iter().flat_map(Looked::blocking);
        let stakes = stakes.chain(folder.iter().flat_map(LookedFolder::blocking)).cloned().collect();
        let found_elsewhere = looked.into_iter().flat_map(|looked| looked.found_elsewhere).collect();
        Ok(Judged { sealed, stakes, found_elsewhere })
    }

    /// Closes a task: reserves the barrier, takes the inventory, changes the task and activates the job. Refused
    /// with what is at stake when there is any and the request does not consent to a seal.
    pub async fn close_task(&self, task_id: TaskId, request: CloseTask) -> Result<CleanupJob, EngineError> {
        let mut jobs = self.close_tasks(task_id, request, Reach::default()).await?;
        Ok(jobs.swap_remove(0))
    }

    /// As [`Engine::close_task`], with the task's parts too when `reach` says so. Each task gets a job of its own,
    /// that of the named task first.
    pub async fn close_tasks(
        &self,
        task_id: TaskId,
        request: CloseTask,
        reach: Reach,
    ) -> Result<Vec<CleanupJob>, EngineError> {
        let scope = Scope::Task { id: task_id, action: request.action, sub_tasks: reach.sub_tasks };
        self.close_scope(scope, Terms { seals: request.seals, borrowers: reach.borrowers }).await
    }

    /// Closes every task of a scope; gives the jobs in the order of its members.
    pub(crate) async fn close_scope(
        &self,
        scope: Scope,
        terms: Terms,
    ) -> Result<Vec<CleanupJob>, EngineError> {
        let engine = self.clone();
        self.to_the_end("closing a task", async move {
            for _ in 0..MAX_LOOKS {
                if let Some(jobs) = engine.try_to_close(&scope, terms).await? {
                    return Ok(jobs);
                }
            }
            Err(EngineError::Growing { looks: MAX_LOOKS })
        })
        .await
    }

    /// None when tasks joined meanwhile, of which nobody has heard what is at stake.
    async fn try_to_close(
        &self,
        scope: &Scope,
        terms: Terms,
    ) -> Result<Option<Vec<CleanupJob>>, EngineError> {
        let (listed, policy) = (scope.clone(), terms.borrowers);
        let read = self.inner.store.read(move |tx| {
            let members = listed.members(tx)?;
            let ids: Vec<TaskId> = members.iter().map(|member| member.task_id.clone()).collect();
            let mut found = Vec::new();
            for id in &ids {
                found.push(allowed_disposition(tx, id, &ids, policy)?);
            }
            Ok::<_, EngineError>((members, found))
        });
        let (members, found) = read.await?;
        if !terms.seals {
            self.require_nothing_at_stake(&members, &found).await?;
        }
        let Some(jobs) = self.reserve_all(scope, members).await? else { return Ok(None) };
        crate::failpoint!("engine.close.reserved");
        if let Err(error) = self.inventory_and_change(scope, &jobs, terms.borrowers).await {
            self.call_off_all(&jobs).await?;
            return Err(error);
        }
        crate::failpoint!("engine.close.activated");
        self.inner.cleanup_wake.notify_one();
        let ids: Vec<CleanupJobId> = jobs.into_iter().map(|job| job.id).collect();
        let read = self.inner.store.read(move |tx| {
            ids.iter().map(|id| store::cleanup::require(tx, id)).collect::<Result<Vec<_>, StoreError>>()
        });
        Ok(Some(read.await?))
    }

    /// Looks at every workspace that would be given back, and tells of all together.
    async fn require_nothing_at_stake(
        &self,
        members: &[Member],
        dispositions: &[Disposition],
    ) -> Result<(), EngineError> {
        let (mut all, mut disk_bytes): (Vec<Stake>, u64) = (Vec::new(), 0);
        for (member, disposition) in members.iter().zip(dispositions) {
            if let Disposition::GiveBack(_) = disposition {
                let snapshot = self.inventory_of(member.task_id.clone()).await?;
                let Judged { sealed, stakes, .. } =
                    self.stakes_of_snapshot(&snapshot, member.trigger).await?;
                all.extend(sealed.into_iter().chain(stakes));
                disk_bytes += self.disk_bytes_of(&snapshot, member.trigger).await?;
            }
        }
        match members.first() {
            Some(root) if !all.is_empty() => {
                Err(EngineError::AtStake { task_id: root.task_id.clone(), stakes: all, disk_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Commits the barriers of all members at once; none when the members are others by now.
    async fn reserve_all(
        &self,
        scope: &Scope,
        members: Vec<Member>,
    ) -> Result<Option<Vec<CleanupJob>>, EngineError> {
        let (scope, now, here) = (scope.clone(), self.now(), self.inner.options.node_id.clone());
        let ids: Vec<CleanupJobId> = members.iter().map(|_| CleanupJobId::generate(self.ids())).collect();
        let write = self.inner.store.write(move |tx| {
            scope.hold(tx)?;
            let tasks: Vec<TaskId> = members.iter().map(|member| member.task_id.clone()).collect();
            store::task::lock_in_order(tx, &tasks)?;
            if scope.members(tx)? != members {
                return Ok(None);
            }
            let operation = ids.first().cloned();
            let mut jobs = Vec::new();
            for (member, id) in members.into_iter().zip(ids) {
                let operation = operation.clone().unwrap_or_else(|| id.clone());
                jobs.push(reserve_one(tx, &member, id, &operation, &here, now)?);
            }
            Ok(Some(jobs))
        });
        write.await
    }

    /// Commits the barrier of one task: from now on it gets no new session and no new worktree.
    pub(super) async fn reserve(
        &self,
        task_id: &TaskId,
        trigger: CleanupTrigger,
    ) -> Result<CleanupJob, EngineError> {
        let (member, now) = (Member { task_id: task_id.clone(), trigger }, self.now());
        let (id, here) = (CleanupJobId::generate(self.ids()), self.inner.options.node_id.clone());
        let write = self.inner.store.write(move |tx| {
            store::task::lock(tx, &member.task_id)?;
            reserve_one(tx, &member, id.clone(), &id, &here, now)
        });
        write.await
    }

    async fn inventory_and_change(
        &self,
        scope: &Scope,
        jobs: &[CleanupJob],
        policy: BorrowerPolicy,
    ) -> Result<(), EngineError> {
        self.store_inventories(jobs, policy).await?;
        crate::failpoint!("engine.close.snapshot");
        let (engine, scope, jobs, now) = (self.clone(), scope.clone(), jobs.to_vec(), self.now());
        let write = self.inner.store.write(move |tx| {
            scope.hold(tx)?;
            lock_with_borrowers(tx, &jobs)?;
            let members: Vec<TaskId> = jobs.iter().map(|job| job.task_id.clone()).collect();
            if !scope.members(tx)?.iter().map(|member| &member.task_id).eq(&members) {
                return Err(EngineError::Growing { looks: 1 });
            }
            scope.change(tx, &engine, now)?;
            for job in &jobs {
                settle_environment(tx, job, &members, policy, now)?;
            }
            for job in &jobs {
                change_and_activate(tx, job, now)?;
            }
            crate::failpoint!("engine.transfer.before_commit");
            Ok::<_, EngineError>(())
        });
        write.await
    }

    async fn store_inventories(
        &self,
        jobs: &[CleanupJob],
        policy: BorrowerPolicy,
    ) -> Result<(), EngineError> {
        let (jobs, now) = (jobs.to_vec(), self.now());
        let node = self.inner.options.node_id.clone();
        let write = self.inner.store.write(move |tx| {
            let members: Vec<TaskId> = jobs.iter().map(|job| job.task_id.clone()).collect();
            for job in &jobs {
                let task = store::task::require(tx, &job.task_id)?;
                allowed_disposition(tx, &job.task_id, &members, policy)?;
                let environment = store::environment::find_by_task(tx, &job.task_id)?;
                let snapshot = take_inventory(tx, &task, environment.as_ref(), node.clone())?;
                store::cleanup::store_snapshot(tx, &job.id, &snapshot, now)?;
            }
            Ok::<_, EngineError>(())
        });
        write.await
    }

    async fn call_off_all(&self, jobs: &[CleanupJob]) -> Result<(), EngineError> {
        for job in jobs {
            self.call_off(job.id.clone()).await?;
        }
        Ok(())
    }
}

/// Reserves the barrier of one locked task. `operation` names the job of the task that was asked for, so that what
/// was closed together can be found again.
fn reserve_one(
    tx: &mut Tx<'_>,
    member: &Member,
    id: CleanupJobId,
    operation: &CleanupJobId,
    here: &NodeId,
    now: Timestamp,
) -> Result<CleanupJob, EngineError> {
    let Member { task_id, trigger } = member;
    let task = store::task::require(tx, task_id)?;
    let may_be_closed = match trigger {
        CleanupTrigger::TrashPurge => task.trashed_at.is_some(),
        trigger if trigger.deletes_task() => task.deleted_at.is_none(),
        _ => task.is_open(),
    };
    if let Some(job) = store::cleanup::barrier_of(tx, task_id)? {
        return Err(EngineError::Barrier { task_id: task.id, job_id: job.id, trigger: job.trigger });
    }
    if !may_be_closed {
        return Err(EngineError::TaskClosed { task_id: task.id });
    }
    let mut job = prepared_job(id, &task.id, &task.title, *trigger, now);
    job.operation_id = format!("{trigger}:{task_id}:{operation}");
    job.lease = Some(Lease { owner: here.clone(), expires_at: now.plus_millis(PREPARING_MS) });
    let job = store::cleanup::insert_prepared(tx, &job)?;
    tell(tx, &job, now);
    Ok(job)
}

fn lock_with_borrowers(tx: &mut Tx<'_>, jobs: &[CleanupJob]) -> Result<(), EngineError> {
    let mut ids = Vec::new();
    for job in jobs {
        ids.push(job.task_id.clone());
        if let Some(environment) = store::environment::find_by_task(tx, &job.task_id)? {
            ids.extend(store::task::borrowers_of(tx, &environment.id)?);
        }
    }
    Ok(store::task::lock_in_order(tx, &ids)?)
}

/// Hands an environment that others work in to its heir, so that the job gives nothing back.
fn settle_environment(
    tx: &mut Tx<'_>,
    job: &CleanupJob,
    members: &[TaskId],
    policy: BorrowerPolicy,
    now: Timestamp,
) -> Result<(), EngineError> {
    let found = allowed_disposition(tx, &job.task_id, members, policy)?;
    let Disposition::Transfer { environment, heir: Some(heir), .. } = found else { return Ok(()) };
    let forgets = job.trigger == CleanupTrigger::EnvironmentReset;
    hand_over(tx, &environment, &heir, forgets, now)?;
    let stored = store::cleanup::require(tx, &job.id)?;
    let node_id = stored.resources().and_then(|resources| resources.node_id.clone());
    let nothing = ResourceSnapshot { node_id, ..ResourceSnapshot::default() };
    Ok(store::cleanup::store_snapshot(tx, &job.id, &nothing, now)?)
}

fn change_and_activate(tx: &mut Tx<'_>, job: &CleanupJob, now: Timestamp) -> Result<(), EngineError> {
    if job.trigger.archives_task() {
        store::task::set_archived(tx, &job.task_id, Some(now), now)?;
    } else if job.trigger.deletes_task() {
        store::task::set_deleted(tx, &job.task_id, Some(now), now)?;
    }
    store::task::set_start_requested(tx, &job.task_id, false, now)?;
    store::cleanup::activate(tx, &job.id, now)?;
    tell(tx, job, now);
    tx.emit(EventBody::TaskChanged { task_id: job.task_id.clone() }, now);
    Ok(())
}
