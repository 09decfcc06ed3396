//! The hub: each event is read and serialised once, for all clients.
//!
//! It keeps a bounded ring of the newest frames. A client that is further behind reads from the database at
//! its own pace, so a slow client holds up nobody and loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use freehold_api::live::LiveFrame;
use freehold_domain::event::Event;
use freehold_engine::{Engine, EngineError};
use tokio::sync::Mutex;

use crate::wire;

/// How many frames the ring keeps.
const RING: usize = 4_096;
/// How many events are read at once.
const PAGE: u32 = 500;

/// One event, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) seq: i64,
    pub(crate) text: Utf8Bytes,
}

/// Serialises events once for all clients.
pub(crate) struct Hub {
    engine: Engine,
    ring: Mutex<VecDeque<Frame>>,
}

impl Hub {
    pub(crate) fn new(engine: Engine) -> Arc<Self> {
        Arc::new(Self { engine, ring: Mutex::new(VecDeque::new()) })
    }

    /// The frames after `seen`, in order; empty when there is none. Call it again until it is empty.
    pub(crate) async fn frames_after(&self, seen: i64) -> Result<Vec<Frame>, EngineError> {
        let newest = *self.engine.watch_events().borrow();
        if newest <= seen {
            return Ok(Vec::new());
        }
        let mut ring = self.ring.lock().await;
        let last = ring.back().map_or(seen, |frame| frame.seq);
        if last < newest && last >= seen {
            self.fill(&mut ring, last).await?;
        }
        let begins_in_ring = ring.front().is_some_and(|first| first.seq <= seen + 1);
        if begins_in_ring {
            let start = ring.partition_point(|frame| frame.seq <= seen);
            return Ok(ring.iter().skip(start).take(PAGE as usize).cloned().collect());
        }
        drop(ring);
        let events = self.engine.events_after(seen, PAGE).await?;
        Ok(events.into_iter().map(frame).collect())
    }

    /// Reads the events after `last` into the ring; its numbers stay without a hole.
    async fn fill(&self, ring: &mut VecDeque<Frame>, last: i64) -> Result<(), EngineError> {
        for event in self.engine.events_after(last, PAGE).await? {
            ring.push_back(frame(event));
        }
        while ring.len() > RING {
            ring.pop_front();
        }
        Ok(())
    }
}

fn frame(event: Event) -> Frame {
    let seq = event.seq;
    let text = serde_json::to_string(&LiveFrame::Event(wire::event(event))).unwrap_or_default();
    Frame { seq, text: text.into() }
}
