//! Agent profiles, executors and running executions.

use freehold_domain::agent::{AgentProfile, Execution, ExecutionStatus, Executor, ProcessIdentity};
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{AgentProfileId, ExecutionId, SessionId};

use crate::{StoreError, Tx};

/// Stores a profile.
pub fn insert(tx: &mut Tx<'_>, profile: &AgentProfile) -> Result<(), StoreError> {
    todo!()
}
/// Finds a profile.
pub fn find(tx: &mut Tx<'_>, id: &AgentProfileId) -> Result<Option<AgentProfile>, StoreError> {
    todo!()
}
/// Lists the profiles by name.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<AgentProfile>, StoreError> {
    todo!()
}
/// Deletes a profile; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &AgentProfileId) -> Result<bool, StoreError> {
    todo!()
}
/// Stores an executor.
pub fn insert_executor(tx: &mut Tx<'_>, executor: &Executor) -> Result<(), StoreError> {
    todo!()
}
/// Lists the executors by id.
pub fn list_executors(tx: &mut Tx<'_>) -> Result<Vec<Executor>, StoreError> {
    todo!()
}
/// Records that an agent is about to run; fails when the session has an execution already.
pub fn insert_execution(tx: &mut Tx<'_>, execution: &Execution) -> Result<(), StoreError> {
    todo!()
}
/// Records the process of an execution.
pub fn set_process(
    tx: &mut Tx<'_>,
    id: &ExecutionId,
    process: &ProcessIdentity,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Records what an execution is doing.
pub fn set_status(
    tx: &mut Tx<'_>,
    id: &ExecutionId,
    status: ExecutionStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    todo!()
}
/// Finds the execution of a session.
pub fn find_by_session(tx: &mut Tx<'_>, session: &SessionId) -> Result<Option<Execution>, StoreError> {
    todo!()
}
/// Forgets the execution of a session; false when it had none.
pub fn delete_by_session(tx: &mut Tx<'_>, session: &SessionId) -> Result<bool, StoreError> {
    todo!()
}
/// Lists every execution, also of sessions that are gone, oldest first.
pub fn list_executions(tx: &mut Tx<'_>) -> Result<Vec<Execution>, StoreError> {
    todo!()
}
