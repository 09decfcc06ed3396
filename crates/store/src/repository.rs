//! Registered repositories.

use freehold_domain::id::{RepositoryId, WorkspaceId};
use freehold_domain::repository::Repository;

use crate::{StoreError, Tx};

/// Stores a repository.
pub fn insert(tx: &mut Tx<'_>, repository: &Repository) -> Result<(), StoreError> {
    todo!()
}
/// Finds a repository.
pub fn find(tx: &mut Tx<'_>, id: &RepositoryId) -> Result<Option<Repository>, StoreError> {
    todo!()
}
/// Finds a repository; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &RepositoryId) -> Result<Repository, StoreError> {
    todo!()
}
/// Finds the repository registered under a path in a workspace.
pub fn find_by_path(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    path: &str,
) -> Result<Option<Repository>, StoreError> {
    todo!()
}
/// Lists a workspace's repositories by name.
pub fn list(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Vec<Repository>, StoreError> {
    todo!()
}
