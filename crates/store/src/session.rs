//! Sessions: rows that link a conversation to a task's environment and own nothing on disk.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, SessionId, TaskId};
use freehold_domain::session::{Session, SessionState};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, environment};

const TABLE: &str = "task_sessions";
const NOUN: &str = "session";

macro_rules! columns {
    () => {
        "id, task_id, task_environment_id, agent_profile_id, name, state, error_message, is_primary, \
         acp_session_id, started_at, completed_at, updated_at"
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO task_sessions (", columns!(), ") ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    FIND = concat!("SELECT ", columns!(), " FROM task_sessions WHERE id = $1");
    LIST_BY_TASK = concat!(
        "SELECT ", columns!(), " FROM task_sessions WHERE task_id = $1 ORDER BY started_at, id"
    );
    LIST_BY_ENVIRONMENT = concat!(
        "SELECT ", columns!(), " FROM task_sessions WHERE task_environment_id = $1 ORDER BY started_at, id"
    );
    LIST_LIVE = concat!(
        "SELECT ", columns!(), " FROM task_sessions ",
        "WHERE state IN ('STARTING', 'RUNNING', 'WAITING_FOR_INPUT', 'IDLE') ORDER BY started_at, id"
    );
    SET_STATE =
        "UPDATE task_sessions SET state = $1, error_message = $2, completed_at = $3, updated_at = $4 WHERE id = $5";
    SET_NAME = "UPDATE task_sessions SET name = $1, updated_at = $2 WHERE id = $3";
    CLEAR_PRIMARY =
        "UPDATE task_sessions SET is_primary = 0, updated_at = $1 WHERE task_id = $2 AND is_primary = 1 AND id <> $3";
    SET_PRIMARY = "UPDATE task_sessions SET is_primary = 1, updated_at = $1 WHERE id = $2 AND task_id = $3";
    SET_ACP_SESSION_ID = "UPDATE task_sessions SET acp_session_id = $1, updated_at = $2 WHERE id = $3";
    SET_ENVIRONMENT =
        "UPDATE task_sessions SET task_environment_id = $1, updated_at = $2 \
         WHERE task_id = $3 AND COALESCE(task_environment_id, '') = ''";
    DELETE = "DELETE FROM task_sessions WHERE id = $1";
}

/// Stores a session.
///
/// Fails with [`StoreError::TaskClosed`] when the task is archived or deleted, and with
/// [`StoreError::Barrier`] while a cleanup job holds the task.
pub fn insert(tx: &mut Tx<'_>, session: &Session) -> Result<(), StoreError> {
    environment::require_open(tx, &session.task_id)?;
    let values = params![
        session.id.as_str(),
        session.task_id.as_str(),
        session.environment_id.as_ref().map_or("", |id| id.as_str()),
        session.agent_profile_id.as_ref().map_or("", |id| id.as_str()),
        &session.name,
        session.state.as_str(),
        &session.error_message,
        session.is_primary,
        &session.acp_session_id,
        session.started_at,
        session.completed_at,
        session.updated_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Finds a session.
pub fn find(tx: &mut Tx<'_>, id: &SessionId) -> Result<Option<Session>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds a session; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &SessionId) -> Result<Session, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::NotFound { noun: NOUN, id: id.to_string() })
}

/// Lists a task's sessions, oldest first.
pub fn list_by_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Vec<Session>, StoreError> {
    tx.rows(&LIST_BY_TASK, params![task.as_str()], TABLE, read)
}

/// Lists the sessions that use an environment, oldest first.
pub fn list_by_environment(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Vec<Session>, StoreError> {
    tx.rows(&LIST_BY_ENVIRONMENT, params![environment.as_str()], TABLE, read)
}

/// Lists every session of which a process may be running, oldest first.
pub fn list_live(tx: &mut Tx<'_>) -> Result<Vec<Session>, StoreError> {
    tx.rows(&LIST_LIVE, params![], TABLE, read)
}

/// Sets what a session is doing, with the reason when it failed. `completed_at` is set when the new state is
/// neither live nor `CREATED`, and cleared otherwise.
pub fn set_state(
    tx: &mut Tx<'_>,
    id: &SessionId,
    state: SessionState,
    error_message: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let has_ended = !state.is_live() && state != SessionState::Created;
    let completed_at = has_ended.then_some(now);
    let values = params![state.as_str(), error_message, completed_at, now, id.as_str()];
    tx.change(&SET_STATE, values, NOUN, id.as_str())
}

/// Gives a session another name.
pub fn set_name(tx: &mut Tx<'_>, id: &SessionId, name: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.change(&SET_NAME, params![name, now, id.as_str()], NOUN, id.as_str())
}

/// Makes a session the one that the board shows, and no other of its task.
pub fn set_primary(
    tx: &mut Tx<'_>,
    task: &TaskId,
    session: &SessionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(&CLEAR_PRIMARY, params![now, task.as_str(), session.as_str()])?;
    tx.change(&SET_PRIMARY, params![now, session.as_str(), task.as_str()], NOUN, session.as_str())
}

/// Records the agent's own id of the conversation.
pub fn set_acp_session_id(
    tx: &mut Tx<'_>,
    id: &SessionId,
    acp_session_id: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_ACP_SESSION_ID, params![acp_session_id, now, id.as_str()], NOUN, id.as_str())
}

/// Links the task's sessions that have no environment to this one.
pub fn set_environment(
    tx: &mut Tx<'_>,
    task: &TaskId,
    environment: &EnvironmentId,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(&SET_ENVIRONMENT, params![environment.as_str(), now, task.as_str()]).map(drop)
}

/// Deletes a session's row and its conversation, and nothing else; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &SessionId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

fn read(fields: &mut Fields<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        id: fields.parse()?,
        task_id: fields.parse()?,
        environment_id: fields.optional()?,
        agent_profile_id: fields.optional()?,
        name: fields.text()?,
        state: fields.parse()?,
        error_message: fields.text()?,
        is_primary: fields.flag()?,
        acp_session_id: fields.text()?,
        started_at: fields.instant()?,
        completed_at: fields.optional_instant()?,
        updated_at: fields.instant()?,
    })
}
