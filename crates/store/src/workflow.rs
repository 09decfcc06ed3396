//! Workflows (boards) and their steps (columns).

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{StepId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::{AutoArchive, Step, Workflow};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const WORKFLOWS: &str = "workflows";
const STEPS: &str = "workflow_steps";

macro_rules! workflow_columns {
    () => {
        "id, workspace_id, name, sort_order, created_at, updated_at"
    };
}

macro_rules! step_columns {
    () => {
        "id, workflow_id, name, position, is_start_step, auto_archive_after_ms, auto_archive_seals, created_at, updated_at"
    };
}

statements! {
    INSERT = concat!("INSERT INTO workflows (", workflow_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6)");
    INSERT_STEP =
        concat!("INSERT INTO workflow_steps (", step_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    LIST = concat!(
        "SELECT ", workflow_columns!(), " FROM workflows WHERE workspace_id = $1 ORDER BY sort_order, id"
    );
    FIND = concat!("SELECT ", workflow_columns!(), " FROM workflows WHERE id = $1");
    LIST_STEPS = concat!(
        "SELECT ", step_columns!(), " FROM workflow_steps WHERE workflow_id = $1 ORDER BY position, id"
    );
    FIND_STEP = concat!("SELECT ", step_columns!(), " FROM workflow_steps WHERE id = $1");
    SET_AUTO_ARCHIVE =
        "UPDATE workflow_steps SET auto_archive_after_ms = $1, auto_archive_seals = $2, updated_at = $3 WHERE id = $4";
    DELETE_STEPS = "DELETE FROM workflow_steps WHERE workflow_id = $1";
    DELETE = "DELETE FROM workflows WHERE id = $1";
}

/// Stores a workflow.
pub fn insert(tx: &mut Tx<'_>, workflow: &Workflow) -> Result<(), StoreError> {
    let Workflow { id, workspace_id, name, position, created_at, updated_at } = workflow;
    let values = params![id.as_str(), workspace_id.as_str(), name, *position, *created_at, *updated_at];
    tx.execute(&INSERT, values).map(drop)
}

/// Stores a step.
pub fn insert_step(tx: &mut Tx<'_>, step: &Step) -> Result<(), StoreError> {
    let Step { id, workflow_id, name, position, is_start, auto_archive, created_at, updated_at } = step;
    let after_ms = auto_archive.map_or(0, |rule| rule.after_ms);
    let seals = auto_archive.is_some_and(|rule| rule.seals);
    let values = params![
        id.as_str(),
        workflow_id.as_str(),
        name,
        *position,
        *is_start,
        after_ms,
        seals,
        *created_at,
        *updated_at,
    ];
    tx.execute(&INSERT_STEP, values).map(drop)
}

/// Lists a workspace's workflows in order.
pub fn list_workflows(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Vec<Workflow>, StoreError> {
    tx.rows(&LIST, params![workspace.as_str()], WORKFLOWS, read_workflow)
}

/// Finds a workflow.
pub fn find_workflow(tx: &mut Tx<'_>, id: &WorkflowId) -> Result<Option<Workflow>, StoreError> {
    tx.row(&FIND, params![id.as_str()], WORKFLOWS, read_workflow)
}

/// Lists a workflow's steps from the left.
pub fn list_steps(tx: &mut Tx<'_>, workflow: &WorkflowId) -> Result<Vec<Step>, StoreError> {
    tx.rows(&LIST_STEPS, params![workflow.as_str()], STEPS, read_step)
}

/// Finds a step.
pub fn find_step(tx: &mut Tx<'_>, id: &StepId) -> Result<Option<Step>, StoreError> {
    tx.row(&FIND_STEP, params![id.as_str()], STEPS, read_step)
}

/// Sets when tasks that stand in a step are archived by themselves.
pub fn set_auto_archive(
    tx: &mut Tx<'_>,
    id: &StepId,
    rule: Option<AutoArchive>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (after_ms, seals) = rule.map_or((0, false), |rule| (rule.after_ms, rule.seals));
    tx.change(&SET_AUTO_ARCHIVE, params![after_ms, seals, now, id.as_str()], "column", id.as_str())
}

/// Deletes a workflow and its steps; false when it was gone. Its tasks are moved before.
pub fn delete(tx: &mut Tx<'_>, id: &WorkflowId) -> Result<bool, StoreError> {
    tx.execute(&DELETE_STEPS, params![id.as_str()])?;
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

/// Finds the first workflow of a workspace that has steps; older databases hold some without.
pub fn first_usable(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Option<Workflow>, StoreError> {
    for workflow in list_workflows(tx, workspace)? {
        if !list_steps(tx, &workflow.id)?.is_empty() {
            return Ok(Some(workflow));
        }
    }
    Ok(None)
}

/// Finds the step where new tasks of a workflow start: the marked one, else the first.
pub fn start_step(tx: &mut Tx<'_>, workflow: &WorkflowId) -> Result<Option<Step>, StoreError> {
    let mut steps = list_steps(tx, workflow)?;
    let marked = steps.iter().position(|step| step.is_start).unwrap_or(0);
    Ok((!steps.is_empty()).then(|| steps.swap_remove(marked)))
}

fn read_workflow(fields: &mut Fields<'_>) -> Result<Workflow, StoreError> {
    Ok(Workflow {
        id: fields.parse()?,
        workspace_id: fields.parse()?,
        name: fields.text()?,
        position: fields.int()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}

fn read_auto_archive(fields: &mut Fields<'_>) -> Result<Option<AutoArchive>, StoreError> {
    let (after_ms, seals) = (fields.int()?, fields.flag()?);
    Ok((after_ms > 0).then_some(AutoArchive { after_ms, seals }))
}

fn read_step(fields: &mut Fields<'_>) -> Result<Step, StoreError> {
    Ok(Step {
        id: fields.parse()?,
        workflow_id: fields.parse()?,
        name: fields.text()?,
        position: fields.int()?,
        is_start: fields.flag()?,
        auto_archive: read_auto_archive(fields)?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
