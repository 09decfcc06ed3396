//! Turns and messages.

mod inherited;

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{MessageId, SessionId, TurnId};
use freehold_domain::message::{Message, Permission, Turn};

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TURNS: &str = "task_session_turns";
const MESSAGES: &str = "task_session_messages";

macro_rules! turn_columns {
    () => {
        "id, task_session_id, task_id, started_at, completed_at, stop_reason"
    };
}

macro_rules! columns {
    () => {
        "id, task_session_id, task_id, turn_id, ordinal, author_type, type, content, metadata, created_at, updated_at"
    };
}

/// What is read of a message; rows of older databases may leave the task to the session.
macro_rules! read_columns {
    () => {
        "id, task_session_id, COALESCE(NULLIF(task_id, ''), (SELECT s.task_id FROM task_sessions s \
         WHERE s.id = task_session_id)) AS task_id, turn_id, ordinal, author_type, type, content, metadata, \
         created_at, updated_at"
    };
}

statements! {
    INSERT_TURN = concat!(
        "INSERT INTO task_session_turns (", turn_columns!(), ", created_at, updated_at) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    );
    FINISH_TURN =
        "UPDATE task_session_turns SET completed_at = $1, stop_reason = $2, updated_at = $3 \
         WHERE id = $4 AND completed_at IS NULL";
    FIND_TURN = concat!("SELECT ", turn_columns!(), " FROM task_session_turns WHERE id = $1");
    OPEN_TURNS = concat!(
        "SELECT ", turn_columns!(), " FROM task_session_turns ",
        "WHERE task_session_id = $1 AND completed_at IS NULL ORDER BY started_at, id"
    );
    LOCK_SESSION = "SELECT id FROM task_sessions WHERE id = $1/*pg  FOR UPDATE*/";
    NEXT_ORDINAL =
        "SELECT COALESCE(MAX(ordinal), 0) + 1 FROM task_session_messages WHERE task_session_id = $1";
    INSERT = concat!(
        "INSERT INTO task_session_messages (", columns!(), ", content_units) ",
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    APPEND_TEXT =
        "UPDATE task_session_messages SET content = content || $1, content_units = content_units + $2, \
         updated_at = $3 WHERE id = $4 RETURNING id, content_units";
    REPLACE =
        concat!(
            "UPDATE task_session_messages SET content = $1, content_units = $2, metadata = $3, updated_at = $4 ",
            "WHERE id = $5 RETURNING ", read_columns!()
        );
    FIND = concat!("SELECT ", read_columns!(), " FROM task_session_messages WHERE id = $1");
    PAGE_BEFORE = concat!(
        "SELECT ", read_columns!(), " FROM task_session_messages ",
        "WHERE task_session_id = $1 AND ordinal < $2 ORDER BY ordinal DESC LIMIT $3"
    );
    PERMISSIONS = concat!(
        "SELECT ", read_columns!(), " FROM task_session_messages ",
        "WHERE task_session_id = $1 AND type = 'permission_request' ORDER BY ordinal"
    );
}

/// Stores a turn.
pub fn insert_turn(tx: &mut Tx<'_>, turn: &Turn) -> Result<(), StoreError> {
    let Turn { id, session_id, task_id, started_at, completed_at, stop_reason } = turn;
    let values = params![
        id.as_str(),
        session_id.as_str(),
        task_id.as_str(),
        *started_at,
        *completed_at,
        stop_reason,
        *started_at,
        completed_at.unwrap_or(*started_at),
    ];
    tx.execute(&INSERT_TURN, values).map(drop)
}

/// Ends a turn, unless it ended before; false when it had, or when it is gone.
pub fn finish_turn(
    tx: &mut Tx<'_>,
    id: &TurnId,
    at: Timestamp,
    stop_reason: &str,
) -> Result<bool, StoreError> {
    Ok(tx.execute(&FINISH_TURN, params![at, stop_reason, at, id.as_str()])? > 0)
}

/// Finds a turn.
pub fn find_turn(tx: &mut Tx<'_>, id: &TurnId) -> Result<Option<Turn>, StoreError> {
    tx.row(&FIND_TURN, params![id.as_str()], TURNS, read_turn)
}

/// Lists a session's turns that have not ended, oldest first.
pub fn open_turns_of(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<Turn>, StoreError> {
    tx.rows(&OPEN_TURNS, params![session.as_str()], TURNS, read_turn)
}

/// Stores a message at the end of its session; its `ordinal` is ignored and assigned.
pub fn append_message(tx: &mut Tx<'_>, message: &Message) -> Result<Message, StoreError> {
    let session = message.session_id.as_str();
    if tx.row(&LOCK_SESSION, params![session], "task_sessions", |fields| fields.text())?.is_none() {
        return Err(StoreError::NotFound { noun: "session", id: session.to_owned() });
    }
    let ordinal = tx.row(&NEXT_ORDINAL, params![session], MESSAGES, |fields| fields.int())?.unwrap_or(1);
    let values = params![
        message.id.as_str(),
        session,
        message.task_id.as_str(),
        message.turn_id.as_str(),
        ordinal,
        message.author.as_str(),
        message.kind.as_str(),
        &message.content,
        message.metadata.to_string(),
        message.created_at,
        message.updated_at,
        utf16_units(&message.content),
    ];
    tx.execute(&INSERT, values)?;
    Ok(Message { ordinal, ..message.clone() })
}

/// Adds text to the end of a message; gives the length before, in UTF-16 code units.
pub fn append_text(tx: &mut Tx<'_>, id: &MessageId, text: &str, now: Timestamp) -> Result<u64, StoreError> {
    let added = utf16_units(text);
    let length = tx.row(&APPEND_TEXT, params![text, added, now, id.as_str()], MESSAGES, |fields| {
        fields.text()?;
        fields.int()
    })?;
    let length = length.ok_or_else(|| absent(id))?;
    Ok((length - added).unsigned_abs())
}

/// Replaces a message's text and metadata; gives the message as it is now.
pub fn replace(
    tx: &mut Tx<'_>,
    id: &MessageId,
    content: &str,
    metadata: &serde_json::Value,
    now: Timestamp,
) -> Result<Message, StoreError> {
    let values = params![content, utf16_units(content), metadata.to_string(), now, id.as_str()];
    tx.row(&REPLACE, values, MESSAGES, read)?.ok_or_else(|| absent(id))
}

fn absent(id: &MessageId) -> StoreError {
    StoreError::NotFound { noun: "message", id: id.to_string() }
}

/// The length of a text in UTF-16 code units, the measure of browsers.
fn utf16_units(text: &str) -> i64 {
    i64::try_from(text.encode_utf16().count()).unwrap_or(i64::MAX)
}

/// Finds a message.
pub fn find(tx: &mut Tx<'_>, id: &MessageId) -> Result<Option<Message>, StoreError> {
    tx.row(&FIND, params![id.as_str()], MESSAGES, read)
}

/// Lists the last `limit` messages of a session before an ordinal, in ascending order.
pub fn page_before(
    tx: &mut Tx<'_>,
    session: &SessionId,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let values = params![session.as_str(), before.unwrap_or(i64::MAX), i64::from(limit)];
    let mut messages = tx.rows(&PAGE_BEFORE, values, MESSAGES, read)?;
    messages.reverse();
    Ok(messages)
}

/// Finds the message of a permission request, the newest when an agent used the id twice.
pub fn find_permission(
    tx: &mut Tx<'_>,
    session: &SessionId,
    request_id: &str,
) -> Result<Option<Message>, StoreError> {
    let asked = permissions(tx, session)?;
    Ok(asked.into_iter().rfind(|(_, asked)| asked.request_id == request_id).map(|(message, _)| message))
}

/// Lists the permission requests of a session that wait for an answer, in order.
pub fn pending_permissions(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<Message>, StoreError> {
    let asked = permissions(tx, session)?;
    Ok(asked.into_iter().filter(|(_, asked)| asked.status == "pending").map(|(message, _)| message).collect())
}

/// Lists a session's permission requests.
fn permissions(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<(Message, Permission)>, StoreError> {
    let messages = tx.rows(&PERMISSIONS, params![session.as_str()], MESSAGES, read)?;
    let with_request = |message: Message| {
        let asked = serde_json::from_value(message.metadata.clone()).ok()?;
        Some((message, asked))
    };
    Ok(messages.into_iter().filter_map(with_request).collect())
}

fn read_turn(fields: &mut Fields<'_>) -> Result<Turn, StoreError> {
    Ok(Turn {
        id: fields.parse()?,
        session_id: fields.parse()?,
        task_id: fields.parse()?,
        started_at: fields.instant()?,
        completed_at: fields.optional_instant()?,
        stop_reason: fields.text()?,
    })
}

fn read(fields: &mut Fields<'_>) -> Result<Message, StoreError> {
    let (id, session_id) = (fields.parse()?, fields.parse()?);
    let (task_id, turn_id) = (fields.parse()?, fields.parse()?);
    let ordinal = fields.int()?;
    let (author, word, content) = (fields.text()?, fields.text()?, fields.text()?);
    let (kind, metadata) = inherited::kind_and_metadata(&word, &content, &fields.text()?);
    Ok(Message {
        id,
        session_id,
        task_id,
        turn_id,
        ordinal,
        author: inherited::author(&author),
        kind,
        content,
        metadata,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
