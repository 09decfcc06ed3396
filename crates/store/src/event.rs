//! The outbox: events in the order of commits.

use freehold_domain::event::Event;

use crate::{StoreError, Tx};

/// Lists at most `limit` events after a sequence number, in order.
pub fn page_after(tx: &mut Tx<'_>, seq: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
    todo!()
}
/// The newest sequence number; 0 before the first event.
pub fn newest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    todo!()
}
/// The oldest sequence number still stored; none when no event is.
pub fn oldest(tx: &mut Tx<'_>) -> Result<Option<i64>, StoreError> {
    todo!()
}
