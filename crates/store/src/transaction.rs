//! One transaction.

use freehold_domain::clock::Timestamp;
use freehold_domain::event::EventBody;

/// One transaction, handed to the closure of [`crate::Store::write`] or [`crate::Store::read`].
pub struct Tx<'c> {
    _c: &'c mut (),
}

impl Tx<'_> {
    /// Adds an event to the outbox; it is stored as the transaction commits.
    pub fn emit(&mut self, body: EventBody, at: Timestamp) {
        todo!()
    }
}
