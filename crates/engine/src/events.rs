//! The stream of events as the live connection reads it.

use freehold_domain::event::Event;
use freehold_store as store;
use freehold_store::StoreError;
use tokio::sync::watch;

use crate::{Engine, EngineError};

impl Engine {
    /// Watches the sequence number of the newest committed event.
    #[must_use]
    pub fn watch_events(&self) -> watch::Receiver<i64> {
        self.inner.store.last_event()
    }

    /// Reads at most `limit` events after `seq`, in order.
    pub async fn events_after(&self, seq: i64, limit: u32) -> Result<Vec<Event>, EngineError> {
        Ok(self.inner.store.read(move |tx| store::event::page_after(tx, seq, limit)).await?)
    }

    /// The sequence numbers of the oldest kept and of the newest event; both 0 when there is none.
    pub async fn event_range(&self) -> Result<(i64, i64), EngineError> {
        let range = self.inner.store.read(|tx| {
            Ok::<_, StoreError>((store::event::oldest(tx)?.unwrap_or(0), store::event::newest(tx)?))
        });
        Ok(range.await?)
    }

    /// The token that is cancelled when the server shuts down.
    #[must_use]
    pub fn shutdown_token(&self) -> tokio_util::sync::CancellationToken {
        self.inner.shutdown.clone()
    }
}
