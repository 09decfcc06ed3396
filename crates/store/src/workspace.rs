//! Workspaces, and what a fresh database begins with.

use std::collections::BTreeMap;

use freehold_domain::agent::{AgentProfile, DEMO_AGENT, Executor, WORKTREE_EXECUTOR};
use freehold_domain::clock::{IdSource, Timestamp};
use freehold_domain::id::{AgentProfileId, ExecutorId, InvalidId, StepId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::{DEFAULT_STEPS, Step, Workflow, Workspace};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, agent, workflow};

const TABLE: &str = "workspaces";

statements! {
    INSERT = "INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ($1, $2, $3, $4)";
    LIST = "SELECT id, name, created_at, updated_at FROM workspaces WHERE deleted_at IS NULL ORDER BY created_at, id";
    FIND = "SELECT id, name, created_at, updated_at FROM workspaces WHERE id = $1 AND deleted_at IS NULL";
    FIND_DELETED = "SELECT id, name, created_at, updated_at FROM workspaces WHERE id = $1";
    LIST_DELETED =
        "SELECT id, name, created_at, updated_at FROM workspaces WHERE deleted_at IS NOT NULL ORDER BY created_at, id";
    LOCK =
        "SELECT id, name, created_at, updated_at FROM workspaces WHERE id = $1 AND deleted_at IS NULL/*pg  FOR UPDATE*/";
    SET_DELETED = "UPDATE workspaces SET deleted_at = $1, updated_at = $2 WHERE id = $3";
    DELETE_EMPTY_STEPS =
        "DELETE FROM workflow_steps WHERE workflow_id IN (SELECT f.id FROM workflows f JOIN workspaces w \
         ON w.id = f.workspace_id WHERE w.id = $1 AND w.deleted_at IS NOT NULL) \
         AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workspace_id = $1)";
    DELETE_EMPTY_WORKFLOWS =
        "DELETE FROM workflows WHERE workspace_id IN (SELECT w.id FROM workspaces w WHERE w.id = $1 \
         AND w.deleted_at IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workspace_id = $1)";
    DELETE_EMPTY =
        "DELETE FROM workspaces WHERE id = $1 AND deleted_at IS NOT NULL \
         AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workspace_id = $1)";
}

/// Stores a workspace.
pub fn insert(tx: &mut Tx<'_>, workspace: &Workspace) -> Result<(), StoreError> {
    let Workspace { id, name, created_at, updated_at } = workspace;
    tx.execute(&INSERT, params![id.as_str(), name, *created_at, *updated_at]).map(drop)
}

/// Lists all workspaces, oldest first.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<Workspace>, StoreError> {
    tx.rows(&LIST, params![], TABLE, read)
}

/// Lists the workspaces that were deleted and whose tasks are in the trash, oldest first.
pub fn list_deleted(tx: &mut Tx<'_>) -> Result<Vec<Workspace>, StoreError> {
    tx.rows(&LIST_DELETED, params![], TABLE, read)
}

/// Marks a workspace as deleted, or takes the mark back.
pub fn set_deleted(
    tx: &mut Tx<'_>,
    id: &WorkspaceId,
    deleted_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_DELETED, params![deleted_at, now, id.as_str()], "workspace", id.as_str())
}

/// Deletes the row of a deleted workspace that no task is left of, with its boards and the registrations of its
/// repositories; false when it is not deleted or a task is left.
pub fn delete_if_empty(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<bool, StoreError> {
    tx.execute(&DELETE_EMPTY_STEPS, params![id.as_str()])?;
    tx.execute(&DELETE_EMPTY_WORKFLOWS, params![id.as_str()])?;
    Ok(tx.execute(&DELETE_EMPTY, params![id.as_str()])? > 0)
}

/// Finds a workspace, also one that was deleted and whose tasks are in the trash.
pub fn find_deleted(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<Option<Workspace>, StoreError> {
    tx.row(&FIND_DELETED, params![id.as_str()], TABLE, read)
}

/// Finds a workspace that was not deleted.
pub fn find(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<Option<Workspace>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds a workspace and keeps other transactions from adding to it until this one ends.
pub fn lock(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<Option<Workspace>, StoreError> {
    tx.row(&LOCK, params![id.as_str()], TABLE, read)
}

/// Finds the first workspace, and makes what a database lacks to begin with: a workspace, for each workspace a
/// board that has columns, the worktree executor and the demo agent's profile.
pub fn ensure_default(tx: &mut Tx<'_>, ids: &dyn IdSource, now: Timestamp) -> Result<Workspace, StoreError> {
    let mut workspaces = list(tx)?;
    if workspaces.is_empty() {
        let workspace = Workspace {
            id: WorkspaceId::generate(ids),
            name: "Default".to_owned(),
            created_at: now,
            updated_at: now,
        };
        insert(tx, &workspace)?;
        workspaces.push(workspace);
    }
    for workspace in &workspaces {
        // Of two servers that start at once, the second finds what the first made.
        lock(tx, &workspace.id)?;
        if workflow::first_usable(tx, &workspace.id)?.is_none() {
            insert_default_board(tx, &workspace.id, ids, now)?;
        }
    }
    ensure_builtin_agent(tx, now)?;
    Ok(workspaces.swap_remove(0))
}

fn insert_default_board(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    ids: &dyn IdSource,
    now: Timestamp,
) -> Result<(), StoreError> {
    let board = Workflow {
        id: WorkflowId::generate(ids),
        workspace_id: workspace_id.clone(),
        name: "Board".to_owned(),
        position: 0,
        created_at: now,
        updated_at: now,
    };
    workflow::insert(tx, &board)?;
    for (position, name) in (0..).zip(DEFAULT_STEPS) {
        let step = Step {
            id: StepId::generate(ids),
            workflow_id: board.id.clone(),
            name: name.to_owned(),
            position,
            is_start: position == 0,
            auto_archive: None,
            created_at: now,
            updated_at: now,
        };
        workflow::insert_step(tx, &step)?;
    }
    Ok(())
}

fn ensure_builtin_agent(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let invalid = |error: InvalidId| StoreError::database("make a built-in id", error);
    let executor = Executor {
        id: ExecutorId::new(WORKTREE_EXECUTOR).map_err(invalid)?,
        name: "Worktree".to_owned(),
        kind: "worktree".to_owned(),
        created_at: now,
        updated_at: now,
    };
    agent::insert_executor(tx, &executor)?;
    let profile = AgentProfile {
        id: AgentProfileId::new(DEMO_AGENT).map_err(invalid)?,
        agent_id: DEMO_AGENT.to_owned(),
        name: "Demo agent".to_owned(),
        command: String::new(),
        args: Vec::new(),
        env: BTreeMap::new(),
        created_at: now,
        updated_at: now,
    };
    match agent::find(tx, &profile.id)? {
        Some(_) => Ok(()),
        None => agent::insert(tx, &profile),
    }
}

fn read(fields: &mut Fields<'_>) -> Result<Workspace, StoreError> {
    Ok(Workspace {
        id: fields.parse()?,
        name: fields.text()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
