//! Directories that removals moved into trash folders, until they are unlinked.
//!
//! Invariant: a row is written after its directory was moved and before its job is done, and goes after the directory
//! is gone. So nothing is unlinked that no row names, and nothing that was moved is forgotten.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::NodeId;
use freehold_domain::removed::RemovedDirectory;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "removed_directories";

macro_rules! columns {
    () => {
        "path, inode, node_id, repository_id, clean_commit, reason, created_at, due_at"
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO removed_directories (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ",
        "ON CONFLICT (path) DO NOTHING"
    );
    NEXT_DUE = concat!(
        "SELECT ", columns!(), " FROM removed_directories WHERE node_id = $1 AND due_at <= $2 ",
        "ORDER BY due_at, created_at, path LIMIT 1"
    );
    POSTPONE = "UPDATE removed_directories SET reason = $1, due_at = $2 WHERE path = $3";
    DELETE = "DELETE FROM removed_directories WHERE path = $1";
}

/// Stores that a directory was moved away; one that is stored already stays as it is.
pub fn insert(tx: &mut Tx<'_>, removed: &RemovedDirectory) -> Result<(), StoreError> {
    let values = params![
        &removed.path,
        removed.inode.cast_signed(),
        removed.node_id.as_str(),
        removed.repository_id.as_str(),
        &removed.clean_commit,
        &removed.reason,
        removed.created_at,
        removed.due_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Finds the one of a node that has been due for the longest time; none when none is.
pub fn next_due(
    tx: &mut Tx<'_>,
    node: &NodeId,
    now: Timestamp,
) -> Result<Option<RemovedDirectory>, StoreError> {
    tx.row(&NEXT_DUE, params![node.as_str(), now], TABLE, read)
}

/// Stores why one could not be unlinked, and when that is tried again.
pub fn postpone(tx: &mut Tx<'_>, path: &str, reason: &str, until: Timestamp) -> Result<(), StoreError> {
    tx.execute(&POSTPONE, params![reason, until, path]).map(drop)
}

/// Deletes the row of one that is gone; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, path: &str) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![path])? > 0)
}

fn read(fields: &mut Fields<'_>) -> Result<RemovedDirectory, StoreError> {
    Ok(RemovedDirectory {
        path: fields.text()?,
        inode: fields.bits()?,
        node_id: fields.parse()?,
        repository_id: fields.parse()?,
        clean_commit: fields.text()?,
        reason: fields.text()?,
        created_at: fields.instant()?,
        due_at: fields.instant()?,
    })
}
