//! The journal of attempts to create workspaces: what an attempt may have made, written before it is made.

use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{Creation, CreationState};
use freehold_domain::id::CreationId;

use crate::{StoreError, Tx};

/// Stores an attempt.
pub fn insert(tx: &mut Tx<'_>, creation: &Creation) -> Result<(), StoreError> {
    todo!()
}
/// Sets how far an attempt came.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: &CreationId,
    state: CreationState,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Finds an attempt.
pub fn find(tx: &mut Tx<'_>, id: &CreationId) -> Result<Option<Creation>, StoreError> {
    todo!()
}
/// Lists the attempts that are neither persisted nor abandoned, oldest first.
pub fn list_unfinished(tx: &mut Tx<'_>) -> Result<Vec<Creation>, StoreError> {
    todo!()
}
/// Deletes an attempt; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &CreationId) -> Result<bool, StoreError> {
    todo!()
}
