//! The live connection: every event once, in order, from where the client left off.

pub(crate) mod hub;

use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use freehold_api::live::{LiveFrame, LiveHello};
use tokio::sync::watch;

use crate::Context;

/// How long a client may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// How long nothing may be sent.
const PING_EVERY: Duration = Duration::from_secs(15);
/// How long a client may take to accept a frame before it is given up; it resumes when it comes back.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// The largest frame of a client, in bytes; clients only say hello.
const MAX_CLIENT_FRAME: usize = 16 * 1024;

/// Upgrades to the live connection. The token comes in the first frame, because browsers cannot set headers.
#[utoipa::path(get, path = "/live", tag = "live", security(()),
    responses((status = 101, description = "a WebSocket: LiveHello, then LiveFrame after LiveFrame")))]
pub(crate) async fn connect(State(context): State<Context>, upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.max_message_size(MAX_CLIENT_FRAME).max_frame_size(MAX_CLIENT_FRAME);
    upgrade.on_upgrade(move |socket| async move {
        let mut client = Client { socket, context };
        if client.run().await.is_none() {
            tracing::debug!("a live connection ended");
        }
    })
}

struct Client {
    socket: WebSocket,
    context: Context,
}

impl Client {
    /// Serves the client until it goes; `None` says that it is gone.
    async fn run(&mut self) -> Option<()> {
        let hello = self.hello().await?;
        if !self.context.token.matches(&hello.token) {
            let message = "the access token is wrong".to_owned();
            return self.send(&LiveFrame::Refused { message }).await;
        }
        let (oldest, newest) = self.context.engine.event_range().await.ok()?;
        let since = hello.since.unwrap_or(newest);
        let is_known = (0..=newest).contains(&since) && since + 1 >= oldest;
        let mut seen = if is_known { since } else { newest };
        let first = if is_known { LiveFrame::Ready { since, newest } } else { LiveFrame::Reset { newest } };
        self.send(&first).await?;
        loop {
            seen = self.send_after(seen).await?;
            self.wait(seen).await?;
        }
    }

    async fn hello(&mut self) -> Option<LiveHello> {
        let first = tokio::time::timeout(HELLO_LIMIT, self.socket.recv()).await.ok()??;
        match first.ok()? {
            Message::Text(text) => serde_json::from_str(&text).ok(),
            _ => None,
        }
    }

    /// Sends everything after `seen`; returns the last number sent.
    async fn send_after(&mut self, seen: i64) -> Option<i64> {
        let mut seen = seen;
        loop {
            let frames = self.context.hub.frames_after(seen).await.ok()?;
            if frames.is_empty() {
                return Some(seen);
            }
            for frame in frames {
                self.send_text(frame.text).await?;
                seen = frame.seq;
            }
        }
    }

    /// Waits until there is more to send, and keeps the connection alive meanwhile.
    async fn wait(&mut self, seen: i64) -> Option<()> {
        let mut newest = self.context.engine.watch_events();
        loop {
            tokio::select! {
                grown = grow_beyond(&mut newest, seen) => return grown,
                () = tokio::time::sleep(PING_EVERY) => self.send(&LiveFrame::Ping { newest: seen }).await?,
                () = self.context.stop.cancelled() => {
                    let _ = self.socket.send(Message::Close(None)).await;
                    return None;
                }
                frame = self.socket.recv() => match frame? {
                    Ok(Message::Close(_)) | Err(_) => return None,
                    Ok(_) => {}
                },
            }
        }
    }

    async fn send(&mut self, frame: &LiveFrame) -> Option<()> {
        let text = serde_json::to_string(frame).ok()?;
        self.send_text(text.into()).await
    }

    async fn send_text(&mut self, text: Utf8Bytes) -> Option<()> {
        tokio::time::timeout(SEND_LIMIT, self.socket.send(Message::Text(text))).await.ok()?.ok()
    }
}

/// Waits for an event after `seen`; `None` says that there will be no more.
async fn grow_beyond(newest: &mut watch::Receiver<i64>, seen: i64) -> Option<()> {
    newest.wait_for(|newest| *newest > seen).await.is_ok().then_some(())
}
