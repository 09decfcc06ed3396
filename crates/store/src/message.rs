//! Turns and messages.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{MessageId, SessionId, TurnId};
use freehold_domain::message::{Message, Turn};

use crate::{StoreError, Tx};

/// Stores a turn.
pub fn insert_turn(tx: &mut Tx<'_>, turn: &Turn) -> Result<(), StoreError> {
    todo!()
}
/// Ends a turn, unless it ended before; false when it had.
pub fn finish_turn(
    tx: &mut Tx<'_>,
    id: &TurnId,
    at: Timestamp,
    stop_reason: &str,
) -> Result<bool, StoreError> {
    todo!()
}
/// Finds a turn.
pub fn find_turn(tx: &mut Tx<'_>, id: &TurnId) -> Result<Option<Turn>, StoreError> {
    todo!()
}
/// Lists a session's turns that have not ended, oldest first.
pub fn open_turns_of(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<Turn>, StoreError> {
    todo!()
}
/// Stores a message at the end of its session; its `ordinal` is ignored and assigned.
pub fn append_message(tx: &mut Tx<'_>, message: &Message) -> Result<Message, StoreError> {
    todo!()
}
/// Adds text to the end of a message; gives the length before, in UTF-16 code units.
pub fn append_text(tx: &mut Tx<'_>, id: &MessageId, text: &str, now: Timestamp) -> Result<u64, StoreError> {
    todo!()
}
/// Replaces a message's text and metadata; gives the message as it is now.
pub fn replace(
    tx: &mut Tx<'_>,
    id: &MessageId,
    content: &str,
    metadata: &serde_json::Value,
    now: Timestamp,
) -> Result<Message, StoreError> {
    todo!()
}
/// Finds a message.
pub fn find(tx: &mut Tx<'_>, id: &MessageId) -> Result<Option<Message>, StoreError> {
    todo!()
}
/// Lists the last `limit` messages of a session before an ordinal, in ascending order.
pub fn page_before(
    tx: &mut Tx<'_>,
    session: &SessionId,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    todo!()
}
/// Finds the message of a permission request, the newest when an agent used the id twice.
pub fn find_permission(
    tx: &mut Tx<'_>,
    session: &SessionId,
    request_id: &str,
) -> Result<Option<Message>, StoreError> {
    todo!()
}
/// Lists the permission requests of a session that wait for an answer, in order.
pub fn pending_permissions(tx: &mut Tx<'_>, session: &SessionId) -> Result<Vec<Message>, StoreError> {
    todo!()
}
