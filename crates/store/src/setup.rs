//! Runs of set-up and tear-down scripts.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, NodeId, SetupId};
use freehold_domain::preparation::{Setup, SetupState};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "workspace_setups";

macro_rules! columns {
    () => {
        "s.id, s.environment_repo_id, s.node_id, s.kind, s.state, s.exit_code, s.output, s.created_at, \
         s.started_at, s.finished_at"
    };
}

statements! {
    INSERT =
        "INSERT INTO workspace_setups (id, environment_repo_id, node_id, kind, state, output, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    BEGIN =
        "UPDATE workspace_setups SET state = 'running', node_id = $1, started_at = $2 \
         WHERE id = $3 AND state = 'pending'";
    SET_OUTPUT = "UPDATE workspace_setups SET output = $1 WHERE id = $2";
    FINISH =
        "UPDATE workspace_setups SET state = $1, exit_code = $2, output = $3, finished_at = $4 WHERE id = $5";
    LIST = concat!(
        "SELECT ", columns!(), " FROM workspace_setups s ",
        "JOIN task_environment_repos r ON r.id = s.environment_repo_id ",
        "WHERE r.task_environment_id = $1 ORDER BY s.created_at, r.position, s.id"
    );
    LIST_RUNNING = concat!(
        "SELECT ", columns!(), " FROM workspace_setups s ",
        "WHERE s.node_id = $1 AND s.state = 'running' ORDER BY s.created_at, s.id"
    );
}

/// Stores a run that did not begin.
pub fn insert(tx: &mut Tx<'_>, setup: &Setup) -> Result<(), StoreError> {
    let values = params![
        setup.id.as_str(),
        setup.environment_repo_id.as_str(),
        setup.node_id.as_str(),
        setup.kind.as_str(),
        setup.state.as_str(),
        &setup.output,
        setup.created_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Records that a run begins on a server; false when it began before or is gone.
pub fn begin(tx: &mut Tx<'_>, id: &SetupId, node: &NodeId, now: Timestamp) -> Result<bool, StoreError> {
    Ok(tx.execute(&BEGIN, params![node.as_str(), now, id.as_str()])? > 0)
}

/// Stores the end of what a run printed so far; false when the run is gone.
pub fn set_output(tx: &mut Tx<'_>, id: &SetupId, output: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(&SET_OUTPUT, params![output, id.as_str()])? > 0)
}

/// Stores how a run ended; false when the run is gone, as it is once its workspace is.
pub fn finish(
    tx: &mut Tx<'_>,
    id: &SetupId,
    state: SetupState,
    exit_code: Option<i64>,
    output: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let exit_code = exit_code.map(|code| code.to_string()).unwrap_or_default();
    Ok(tx.execute(&FINISH, params![state.as_str(), exit_code, output, now, id.as_str()])? > 0)
}

/// Lists the runs of an environment, oldest first.
pub fn list(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Vec<Setup>, StoreError> {
    tx.rows(&LIST, params![environment.as_str()], TABLE, read)
}

/// Lists the runs that a server did not finish.
pub fn list_running(tx: &mut Tx<'_>, node: &NodeId) -> Result<Vec<Setup>, StoreError> {
    tx.rows(&LIST_RUNNING, params![node.as_str()], TABLE, read)
}

fn read(fields: &mut Fields<'_>) -> Result<Setup, StoreError> {
    Ok(Setup {
        id: fields.parse()?,
        environment_repo_id: fields.parse()?,
        node_id: fields.parse()?,
        kind: fields.parse()?,
        state: fields.parse()?,
        exit_code: fields.optional()?,
        output: fields.text()?,
        created_at: fields.instant()?,
        started_at: fields.optional_instant()?,
        finished_at: fields.optional_instant()?,
    })
}
