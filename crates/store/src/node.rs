//! Nodes: running servers and the file systems they reach.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::NodeId;

use crate::{StoreError, Tx};

/// Records that a server runs.
pub fn upsert(tx: &mut Tx<'_>, id: &NodeId, hostname: &str, now: Timestamp) -> Result<(), StoreError> {
    todo!()
}
