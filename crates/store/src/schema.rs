//! The schema: one portable script, run whole on an empty database.
//!
//! A database is Freehold's when it has the table `freehold_meta` with a schema version. Any other database
//! that holds tables is left exactly as it was found.

use std::sync::Arc;

use crate::dialect::{Connection, Database, Mode};
use crate::statement::statements;
use crate::transaction::run_on;
use crate::value::params;
use crate::{DatabaseUrl, StoreError, Tx};

/// The version of the schema that this program writes.
pub(crate) const VERSION: i64 = 1;

/// The whole schema.
const SCRIPT: &str = include_str!("schema/freehold.sql");

/// How many tables of a foreign database are named in the refusal.
const TABLES_NAMED: usize = 5;

statements! {
    TABLES = "/*sqlite SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name*/\
        /*pg SELECT table_name::text FROM information_schema.tables \
        WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name*/";
    // Two servers may find the same database empty at once; SQLite's write transaction keeps the second out.
    LOCK = "SELECT 1/*pg  FROM (SELECT pg_advisory_xact_lock(7363217450)) AS held*/";
    FIND_VERSION = "SELECT key, value FROM freehold_meta WHERE key = 'schema_version'";
    INSERT_VERSION = "INSERT INTO freehold_meta (key, value) VALUES ('schema_version', $1)";
}

/// Opens the first connection to a database that has the schema from then on.
pub(crate) fn establish(database: &Arc<Database>, url: &DatabaseUrl) -> Result<Connection, StoreError> {
    if let Some(mut connection) = database.connect_to_inspect()? {
        run_on(&mut connection, Mode::Read, |tx| is_established(tx, url))?;
    }
    let mut connection = database.connect(Mode::Write)?;
    run_on(&mut connection, Mode::Write, |tx| {
        tx.rows(&LOCK, params![], "", |_| Ok(()))?;
        if !is_established(tx, url)? {
            tx.script(SCRIPT)?;
            tx.execute(&INSERT_VERSION, params![VERSION.to_string()])?;
        }
        Ok(())
    })?;
    Ok(connection)
}

/// Whether the schema is there; false for an empty database, an error for any other.
fn is_established(tx: &mut Tx<'_>, url: &DatabaseUrl) -> Result<bool, StoreError> {
    let tables = tx.rows(&TABLES, params![], "", |fields| fields.text())?;
    if tables.is_empty() {
        return Ok(false);
    }
    if !tables.iter().any(|table| table == "freehold_meta") {
        return Err(StoreError::NotFreehold { url: url.to_string(), tables: name_some(&tables) });
    }
    let version = tx.row(&FIND_VERSION, params![], "freehold_meta", |fields| {
        fields.text()?;
        fields.text()
    })?;
    let found = version.unwrap_or_default();
    if found == VERSION.to_string() {
        return Ok(true);
    }
    Err(StoreError::UnknownSchema { url: url.to_string(), found, known: VERSION })
}

fn name_some(tables: &[String]) -> String {
    let named = tables.iter().take(TABLES_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match tables.len().saturating_sub(TABLES_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
