//! Turns and messages: the numbers that Freehold keeps of them. Session by session, so that the memory needed
//! does not grow with the database.

use crate::upgrade::Progress;
use crate::value::params;
use crate::{StoreError, Tx};

/// How many sessions are numbered between two reports of progress.
const SESSIONS_PER_REPORT: usize = 50;

/// Ends every turn that is open: no agent of the old program runs any more.
pub(super) fn end_turns(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute_text(
        "UPDATE task_session_turns SET completed_at = updated_at, stop_reason = 'interrupted' \
         WHERE completed_at IS NULL",
        &[],
    )
    .map(drop)
}

/// Numbers the messages of every session in their order, and notes their lengths in UTF-16 code units.
pub(super) fn number_messages(tx: &mut Tx<'_>, progress: &dyn Fn(Progress)) -> Result<(), StoreError> {
    let sessions = tx.rows_of_text(
        "SELECT DISTINCT task_session_id FROM task_session_messages WHERE ordinal = 0",
        &[],
        "task_session_messages",
        |fields| fields.text(),
    )?;
    // The characters outside the basic plane, of four bytes in UTF-8, are two units; most texts hold none.
    let sql = "UPDATE task_session_messages SET ordinal = numbered.place, \
        content_units = length(content) + /*sqlite utf16_surplus(content)*/\
        /*pg CASE WHEN octet_length(content) = length(content) THEN 0 \
        ELSE length(regexp_replace(content, '[^\\U00010000-\\U0010FFFF]', '', 'g')) END*/ \
        FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY /*sqlite julianday(created_at), created_at, rowid*/\
        /*pg created_at, id*/) AS place FROM task_session_messages WHERE task_session_id = $1) AS numbered \
        WHERE numbered.id = task_session_messages.id AND task_session_messages.task_session_id = $1";
    let aside = if sessions.is_empty() { Vec::new() } else { set_indexes_aside(tx)? };
    for (done, session) in sessions.iter().enumerate() {
        tx.execute_text(sql, params![session])?;
        if done % SESSIONS_PER_REPORT == 0 {
            progress(Progress::Conversations { done, of: sessions.len() });
        }
    }
    progress(Progress::Conversations { done: sessions.len(), of: sessions.len() });
    aside.iter().try_for_each(|definition| tx.script(definition))
}

/// Drops the indexes of the messages for a while, all but one by session; gives their definitions. PostgreSQL
/// writes a changed row into every index anew, which takes far longer than making them again; SQLite does not.
fn set_indexes_aside(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    let indexes = tx.rows_of_text(
        "/*sqlite SELECT '', '' WHERE 1 = 0*/\
         /*pg SELECT i.indexname::text, i.indexdef FROM pg_indexes i WHERE i.schemaname = current_schema() \
         AND i.tablename = 'task_session_messages' AND NOT EXISTS (SELECT 1 FROM pg_constraint con \
         WHERE con.connamespace = current_schema()::regnamespace AND con.conname = i.indexname) \
         ORDER BY i.indexname*/",
        &[],
        "",
        |fields| Ok((fields.text()?, fields.text()?)),
    )?;
    let by_session = indexes.iter().position(|(_, definition)| definition.contains("(task_session_id"));
    let Some(kept) = by_session else { return Ok(Vec::new()) };
    let mut definitions = Vec::new();
    for (place, (name, definition)) in indexes.into_iter().enumerate() {
        if place != kept {
            tx.script(&format!("DROP INDEX \"{name}\""))?;
            definitions.push(definition);
        }
    }
    Ok(definitions)
}
