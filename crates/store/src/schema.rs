//! The schema: one portable script, run whole on an empty database.
//!
//! A database is Freehold's when it has the table `freehold_meta` with a schema version. Any other database
//! that holds tables is left exactly as it was found; the upgrade looks at those it knows first.

pub(crate) mod script;

use std::sync::Arc;

use crate::dialect::{Connection, Database, Mode};
use crate::statement::statements;
use crate::transaction::run_on;
use crate::upgrade::{self, Shape};
use crate::value::params;
use crate::{DatabaseUrl, StoreError, Tx};

/// The version of the schema that this program writes. The first one was of builds before any release, which kept
/// other tables.
pub(crate) const VERSION: i64 = 2;

/// The whole schema.
pub(crate) const SCRIPT: &str = include_str!("schema/freehold.sql");

/// How many tables of a foreign database are named in the refusal.
const TABLES_NAMED: usize = 5;

statements! {
    // Two servers may find the same database empty at once; SQLite's write transaction keeps the second out.
    LOCK = "SELECT 1/*pg  FROM (SELECT pg_advisory_xact_lock(7363217450)) AS held*/";
    FIND_META = "SELECT key, value FROM freehold_meta WHERE key = $1";
    SET_META = "INSERT INTO freehold_meta (key, value) VALUES ($1, $2) \
                ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

/// Opens the first connection to a database that has the schema from then on.
pub(crate) fn establish(database: &Arc<Database>, url: &DatabaseUrl) -> Result<Connection, StoreError> {
    if let Some(mut connection) = database.connect_to_inspect()? {
        run_on(&mut connection, Mode::Read, |tx| is_established(tx, url))?;
    }
    let mut connection = database.connect(Mode::Write)?;
    run_on(&mut connection, Mode::Write, |tx| {
        keep_others_out(tx)?;
        if !is_established(tx, url)? {
            tx.script(SCRIPT)?;
            write_version(tx, None)?;
        }
        Ok(())
    })?;
    Ok(connection)
}

/// Keeps other servers out until the transaction ends; the first waits for nothing, the others for it.
pub(crate) fn keep_others_out(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.rows(&LOCK, params![], "", |_| Ok(())).map(drop)
}

/// Whether the schema is there; false for an empty database, an error for any other.
fn is_established(tx: &mut Tx<'_>, url: &DatabaseUrl) -> Result<bool, StoreError> {
    match upgrade::shape_of(tx, url)? {
        Shape::Fresh => Ok(false),
        Shape::Final => Ok(true),
        Shape::Legacy | Shape::Hybrid | Shape::Normalised => {
            let plan = Box::new(upgrade::plan_of(tx, url)?);
            Err(StoreError::UpgradeNeeded { url: url.to_string(), plan })
        }
    }
}

/// Records the version of the schema, the program that wrote it, and the snapshot from before its upgrade.
pub(crate) fn write_version(tx: &mut Tx<'_>, snapshot: Option<&str>) -> Result<(), StoreError> {
    tx.execute(&SET_META, params!["schema_version", VERSION.to_string()])?;
    tx.execute(&SET_META, params!["written_by", env!("CARGO_PKG_VERSION")])?;
    match snapshot {
        Some(path) => tx.execute(&SET_META, params!["snapshot", path]).map(drop),
        None => Ok(()),
    }
}

/// Fails unless the schema has the version of this program.
pub(crate) fn check_version(tx: &mut Tx<'_>, url: &DatabaseUrl) -> Result<(), StoreError> {
    let found = meta(tx, "schema_version")?;
    if found == VERSION.to_string() {
        return Ok(());
    }
    let (mut writer, snapshot) = (meta(tx, "written_by")?, meta(tx, "snapshot")?);
    if writer.is_empty() {
        writer = "before its first release".to_owned();
    }
    Err(StoreError::UnknownSchema { url: url.to_string(), found, known: VERSION, writer, snapshot })
}

fn meta(tx: &mut Tx<'_>, key: &str) -> Result<String, StoreError> {
    let value = tx.row(&FIND_META, params![key], "freehold_meta", |fields| {
        fields.text()?;
        fields.text()
    })?;
    Ok(value.unwrap_or_default())
}

/// The refusal of a database that belongs to another program.
pub(crate) fn not_freehold(url: &DatabaseUrl, tables: &[String]) -> StoreError {
    StoreError::NotFreehold { url: url.to_string(), tables: name_some(tables) }
}

fn name_some(tables: &[String]) -> String {
    let named = tables.iter().take(TABLES_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match tables.len().saturating_sub(TABLES_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
