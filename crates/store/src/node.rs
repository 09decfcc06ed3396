//! Nodes: running servers and the file systems they reach.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::NodeId;

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    UPSERT = "INSERT INTO nodes (id, hostname, created_at, last_seen_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, last_seen_at = excluded.last_seen_at";
}

/// Records that a server runs.
pub fn upsert(tx: &mut Tx<'_>, id: &NodeId, hostname: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(&UPSERT, params![id.as_str(), hostname, now, now]).map(drop)
}
