//! The rest of a database: what Freehold keeps beside ownership is added, and rows that Freehold could not read
//! are mended. Nothing is dropped: tables and columns that Freehold does not use stay as they are.

mod board;
mod conversation;
mod instants;

use freehold_domain::clock::Timestamp;
use freehold_domain::session::SessionState;
use freehold_domain::task::TaskState;

use super::catalog::Catalog;
use super::{Progress, boundary};
use crate::schema::script::{Script, Table};
use crate::value::params;
use crate::{StoreError, Tx};

/// The tables that the swap makes itself.
const SWAPPED: [&str; 2] = ["task_environments", "task_environment_repos"];

/// The tables that the swap writes into.
pub(super) const NEEDED_BY_SWAP: [&str; 3] = ["freehold_meta", "unowned_worktrees", "upgrade_decisions"];

/// Adds one table, or the columns that it lacks.
pub(super) fn complete_table(tx: &mut Tx<'_>, catalog: &Catalog, table: &Table) -> Result<(), StoreError> {
    if !catalog.has_table(&table.name) {
        tx.script(&table.sql)?;
        return table.rows.iter().try_for_each(|row| tx.script(row));
    }
    for column in &table.columns {
        let (table, name, definition) = (&table.name, &column.name, &column.definition);
        match catalog.kind(table, name) {
            None => tx.script(&format!("ALTER TABLE {table} ADD COLUMN {name} {definition}"))?,
            // SQLite's whole numbers have one width.
            Some("integer") if definition.starts_with("BIGINT") => {
                tx.script(&format!("/*pg ALTER TABLE {table} ALTER COLUMN {name} TYPE BIGINT*/"))?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Adds everything but ownership, mends rows, and makes the indexes at the end.
pub(super) fn adopt(
    tx: &mut Tx<'_>,
    script: &Script,
    catalog: &Catalog,
    progress: &dyn Fn(Progress),
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    boundary("upgrade.adopt")?;
    let is_rest = |table: &&Table| {
        !SWAPPED.contains(&table.name.as_str()) && !NEEDED_BY_SWAP.contains(&table.name.as_str())
    };
    for table in script.tables.iter().filter(is_rest) {
        complete_table(tx, catalog, table)?;
    }
    let mut notes = Vec::new();
    tx.execute_text("DELETE FROM task_resource_cleanup_jobs WHERE trigger = 'session_delete'", &[])?;
    instants::mend(tx, &mut notes)?;
    board::place_tasks(tx, now, &mut notes)?;
    mend_states(tx, &mut notes)?;
    choose_primary_sessions(tx)?;
    name_sessions(tx)?;
    if catalog.has_table("executors_running") && catalog.has_column("executors_running", "resume_token") {
        take_resume_tokens(tx)?;
    }
    boundary("upgrade.messages")?;
    conversation::end_turns(tx)?;
    conversation::number_messages(tx, progress)?;
    progress(Progress::Indexes);
    boundary("upgrade.indexes")?;
    for index in &script.indexes {
        if !catalog.has_index(&index.name) && !SWAPPED.contains(&index.table.as_str()) {
            tx.script(&index.sql)?;
        }
    }
    Ok(notes)
}

/// Gives a word that Freehold knows to every task and session that holds none of them.
fn mend_states(tx: &mut Tx<'_>, notes: &mut Vec<String>) -> Result<(), StoreError> {
    let read = |sql: &str, tx: &mut Tx<'_>| {
        tx.rows_of_text(sql, &[], "", |fields| Ok((fields.text()?, fields.text()?)))
    };
    for (id, state) in read("SELECT id, state FROM tasks", tx)? {
        if state.parse::<TaskState>().is_err() {
            let message = format!("its state was {state:?} before the upgrade");
            let values = params![TaskState::Todo.as_str(), &message, &id];
            tx.execute_text("UPDATE tasks SET state = $1, error_message = $2 WHERE id = $3", values)?;
            notes.push(format!("task {id}: {message}"));
        }
    }
    for (id, state) in read(
        "SELECT id, state FROM task_sessions WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.id = task_id)",
        tx,
    )? {
        if state.parse::<SessionState>().is_err() {
            let message = format!("its state was {state:?} before the upgrade");
            let values = params![SessionState::Failed.as_str(), &message, &id];
            tx.execute_text("UPDATE task_sessions SET state = $1, error_message = $2 WHERE id = $3", values)?;
            notes.push(format!("session {id}: {message}"));
        }
    }
    Ok(())
}

/// Leaves one primary session to every task that has sessions: the newest of those marked, else the newest.
/// Sessions whose task is gone are left alone here and below, as PostgreSQL would check that reference.
fn choose_primary_sessions(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_text(
        "UPDATE task_sessions SET is_primary = 0 WHERE is_primary <> 0 \
         AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = task_sessions.task_id) AND id NOT IN (\
         SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY task_id ORDER BY updated_at DESC, id DESC) AS place \
         FROM task_sessions WHERE is_primary <> 0) ranked WHERE place = 1)",
        &[],
    )?;
    tx.execute_text(
        "UPDATE task_sessions SET is_primary = 1 WHERE id IN (\
         SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY task_id ORDER BY updated_at DESC, id DESC) AS place, \
         MAX(COALESCE(is_primary, 0)) OVER (PARTITION BY task_id) AS has_primary FROM task_sessions) ranked \
         WHERE place = 1 AND has_primary = 0) \
         AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = task_sessions.task_id)",
        &[],
    )
    .map(drop)
}

/// Gives a name to every session without one: its number among the sessions of its task, as a new one gets.
fn name_sessions(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let nameless = tx.rows_of_text(
        "SELECT id, place FROM (SELECT id, name, ROW_NUMBER() OVER (PARTITION BY task_id ORDER BY started_at, id) \
         AS place FROM task_sessions s WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.id = s.task_id)) numbered \
         WHERE COALESCE(name, '') = ''",
        &[],
        "task_sessions",
        |fields| Ok((fields.text()?, fields.int()?)),
    )?;
    for (id, place) in nameless {
        let name = format!("Session {place}");
        tx.execute_text("UPDATE task_sessions SET name = $1 WHERE id = $2", params![&name, &id])?;
    }
    Ok(())
}

/// Takes over the agents' own ids of conversations, so that they can be resumed.
fn take_resume_tokens(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_text(
        "UPDATE task_sessions SET acp_session_id = COALESCE((SELECT r.resume_token FROM executors_running r \
         WHERE r.session_id = task_sessions.id), '') WHERE acp_session_id = '' \
         AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = task_sessions.task_id) \
         AND EXISTS (SELECT 1 FROM executors_running r WHERE r.session_id = task_sessions.id)",
        &[],
    )
    .map(drop)
}
