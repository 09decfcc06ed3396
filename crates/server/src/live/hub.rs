//! The hub: each event is read and serialised once, for all clients.
//!
//! A client that is further behind than the ring reaches reads from the database at its own pace, so a slow
//! client holds up nobody and loses nothing. Frames are handed out without a hole, or not at all.

use axum::extract::ws::Utf8Bytes;
use freehold_api::live::LiveFrame;
use freehold_domain::event::Event;
use freehold_engine::{Engine, EngineError};
use tokio::sync::Mutex;

use super::ring::{Frame, MAX_FRAMES, Ring};
use crate::wire;

/// How many events are read, and handed out, at once.
const PAGE: u32 = 200;

/// Says why no frames can be handed out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// The events could not be read.
    #[error("events after {seen} cannot be read: {source}")]
    Read {
        /// The event before them.
        seen: i64,
        /// Why.
        source: EngineError,
    },
    /// The events are not kept any more.
    #[error("events after {seen} are not kept any more")]
    Gone {
        /// The event before them.
        seen: i64,
    },
    /// An event could not be written as JSON.
    #[error("event {seq} cannot be written: {source}")]
    Write {
        /// The event.
        seq: i64,
        /// Why.
        source: serde_json::Error,
    },
}

/// Serialises events once for all clients.
pub(crate) struct Hub {
    engine: Engine,
    ring: Mutex<Ring>,
}

impl Hub {
    pub(crate) fn new(engine: Engine) -> Self {
        let newest = *engine.watch_events().borrow();
        Self { engine, ring: Mutex::new(Ring::after(newest)) }
    }

    /// The next frames after `seen`, in order; empty when there is none yet.
    pub(crate) async fn frames_after(&self, seen: i64) -> Result<Vec<Frame>, HubError> {
        let newest = *self.engine.watch_events().borrow();
        if newest <= seen {
            return Ok(Vec::new());
        }
        let page = {
            // Whoever comes first reads for all; the others wait here and find the frames.
            let mut ring = self.ring.lock().await;
            self.fill(&mut ring, newest).await?;
            ring.page(seen, PAGE as usize)
        };
        match page {
            Some(frames) => Ok(frames),
            None => self.read(seen).await,
        }
    }

    /// Reads what is new into the ring; what would fall out of it at once is left to those who need it.
    async fn fill(&self, ring: &mut Ring, newest: i64) -> Result<(), HubError> {
        let reach = i64::try_from(MAX_FRAMES).unwrap_or(i64::MAX);
        if newest - ring.last() > reach {
            *ring = Ring::after(newest - reach);
        }
        while ring.last() < newest {
            self.read(ring.last()).await?.into_iter().for_each(|frame| ring.push(frame));
        }
        Ok(())
    }

    /// Reads a page that is known to exist.
    async fn read(&self, seen: i64) -> Result<Vec<Frame>, HubError> {
        let events = self.engine.events_after(seen, PAGE).await;
        let events = events.map_err(|source| HubError::Read { seen, source })?;
        if events.first().is_none_or(|first| first.seq != seen + 1) {
            return Err(HubError::Gone { seen });
        }
        events.into_iter().map(frame).collect()
    }
}

fn frame(event: Event) -> Result<Frame, HubError> {
    let seq = event.seq;
    match serde_json::to_string(&LiveFrame::Event(wire::event(event))) {
        Ok(text) => Ok(Frame { seq, text: Utf8Bytes::from(text) }),
        Err(source) => Err(HubError::Write { seq, source }),
    }
}
