//! The quarantine: what a person put there, and where it came from.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{NodeId, QuarantineId};
use freehold_domain::storage::{QuarantineEntry, QuarantineState};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "quarantine_entries";
const NOUN: &str = "quarantine entry";

macro_rules! columns {
    () => {
        "id, node_id, state, kind, original_path, held_path, restore_path, repository_id, repository_path, \
         registration, device, inode, reason, detail, requested_by, size_bytes, job_id, error_message, created_at, \
         held_at, updated_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM quarantine_entries ", $rest)
    };
}

statements! {
    INSERT = concat!(
        "INSERT INTO quarantine_entries (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ",
        "$13, $14, $15, $16, $17, $18, $19, $20, $21)"
    );
    FIND = select!("WHERE id = $1");
    LOCK = select!("WHERE id = $1/*pg  FOR UPDATE*/");
    LIST = select!("ORDER BY created_at DESC, id DESC");
    HELD_BEFORE = select!("WHERE node_id = $1 AND state = 'held' AND held_at <= $2 ORDER BY held_at, id LIMIT 100");
    SET_STATE =
        "UPDATE quarantine_entries SET state = $1, restore_path = $2, error_message = $3, held_at = $4, updated_at = $5 \
         WHERE id = $6";
    DELETE = "DELETE FROM quarantine_entries WHERE id = $1";
}

/// Stores an entry.
pub fn insert(tx: &mut Tx<'_>, entry: &QuarantineEntry) -> Result<(), StoreError> {
    let values = params![
        entry.id.as_str(),
        entry.node_id.as_str(),
        entry.state.as_str(),
        entry.kind.as_str(),
        &entry.original_path,
        &entry.held_path,
        &entry.restore_path,
        entry.repository_id.as_ref().map_or("", |id| id.as_str()),
        &entry.repository_path,
        &entry.registration,
        entry.device.cast_signed(),
        entry.inode.cast_signed(),
        entry.reason.as_str(),
        &entry.detail,
        &entry.requested_by,
        i64::try_from(entry.size_bytes).unwrap_or(i64::MAX),
        entry.job_id.as_str(),
        &entry.error_message,
        entry.created_at,
        entry.held_at,
        entry.updated_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Finds an entry.
pub fn find(tx: &mut Tx<'_>, id: &QuarantineId) -> Result<Option<QuarantineEntry>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds an entry; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &QuarantineId) -> Result<QuarantineEntry, StoreError> {
    find(tx, id)?.ok_or_else(|| absent(id))
}

/// Finds an entry and keeps other transactions from changing it until this one ends; fails when it is absent.
pub fn lock(tx: &mut Tx<'_>, id: &QuarantineId) -> Result<QuarantineEntry, StoreError> {
    tx.row(&LOCK, params![id.as_str()], TABLE, read)?.ok_or_else(|| absent(id))
}

/// Lists the entries of all servers, the newest first.
pub fn list(tx: &mut Tx<'_>) -> Result<Vec<QuarantineEntry>, StoreError> {
    tx.rows(&LIST, params![], TABLE, read)
}

/// Lists what came into the quarantine of a server up to an instant, at most 100.
pub fn held_before(
    tx: &mut Tx<'_>,
    node: &NodeId,
    instant: Timestamp,
) -> Result<Vec<QuarantineEntry>, StoreError> {
    tx.rows(&HELD_BEFORE, params![node.as_str(), instant], TABLE, read)
}

/// Stores the state of an entry, and what goes with it.
pub fn set_state(tx: &mut Tx<'_>, entry: &QuarantineEntry, now: Timestamp) -> Result<(), StoreError> {
    let QuarantineEntry { id, state, restore_path, error_message, held_at, .. } = entry;
    let values = params![state.as_str(), restore_path, error_message, *held_at, now, id.as_str()];
    tx.change(&SET_STATE, values, NOUN, id.as_str())
}

/// Brings an entry into a state, if there is one.
pub fn enter(
    tx: &mut Tx<'_>,
    id: &QuarantineId,
    state: QuarantineState,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(entry) = find(tx, id)? else { return Ok(()) };
    let held_at = if state == QuarantineState::Held { entry.held_at.or(Some(now)) } else { entry.held_at };
    set_state(tx, &QuarantineEntry { state, held_at, error_message: String::new(), ..entry }, now)
}

/// Deletes an entry; false when it was gone.
pub fn delete(tx: &mut Tx<'_>, id: &QuarantineId) -> Result<bool, StoreError> {
    Ok(tx.execute(&DELETE, params![id.as_str()])? > 0)
}

fn absent(id: &QuarantineId) -> StoreError {
    StoreError::NotFound { noun: NOUN, id: id.to_string() }
}

fn read(fields: &mut Fields<'_>) -> Result<QuarantineEntry, StoreError> {
    Ok(QuarantineEntry {
        id: fields.parse()?,
        node_id: fields.parse()?,
        state: fields.parse()?,
        kind: fields.parse()?,
        original_path: fields.text()?,
        held_path: fields.text()?,
        restore_path: fields.text()?,
        repository_id: fields.optional()?,
        repository_path: fields.text()?,
        registration: fields.text()?,
        device: fields.bits()?,
        inode: fields.bits()?,
        reason: fields.parse()?,
        detail: fields.text()?,
        requested_by: fields.text()?,
        size_bytes: fields.int()?.cast_unsigned(),
        job_id: fields.parse()?,
        error_message: fields.text()?,
        created_at: fields.instant()?,
        held_at: fields.optional_instant()?,
        updated_at: fields.instant()?,
    })
}
