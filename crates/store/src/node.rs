//! Nodes: running servers and the file systems they reach.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, NodeId, TaskId};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "nodes";

statements! {
    UPSERT = "INSERT INTO nodes (id, hostname, created_at, last_seen_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, last_seen_at = excluded.last_seen_at";
    FIND = "SELECT id, hostname, last_seen_at FROM nodes WHERE id = $1";
    LIST = "SELECT id, hostname, last_seen_at FROM nodes ORDER BY id";
    HOLD_ENVIRONMENT =
        "INSERT INTO task_environment_nodes (task_environment_id, node_id) VALUES ($1, $2) \
         ON CONFLICT (task_environment_id) DO UPDATE SET node_id = excluded.node_id";
    OF_TASK =
        "SELECT n.node_id FROM task_environment_nodes n JOIN task_environments e ON e.id = n.task_environment_id \
         WHERE e.task_id = $1";
}

/// A server, as it was when it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The name of its machine, for people.
    pub hostname: String,
    /// When it last said that it runs.
    pub last_seen_at: Timestamp,
}

/// Records that a server runs.
pub fn upsert(tx: &mut Tx<'_>, id: &NodeId, hostname: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(&UPSERT, params![id.as_str(), hostname, now, now]).map(drop)
}

/// Finds a server.
pub fn find(tx: &mut Tx<'_>, id: &NodeId) -> Result<Option<Node>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Lists the servers.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<Node>, StoreError> {
    tx.rows(&LIST, params![], TABLE, read)
}

/// Records whose file system holds an environment.
pub fn hold_environment(tx: &mut Tx<'_>, id: &EnvironmentId, node: &NodeId) -> Result<(), StoreError> {
    tx.execute(&HOLD_ENVIRONMENT, params![id.as_str(), node.as_str()]).map(drop)
}

/// Finds whose file system holds the environment of a task; none when it has none, or when that was not recorded.
pub fn of_task(tx: &mut Tx<'_>, task: &TaskId) -> Result<Option<NodeId>, StoreError> {
    tx.row(&OF_TASK, params![task.as_str()], "task_environment_nodes", |fields| fields.parse())
}

fn read(fields: &mut Fields<'_>) -> Result<Node, StoreError> {
    Ok(Node { id: fields.parse()?, hostname: fields.text()?, last_seen_at: fields.instant()? })
}
