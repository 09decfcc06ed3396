//! Deleting workspaces and boards: their tasks go the way of everything that is closed.
//!
//! A deleted workspace is hidden at once. Its row, its boards and the registrations of its repositories stay until
//! the last of its tasks leaves the trash, so that each of them can be brought back; one that comes back brings the
//! workspace back with it.

use freehold_domain::cleanup::{CleanupJob, Stake};
use freehold_domain::clock::{IdSource, Timestamp};
use freehold_domain::id::{StepId, TaskId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::{AutoArchive, Workspace};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use crate::cleanup::{BorrowerPolicy, CloseAction, Scope, Terms};
use crate::{Engine, EngineError};

/// The longest time of a column's rule, in milliseconds: ten years.
const MAX_AUTO_ARCHIVE_MS: i64 = 10 * 366 * 24 * 60 * 60 * 1_000;

/// Asks for a workspace to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteWorkspace {
    /// The workspace's name, as a person typed it.
    pub confirm: String,
    /// Whether work that exists nowhere else may be sealed and taken off the disk.
    pub seals: bool,
}

/// Asks for a board to be deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteWorkflow {
    /// The board to which its tasks move; by default the first other one of the workspace.
    pub to: Option<WorkflowId>,
    /// What its open tasks are closed with; without, they stay open.
    pub close: Option<CloseAction>,
    /// Whether work that exists nowhere else may be sealed and taken off the disk.
    pub seals: bool,
}

/// How many of the things at stake in a workspace are told.
const MAX_REPORTED: usize = 100;

/// What deleting a workspace would give back and what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceReport {
    /// Its name, which must be typed.
    pub name: String,
    /// How many open tasks are closed with it.
    pub task_count: u64,
    /// The sessions that would be stopped.
    pub live_sessions: u64,
    /// How much of the disk comes back, in bytes.
    pub disk_bytes: u64,
    /// What exists nowhere else and is sealed; at most 100.
    pub sealed: Vec<Stake>,
    /// What a seal does not hold, so that a person must decide; at most 100.
    pub stakes: Vec<Stake>,
    /// Until when its tasks can be brought back, were it deleted now.
    pub restorable_until: Timestamp,
}

impl Engine {
    /// Deletes a workspace: all its tasks go to the trash, each through a job of its own.
    pub async fn delete_workspace(
        &self,
        id: WorkspaceId,
        request: DeleteWorkspace,
    ) -> Result<Vec<CleanupJob>, EngineError> {
        let named = id.clone();
        let found = self.inner.store.read(move |tx| store::workspace::find(tx, &named)).await?;
        let absent = || EngineError::NotFound { noun: "workspace", id: id.to_string() };
        let workspace = found.ok_or_else(absent)?;
        if request.confirm != workspace.name {
            let (name, typed) = (workspace.name, request.confirm);
            return Err(EngineError::NameNotTyped { workspace_id: id, name, typed });
        }
        let terms = Terms { seals: request.seals, borrowers: BorrowerPolicy::Refuse };
        self.close_scope(Scope::Workspace { id }, terms).await
    }

    /// Tells what deleting a workspace would give back and what is at stake; changes nothing.
    pub async fn workspace_report(&self, id: WorkspaceId) -> Result<WorkspaceReport, EngineError> {
        let read = self.inner.store.read(move |tx| {
            let found = store::workspace::find(tx, &id)?;
            let absent = || EngineError::NotFound { noun: "workspace", id: id.to_string() };
            let name = found.ok_or_else(absent)?.name;
            let mut open = Vec::new();
            for task in store::task::of_workspace(tx, &id)? {
                if store::task::require(tx, &task)?.is_open() {
                    open.push(task);
                }
            }
            Ok::<_, EngineError>((name, open))
        });
        let (name, open) = read.await?;
        let mut report = WorkspaceReport {
            name,
            task_count: open.len() as u64,
            live_sessions: 0,
            disk_bytes: 0,
            sealed: Vec::new(),
            stakes: Vec::new(),
            restorable_until: self.now().plus_millis(self.inner.options.retention_ms),
        };
        for task in open {
            let of_task = self.close_report(task, CloseAction::Delete).await?;
            report.live_sessions += of_task.live_sessions;
            report.disk_bytes += of_task.disk_bytes;
            report.sealed.extend(of_task.sealed);
            report.stakes.extend(of_task.stakes);
        }
        report.sealed.truncate(MAX_REPORTED);
        report.stakes.truncate(MAX_REPORTED);
        Ok(report)
    }

    /// Lists the deleted workspaces whose tasks are in the trash.
    pub async fn deleted_workspaces(&self) -> Result<Vec<Workspace>, EngineError> {
        Ok(self.inner.store.read(store::workspace::list_deleted).await?)
    }

    /// Deletes a board. All its tasks move to another board of the workspace, also those that are closed.
    pub async fn delete_workflow(
        &self,
        id: WorkflowId,
        request: DeleteWorkflow,
    ) -> Result<Vec<CleanupJob>, EngineError> {
        let (board, wanted) = (id.clone(), request.to);
        let to = self.inner.store.read(move |tx| other_board(tx, &board, wanted.as_ref())).await?;
        let terms = Terms { seals: request.seals, borrowers: BorrowerPolicy::Transfer };
        self.close_scope(Scope::Workflow { id, to, action: request.close }, terms).await
    }

    /// Sets when tasks that stand in a column are archived by themselves; none ends it.
    pub async fn set_auto_archive(&self, id: StepId, rule: Option<AutoArchive>) -> Result<(), EngineError> {
        if let Some(rule) = rule
            && !(1..=MAX_AUTO_ARCHIVE_MS).contains(&rule.after_ms)
        {
            let reason = format!("{} ms is not between 1 ms and ten years", rule.after_ms);
            return Err(EngineError::InvalidField { field: "auto_archive_after_ms", reason });
        }
        let now = self.now();
        let write = self.inner.store.write(move |tx| store::workflow::set_auto_archive(tx, &id, rule, now));
        Ok(write.await?)
    }
}

/// Finds the column to which the tasks of a board move.
fn other_board(
    tx: &mut Tx<'_>,
    id: &WorkflowId,
    wanted: Option<&WorkflowId>,
) -> Result<(WorkflowId, StepId), EngineError> {
    let absent = |id: &WorkflowId| EngineError::NotFound { noun: "board", id: id.to_string() };
    let board = store::workflow::find_workflow(tx, id)?.ok_or_else(|| absent(id))?;
    for other in store::workflow::list_workflows(tx, &board.workspace_id)? {
        let is_wanted = wanted.is_none_or(|wanted| *wanted == other.id);
        if !is_wanted || other.id == *id {
            continue;
        }
        if let Some(step) = store::workflow::start_step(tx, &other.id)? {
            return Ok((other.id, step.id));
        }
    }
    let reason = match wanted {
        Some(wanted) => format!("{wanted} is not another board of the workspace with columns"),
        None => "it is the only board of its workspace, and its tasks need a place".to_owned(),
    };
    Err(EngineError::InvalidField { field: "to", reason })
}

/// Hides a workspace, and sees to it that there is another to work in.
pub(crate) fn mark_deleted(
    tx: &mut Tx<'_>,
    id: &WorkspaceId,
    ids: &dyn IdSource,
    now: Timestamp,
) -> Result<(), EngineError> {
    store::workspace::set_deleted(tx, id, Some(now), now)?;
    store::workspace::delete_if_empty(tx, id)?;
    store::workspace::ensure_default(tx, ids, now)?;
    Ok(())
}

/// Shows a deleted workspace again, because a task of it came back.
pub(crate) fn bring_back(tx: &mut Tx<'_>, task_id: &TaskId, now: Timestamp) -> Result<(), StoreError> {
    let id = store::task::require(tx, task_id)?.workspace_id;
    // Written only where there is something to change: who deletes a workspace locks its row before its tasks.
    match store::workspace::find(tx, &id)? {
        Some(_) => Ok(()),
        None => store::workspace::set_deleted(tx, &id, None, now),
    }
}
