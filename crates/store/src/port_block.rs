//! Blocks of ports, each reserved for one workspace.
//!
//! Invariant: on one machine no two workspaces have the same block. The primary key decides between two servers
//! and two tasks that take one at once.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, NodeId};
use freehold_domain::preparation::PortBlock;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "port_blocks";

statements! {
    // Nothing happens where the block is taken or the workspace has one.
    RESERVE =
        "INSERT INTO port_blocks (node_id, first_port, port_count, environment_id, created_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    FIND =
        "SELECT environment_id, node_id, first_port, port_count FROM port_blocks WHERE environment_id = $1";
    LIST =
        "SELECT environment_id, node_id, first_port, port_count FROM port_blocks WHERE node_id = $1 \
         ORDER BY first_port";
    FREE = "DELETE FROM port_blocks WHERE environment_id = $1";
}

/// Reserves a block; false when it is taken, or when the workspace has one.
pub fn reserve(tx: &mut Tx<'_>, block: &PortBlock, now: Timestamp) -> Result<bool, StoreError> {
    let (first, count) = (i64::from(block.first), i64::from(block.count));
    let values = params![block.node_id.as_str(), first, count, block.environment_id.as_str(), now];
    Ok(tx.execute(&RESERVE, values)? > 0)
}

/// Finds the block of a workspace.
pub fn find(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Option<PortBlock>, StoreError> {
    tx.row(&FIND, params![environment.as_str()], TABLE, read)
}

/// Lists the blocks of a machine, the lowest first.
pub fn list(tx: &mut Tx<'_>, node: &NodeId) -> Result<Vec<PortBlock>, StoreError> {
    tx.rows(&LIST, params![node.as_str()], TABLE, read)
}

/// Gives the block of a workspace back; false when it had none.
pub fn free(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<bool, StoreError> {
    Ok(tx.execute(&FREE, params![environment.as_str()])? > 0)
}

fn read(fields: &mut Fields<'_>) -> Result<PortBlock, StoreError> {
    let environment_id = fields.parse()?;
    let node_id = fields.parse()?;
    let mut port = || {
        let number = fields.int()?;
        u16::try_from(number).map_err(|_| fields.reject_last(&number.to_string()))
    };
    Ok(PortBlock { environment_id, node_id, first: port()?, count: port()? })
}
