//! Agent profiles, executors and running executions.

use freehold_domain::agent::{
    AgentProfile, Execution, ExecutionStatus, Executor, ProcessIdentity, WORKTREE_EXECUTOR,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{AgentProfileId, ExecutionId, SessionId};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const PROFILES: &str = "agent_profiles";
const EXECUTORS: &str = "executors";
const EXECUTIONS: &str = "executions";
const EXECUTION: &str = "execution";

macro_rules! profile_columns {
    () => {
        "id, agent_id, name, command, args, env, created_at, updated_at"
    };
}

macro_rules! execution_columns {
    () => {
        "id, session_id, task_id, node_id, status, process, created_at, updated_at"
    };
}

statements! {
    ENSURE_AGENT =
        "INSERT INTO agents (id, name, created_at, updated_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    INSERT = concat!(
        "INSERT INTO agent_profiles (", profile_columns!(), ", agent_display_name) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    );
    FIND = concat!(
        "SELECT ", profile_columns!(), " FROM agent_profiles WHERE id = $1 AND deleted_at IS NULL"
    );
    LIST = concat!(
        "SELECT ", profile_columns!(), " FROM agent_profiles WHERE deleted_at IS NULL ORDER BY name, id"
    );
    DELETE = "DELETE FROM agent_profiles WHERE id = $1";
    INSERT_EXECUTOR =
        "INSERT INTO executors (id, name, type, created_at, updated_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (id) DO NOTHING";
    LIST_EXECUTORS =
        "SELECT id, name, type, created_at, updated_at FROM executors WHERE deleted_at IS NULL ORDER BY id";
    INSERT_EXECUTION = concat!(
        "INSERT INTO executions (", execution_columns!(), ", executor_id) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (session_id) DO NOTHING"
    );
    SET_PROCESS = "UPDATE executions SET process = $1, updated_at = $2 WHERE id = $3";
    SET_STATUS = "UPDATE executions SET status = $1, updated_at = $2 WHERE id = $3";
    FIND_BY_SESSION =
        concat!("SELECT ", execution_columns!(), " FROM executions WHERE session_id = $1");
    DELETE_BY_SESSION = "DELETE FROM executions WHERE session_id = $1";
    LIST_EXECUTIONS =
        concat!("SELECT ", execution_columns!(), " FROM executions ORDER BY created_at, id");
}

/// Stores a profile.
pub fn insert(tx: &mut Tx<'_>, profile: &AgentProfile) -> Result<(), StoreError> {
    let AgentProfile { id, agent_id, name, command, args, env, created_at, updated_at } = profile;
    tx.execute(&ENSURE_AGENT, params![agent_id, agent_id, *created_at, *updated_at])?;
    let (args, env) = (to_json(args)?, to_json(env)?);
    let values = params![id.as_str(), agent_id, name, command, args, env, *created_at, *updated_at, name];
    tx.execute(&INSERT, values).map(drop)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::database("write an agent as JSON", error))
}

/// Finds a profile.
pub fn find(tx: &mut Tx<'_>, id: &AgentProfileId) -> Result<Option<AgentProfile>, StoreError> {
    tx.row(&FIND, params![id.as_str()], PROFILES, read_profile)
}

/// Lists the profiles by name.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<AgentProfile>, StoreError> {
    tx.rows(&LIST, params![], PROFILES, read_profile)
}

/// Deletes a profile; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &AgentProfileId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

/// Stores an executor, unless its id is stored already.
pub fn insert_executor(tx: &mut Tx<'_>, executor: &Executor) -> Result<(), StoreError> {
    let Executor { id, name, kind, created_at, updated_at } = executor;
    tx.execute(&INSERT_EXECUTOR, params![id.as_str(), name, kind, *created_at, *updated_at]).map(drop)
}

/// Lists the executors by id.
pub fn list_executors(tx: &mut Tx<'_>) -> Result<Vec<Executor>, StoreError> {
    tx.rows(&LIST_EXECUTORS, params![], EXECUTORS, |fields| {
        Ok(Executor {
            id: fields.parse()?,
            name: fields.text()?,
            kind: fields.text()?,
            created_at: fields.instant()?,
            updated_at: fields.instant()?,
        })
    })
}

/// Records that an agent is about to run; fails with [`StoreError::ExecutionExists`] when the session has an
/// execution already.
pub fn insert_execution(tx: &mut Tx<'_>, execution: &Execution) -> Result<(), StoreError> {
    let process = execution.process.as_ref().map(to_json).transpose()?.unwrap_or_default();
    let values = params![
        execution.id.as_str(),
        execution.session_id.as_str(),
        execution.task_id.as_str(),
        execution.node_id.as_str(),
        execution.status.as_str(),
        process,
        execution.created_at,
        execution.updated_at,
        WORKTREE_EXECUTOR,
    ];
    match tx.execute(&INSERT_EXECUTION, values)? {
        0 => Err(StoreError::ExecutionExists { session_id: execution.session_id.clone() }),
        _ => Ok(()),
    }
}

/// Records the process of an execution.
pub fn set_process(
    tx: &mut Tx<'_>,
    id: &ExecutionId,
    process: &ProcessIdentity,
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = params![to_json(process)?, now, id.as_str()];
    tx.change(&SET_PROCESS, values, EXECUTION, id.as_str())
}

/// Records what an execution is doing.
pub fn set_status(
    tx: &mut Tx<'_>,
    id: &ExecutionId,
    status: ExecutionStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.change(&SET_STATUS, params![status.as_str(), now, id.as_str()], EXECUTION, id.as_str())
}

/// Finds the execution of a session.
pub fn find_by_session(tx: &mut Tx<'_>, session: &SessionId) -> Result<Option<Execution>, StoreError> {
    tx.row(&FIND_BY_SESSION, params![session.as_str()], EXECUTIONS, read_execution)
}

/// Forgets the execution of a session; false when it had none.
pub fn delete_by_session(tx: &mut Tx<'_>, session: &SessionId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE_BY_SESSION, params![session.as_str()])? > 0)
}

/// Lists every execution, also of sessions that are gone, oldest first.
pub fn list_executions(tx: &mut Tx<'_>) -> Result<Vec<Execution>, StoreError> {
    tx.rows(&LIST_EXECUTIONS, params![], EXECUTIONS, read_execution)
}

fn read_profile(fields: &mut Fields<'_>) -> Result<AgentProfile, StoreError> {
    Ok(AgentProfile {
        id: fields.parse()?,
        agent_id: fields.text()?,
        name: fields.text()?,
        command: fields.text()?,
        args: fields.json()?,
        env: fields.json()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}

fn read_execution(fields: &mut Fields<'_>) -> Result<Execution, StoreError> {
    Ok(Execution {
        id: fields.parse()?,
        session_id: fields.parse()?,
        task_id: fields.parse()?,
        node_id: fields.parse()?,
        status: fields.parse()?,
        process: fields.json()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
