//! The outbox: events in the order of commits.

use freehold_domain::clock::Timestamp;
use freehold_domain::event::{Event, EventBody};
use tokio::sync::watch;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::{Value, params};
use crate::{StoreError, Tx};

const TABLE: &str = "events";

statements! {
    // The row stays locked until the commit. On PostgreSQL the same statement tells other servers.
    ADVANCE = "UPDATE event_sequence SET last_seq = last_seq + $1 \
        RETURNING last_seq/*pg , pg_notify('freehold_events', last_seq::text)*/";
    INSERT = "INSERT INTO events (seq, created_at, body) VALUES ($1, $2, $3)";
    PAGE = "SELECT seq, created_at, body FROM events WHERE seq > $1 ORDER BY seq LIMIT $2";
    NEWEST = "SELECT last_seq FROM event_sequence";
    OLDEST = "SELECT seq FROM events ORDER BY seq LIMIT 1";
}

/// Lists at most `limit` events after a sequence number, in order.
pub fn page_after(tx: &mut Tx<'_>, seq: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
    tx.rows(&PAGE, params![seq, i64::from(limit)], TABLE, read)
}

/// The newest sequence number; 0 before the first event.
pub fn newest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(tx.row(&NEWEST, params![], "event_sequence", |fields| fields.int())?.unwrap_or_default())
}

/// The oldest sequence number still stored; none when no event is.
pub fn oldest(tx: &mut Tx<'_>) -> Result<Option<i64>, StoreError> {
    tx.row(&OLDEST, params![], TABLE, |fields| fields.int())
}

/// Stores events with the next numbers; gives the last one.
pub(crate) fn store(tx: &mut Tx<'_>, events: &[(EventBody, Timestamp)]) -> Result<i64, StoreError> {
    let bodies = events.iter().map(|(body, _)| serde_json::to_string(body)).collect::<Result<Vec<_>, _>>();
    let bodies = bodies.map_err(|error| StoreError::database("write an event as JSON", error))?;
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let newest =
        tx.row(&ADVANCE, params![count], "event_sequence", |fields| fields.int())?.unwrap_or_default();
    let numbered = (newest - count + 1..).zip(events).zip(&bodies);
    let rows: Vec<Vec<Value<'_>>> =
        numbered.map(|((seq, (_, at)), body)| params![seq, *at, body].to_vec()).collect();
    tx.execute_many(&INSERT, &rows)?;
    Ok(newest)
}

/// Tells those who wait for events that the newest committed one has this number, unless they know more.
pub(crate) fn announce(last_event: &watch::Sender<i64>, seq: i64) {
    last_event.send_if_modified(|known| {
        let newer = seq > *known;
        *known = seq.max(*known);
        newer
    });
}

fn read(fields: &mut Fields<'_>) -> Result<Event, StoreError> {
    let seq = fields.int()?;
    let created_at = fields.instant()?;
    let body = fields.text()?;
    let body = serde_json::from_str(&body).map_err(|_| fields.reject_last(&body))?;
    Ok(Event { seq, created_at, body })
}
