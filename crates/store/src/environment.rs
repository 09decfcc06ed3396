//! Task environments: the only record of what a task owns on disk.

use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{EnvironmentRepo, EnvironmentStatus, TaskEnvironment};
use freehold_domain::id::{EnvironmentId, EnvironmentRepoId, TaskId};

use crate::{StoreError, Tx};

/// Stores what a task owns now, unless a barrier or the task's end forbids it.
pub fn insert_ready(
    tx: &mut Tx<'_>,
    environment: &TaskEnvironment,
    repos: &[EnvironmentRepo],
) -> Result<(), StoreError> {
    todo!()
}
/// Finds the environment of a task.
pub fn find_by_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<TaskEnvironment>, StoreError> {
    todo!()
}
/// Finds an environment.
pub fn find(tx: &mut Tx<'_>, id: &EnvironmentId) -> Result<Option<TaskEnvironment>, StoreError> {
    todo!()
}
/// Lists an environment's repositories, in order.
pub fn repos_of(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Vec<EnvironmentRepo>, StoreError> {
    todo!()
}
/// Sets whether an environment can be worked in.
pub fn set_status(
    tx: &mut Tx<'_>,
    id: &EnvironmentId,
    status: EnvironmentStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Records that a repository's worktree was given back.
pub fn mark_repo_deleted(tx: &mut Tx<'_>, id: &EnvironmentRepoId, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// Deletes an environment with its repositories and unlinks its task's sessions; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &EnvironmentId) -> Result<bool, StoreError> {
    todo!()
}
