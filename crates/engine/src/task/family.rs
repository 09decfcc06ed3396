//! Which tasks belong together: sub-tasks, visitors of a workspace, and what was closed by one request.

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{EnvironmentId, TaskId, WorkspaceId};
use freehold_domain::repository::WorkStart;
use freehold_domain::task::{MAX_TASK_DEPTH, Task};
use freehold_store as store;
use freehold_store::Tx;

use super::{NewTask, NewTaskRepository};
use crate::cleanup::TaskRef;
use crate::environment::reopen::Reopening;
use crate::{Engine, EngineError};

/// The longest life of a quick chat, in milliseconds: one year.
const MAX_EXPIRY_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// What came of bringing one task of several back.
#[derive(Debug)]
pub struct Reopened {
    /// The task.
    pub task_id: TaskId,
    /// Why it did not come back.
    pub error: Option<EngineError>,
}

impl Engine {
    /// Fills in what a sub-task or visitor takes from the task that it belongs to.
    pub(super) async fn take_from_family(&self, request: &mut NewTask) -> Result<(), EngineError> {
        let Some(id) = request.borrow_from.clone().or_else(|| request.parent_id.clone()) else {
            return Ok(());
        };
        let read = self.inner.store.read(move |tx| {
            let workspace_id = store::task::require(tx, &id)?.workspace_id;
            Ok::<_, EngineError>((workspace_id, store::task::repositories_of(tx, &id)?))
        });
        let (workspace_id, repositories) = read.await?;
        request.workspace_id.get_or_insert(workspace_id);
        if request.repositories.is_empty() && request.kind == WorkspaceKind::Worktree {
            if repositories.is_empty() {
                request.kind = WorkspaceKind::Scratch;
            }
            let taken = repositories.into_iter().map(|used| {
                // What was fetched for the other task, or is a person's, is no place for a branch to start from.
                let base = match &used.start {
                    WorkStart::NewBranch { fetched: None, .. } | WorkStart::ExistingBranch { .. } => {
                        used.base_branch
                    }
                    _ => String::new(),
                };
                let base_branch = Some(base).filter(|base| !base.is_empty());
                NewTaskRepository { base_branch, ..NewTaskRepository::new(used.repository_id) }
            });
            request.repositories = taken.collect();
        }
        Ok(())
    }

    /// Lists the tasks that the request which closed this one closed with it, and that are closed still.
    pub async fn closed_with(&self, id: TaskId) -> Result<Vec<TaskRef>, EngineError> {
        let read = self.inner.store.read(move |tx| {
            let task = store::task::require(tx, &id)?;
            let Some(operation) = closing_operation(tx, &task)? else { return Ok(Vec::new()) };
            let mut found = Vec::new();
            for id in store::task::descendants_of(tx, &task.id)? {
                let Some(part) = store::task::find(tx, &id)?.filter(|part| !part.is_open()) else { continue };
                if closing_operation(tx, &part)?.as_ref() == Some(&operation) {
                    found.push(TaskRef { id, title: part.title });
                }
            }
            Ok(found)
        });
        read.await
    }

    /// Brings a task back, and then, from the top, the tasks that were closed with it. A sub-task that cannot come
    /// back is told of and keeps none of the others.
    pub async fn reopen_family(
        &self,
        task_id: TaskId,
        reopening: Reopening,
    ) -> Result<Vec<Reopened>, EngineError> {
        let parts = self.closed_with(task_id.clone()).await?;
        self.reopen_task(task_id.clone(), reopening).await?;
        let mut all = vec![Reopened { task_id, error: None }];
        for TaskRef { id, .. } in parts {
            let error = self.reopen_task(id.clone(), reopening).await.err();
            all.push(Reopened { task_id: id, error });
        }
        Ok(all)
    }
}

/// The last part of the operation's name, which all jobs of one request share.
fn closing_operation(tx: &mut Tx<'_>, task: &Task) -> Result<Option<String>, EngineError> {
    let closes = |job: &&CleanupJob| job.trigger.archives_task() || job.trigger.deletes_task();
    let jobs = store::cleanup::list(tx, Some(&task.id), None)?;
    let newest = jobs.iter().find(closes);
    Ok(newest.and_then(|job| job.operation_id.rsplit(':').next()).map(str::to_owned))
}

/// The open sub-tasks of a task, and theirs.
pub(super) fn open_sub_tasks(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<TaskRef>, EngineError> {
    let ids = store::task::open_descendants_of(tx, id)?;
    crate::cleanup::refs_of(tx, &ids)
}

pub(super) fn check_expiry(expires_in_ms: Option<i64>) -> Result<(), EngineError> {
    match expires_in_ms {
        Some(after) if !(1..=MAX_EXPIRY_MS).contains(&after) => {
            let reason = format!("{after} ms is not between 1 ms and a year");
            Err(EngineError::InvalidField { field: "expires_in_ms", reason })
        }
        _ => Ok(()),
    }
}

/// Lets a new task join the family that it names: its parent, and the owner of the workspace that it borrows, are
/// locked and open, so that who closes them knows of it. Gives the borrowed environment.
pub(super) fn join(
    tx: &mut Tx<'_>,
    request: &NewTask,
    workspace_id: &WorkspaceId,
) -> Result<Option<EnvironmentId>, EngineError> {
    let mut ids: Vec<TaskId> = request.parent_id.iter().chain(&request.borrow_from).cloned().collect();
    if ids.is_empty() {
        return Ok(None);
    }
    if let Some(lender) = &request.borrow_from {
        ids.extend(store::environment::find_visited(tx, lender)?.map(|environment| environment.task_id));
    }
    store::task::lock_in_order(tx, &ids)?;
    if let Some(parent_id) = &request.parent_id {
        let parent = require_near(tx, "parent_id", parent_id, workspace_id)?;
        require_depth(tx, &parent)?;
    }
    let Some(lender) = &request.borrow_from else { return Ok(None) };
    let lender = require_near(tx, "borrow_from", lender, workspace_id)?;
    let environment = store::environment::find_visited(tx, &lender.id)?;
    let environment = environment.ok_or(EngineError::NoWorkspace { task_id: lender.id })?;
    crate::cleanup::may_be_visited(tx, &environment)??;
    Ok(Some(environment.id))
}

fn require_near(
    tx: &mut Tx<'_>,
    field: &'static str,
    id: &TaskId,
    workspace_id: &WorkspaceId,
) -> Result<Task, EngineError> {
    let task = store::task::require(tx, id)?;
    crate::session::require_open(tx, &task)?;
    if task.workspace_id != *workspace_id {
        let reason = format!("task {id} belongs to another workspace");
        return Err(EngineError::InvalidField { field, reason });
    }
    Ok(task)
}

/// Old databases may hold circles of parents; a walk up one comes to the limit too.
fn require_depth(tx: &mut Tx<'_>, parent: &Task) -> Result<(), EngineError> {
    let mut depth = 1;
    let mut above = parent.parent_id.clone();
    while let Some(id) = above {
        depth += 1;
        if depth >= MAX_TASK_DEPTH {
            let reason = format!("task {} is {MAX_TASK_DEPTH} levels deep already", parent.id);
            return Err(EngineError::InvalidField { field: "parent_id", reason });
        }
        above = store::task::find(tx, &id)?.and_then(|task| task.parent_id);
    }
    Ok(())
}
