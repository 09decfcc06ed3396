//! Workspaces, and what a fresh database begins with.

use freehold_domain::clock::{IdSource, Timestamp};
use freehold_domain::id::WorkspaceId;
use freehold_domain::workflow::Workspace;

use crate::{StoreError, Tx};

/// Stores a workspace.
pub fn insert(tx: &mut Tx<'_>, workspace: &Workspace) -> Result<(), StoreError> {
    todo!()
}
/// Lists all workspaces, oldest first.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<Workspace>, StoreError> {
    todo!()
}
/// Finds a workspace.
pub fn find(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<Option<Workspace>, StoreError> {
    todo!()
}
/// Finds the first workspace, or makes what a fresh database begins with: a workspace, a workflow with its
/// steps, the worktree executor and the demo agent's profile.
pub fn ensure_default(tx: &mut Tx<'_>, ids: &dyn IdSource, now: Timestamp) -> Result<Workspace, StoreError> {
    todo!()
}
