//! Workflows (boards) and their steps (columns).

use freehold_domain::id::{StepId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::{Step, Workflow};

use crate::{StoreError, Tx};

/// Stores a workflow.
pub fn insert(tx: &mut Tx<'_>, workflow: &Workflow) -> Result<(), StoreError> {
    todo!()
}
/// Stores a step.
pub fn insert_step(tx: &mut Tx<'_>, step: &Step) -> Result<(), StoreError> {
    todo!()
}
/// Lists a workspace's workflows in order.
pub fn list_workflows(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Vec<Workflow>, StoreError> {
    todo!()
}
/// Finds a workflow.
pub fn find_workflow(tx: &mut Tx<'_>, id: &WorkflowId) -> Result<Option<Workflow>, StoreError> {
    todo!()
}
/// Lists a workflow's steps from the left.
pub fn list_steps(tx: &mut Tx<'_>, workflow: &WorkflowId) -> Result<Vec<Step>, StoreError> {
    todo!()
}
/// Finds a step.
pub fn find_step(tx: &mut Tx<'_>, id: &StepId) -> Result<Option<Step>, StoreError> {
    todo!()
}
/// Finds the step where new tasks of a workflow start: the marked one, else the first.
pub fn start_step(tx: &mut Tx<'_>, workflow: &WorkflowId) -> Result<Option<Step>, StoreError> {
    todo!()
}
