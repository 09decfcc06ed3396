//! Sessions: rows that link a conversation to a task's environment and own nothing on disk.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, SessionId, TaskId};
use freehold_domain::session::{Session, SessionState};

use crate::{StoreError, Tx};

/// Stores a session, unless a barrier or the task's end forbids it.
pub fn insert(tx: &mut Tx<'_>, session: &Session) -> Result<(), StoreError> {
    todo!()
}
/// Finds a session.
pub fn find(tx: &mut Tx<'_>, id: &SessionId) -> Result<Option<Session>, StoreError> {
    todo!()
}
/// Finds a session; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &SessionId) -> Result<Session, StoreError> {
    todo!()
}
/// Lists a task's sessions, oldest first.
pub fn list_by_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Vec<Session>, StoreError> {
    todo!()
}
/// Lists every session of which a process may be running.
pub fn list_live(tx: &mut Tx<'_>) -> Result<Vec<Session>, StoreError> {
    todo!()
}
/// Sets what a session is doing, with the reason when it failed; sets `completed_at` when it is no longer live.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: &SessionId,
    state: SessionState,
    error_message: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Gives a session another name.
pub fn set_name(tx: &mut Tx<'_>, id: &SessionId, name: &str, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
/// Makes a session the one that the board shows, and no other of its task.
pub fn set_primary(
    tx: &mut Tx<'_>,
    task: &TaskId,
    session: &SessionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Records the agent's own id of the conversation.
pub fn set_acp_session_id(
    tx: &mut Tx<'_>,
    id: &SessionId,
    acp_session_id: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Links the task's sessions that have no environment to this one.
pub fn set_environment(
    tx: &mut Tx<'_>,
    task: &TaskId,
    environment: &EnvironmentId,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Deletes a session's row and its conversation, and nothing else; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &SessionId) -> Result<bool, StoreError> {
    todo!()
}
