//! Times that Freehold sorts and compares: on SQLite they are texts, which sort as their instants do only in one
//! shape.

use freehold_domain::clock::Timestamp;

use crate::value::Value;
use crate::{StoreError, Tx};

/// The columns that Freehold reads, by table; of the cleanup jobs none, as those stay as they are.
const COLUMNS: &[(&str, &[&str])] = &[
    ("workspaces", &["created_at", "updated_at"]),
    ("workflows", &["created_at", "updated_at"]),
    ("workflow_steps", &["created_at", "updated_at"]),
    ("repositories", &["created_at", "updated_at", "deleted_at"]),
    ("agent_profiles", &["created_at", "updated_at", "deleted_at"]),
    ("executors", &["created_at", "updated_at", "deleted_at"]),
    ("tasks", &["archived_at", "created_at", "updated_at"]),
    ("task_repositories", &["created_at", "updated_at"]),
    ("task_sessions", &["started_at", "completed_at", "updated_at"]),
    ("task_session_turns", &["started_at", "completed_at", "created_at", "updated_at"]),
    ("task_session_messages", &["created_at", "updated_at"]),
];

/// Rewrites every time of another shape; one that cannot be read becomes the epoch, so that a row that was
/// archived or deleted stays so.
pub(super) fn mend(tx: &mut Tx<'_>, notes: &mut Vec<String>) -> Result<(), StoreError> {
    for (table, columns) in COLUMNS {
        for column in *columns {
            mend_column(tx, table, column, notes)?;
        }
    }
    Ok(())
}

fn mend_column(
    tx: &mut Tx<'_>,
    table: &'static str,
    column: &str,
    notes: &mut Vec<String>,
) -> Result<(), StoreError> {
    let odd = tx.rows_of_text(
        &format!(
            "SELECT id, /*sqlite CAST({column} AS TEXT), {column} FROM {table} WHERE {column} IS NOT NULL AND \
             (typeof({column}) <> 'text' OR {column} NOT GLOB \
             '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]*+00:00')*/\
             /*pg '', {column} FROM {table} WHERE 1 = 0*/"
        ),
        &[],
        table,
        |fields| Ok((fields.text()?, fields.text()?, fields.moment()?)),
    )?;
    for (id, text, moment) in odd {
        let value = match moment {
            _ if text.is_empty() => Value::Null,
            Some(_) => Value::Instant(super::super::evidence::timestamp(moment)),
            None => {
                notes.push(format!("{table}.{column} of {id} held {text:?}, which is no time"));
                Value::Instant(Timestamp::from_micros(0))
            }
        };
        let sql = format!("UPDATE {table} SET {column} = $1 WHERE id = $2");
        tx.execute_text(&sql, &[value, Value::from(&id)])?;
    }
    Ok(())
}
