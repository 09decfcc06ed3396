//! The live connection: every event once, in order, from where the client left off.
//!
//! A client says hello, then listens, and asks for what it wants done. Two things go on at the same time: the
//! server speaks (events, answers and pings), and it listens for calls and signs of life; when either ends, the
//! connection ends. A client that is given up loses nothing: it comes back and says the last number it saw.

pub(crate) mod calls;
pub(crate) mod hub;
mod ring;

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use freehold_api::live::{LiveFrame, LiveHello};
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::Context;
use crate::http::MAX_BODY_BYTES;
use calls::Calls;

/// How long a client may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// How often the client is told that the connection is alive, and asked whether it is.
const PING_EVERY: Duration = Duration::from_secs(15);
/// How long nothing may be heard of a client, not even an answer to a ping.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// How long a client may take to accept a frame.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// How long saying goodbye may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// The largest hello, in bytes.
const MAX_HELLO_BYTES: usize = 16 * 1024;
/// The largest frame of a client, in bytes: a body, and what a call says besides.
const MAX_CLIENT_FRAME: usize = MAX_BODY_BYTES + MAX_HELLO_BYTES;

type Sink = SplitSink<WebSocket, Message>;
type Stream = SplitStream<WebSocket>;

/// Upgrades to the live connection. The token comes in the first frame, because browsers cannot set headers.
#[utoipa::path(get, path = "/live", tag = "live", security(()),
    responses((status = 101, description = "a WebSocket: LiveHello and LiveCalls, LiveFrame after LiveFrame")))]
pub(crate) async fn connect(
    State(context): State<Context>,
    Extension(calls): Extension<Calls>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade.max_message_size(MAX_CLIENT_FRAME).max_frame_size(MAX_CLIENT_FRAME);
    let clients = context.clients.clone();
    upgrade.on_upgrade(move |socket| clients.track_future(serve(socket, context, calls)))
}

/// Serves one client until it goes or the server stops.
async fn serve(socket: WebSocket, context: Context, calls: Calls) {
    let (mut sink, mut stream) = socket.split();
    tokio::select! {
        _ = converse(&mut sink, &mut stream, &context, &calls) => {}
        () = context.stop.cancelled() => {}
    }
    // A client that is gone need not be told so.
    let _ = timeout(CLOSE_LIMIT, sink.send(Message::Close(None))).await;
}

/// Talks with a client; `None` says that it is gone or has to come back.
async fn converse(sink: &mut Sink, stream: &mut Stream, context: &Context, calls: &Calls) -> Option<()> {
    let first = timeout(HELLO_LIMIT, stream.next()).await.ok()??.ok()?;
    let seen = match read_hello(&first, context) {
        Ok(since) => greet(sink, context, since).await?,
        Err(message) => return say(sink, &LiveFrame::Refused { message }).await,
    };
    // One place: who does not take answers is not listened to any longer.
    let (answers, ready) = mpsc::channel(1);
    tokio::select! {
        end = speak(sink, context, seen, ready) => end,
        end = listen(stream, calls, &answers) => end,
    }
}

/// Reads the first frame; gives where the client wants to begin, or why it may not.
fn read_hello(first: &Message, context: &Context) -> Result<Option<i64>, String> {
    let text = first.to_text().ok().filter(|text| text.len() <= MAX_HELLO_BYTES);
    let hello = text.and_then(|text| serde_json::from_str::<LiveHello>(text).ok());
    let hello = hello.ok_or("the first frame is no hello: send {\"token\": …, \"since\": …} as text")?;
    if context.token.matches(&hello.token) {
        Ok(hello.since)
    } else {
        Err("the access token is wrong".to_owned())
    }
}

/// Tells the client where its stream begins.
async fn greet(sink: &mut Sink, context: &Context, since: Option<i64>) -> Option<i64> {
    let (oldest, newest) = match context.engine.event_range().await {
        Ok(range) => range,
        Err(error) => {
            tracing::error!(%error, "the range of events could not be read for a live connection");
            return None;
        }
    };
    let begin = beginning(since, oldest, newest);
    let first = begin.map_or(LiveFrame::Reset { newest }, |since| LiveFrame::Ready { since, newest });
    say(sink, &first).await?;
    Some(begin.unwrap_or(newest))
}

/// Where a stream begins; `None` says that what follows `since` is not kept any more, or never was.
fn beginning(since: Option<i64>, oldest: i64, newest: i64) -> Option<i64> {
    let since = since.unwrap_or(newest);
    let is_kept = (0..newest).contains(&since) && oldest > 0 && since + 1 >= oldest;
    (since == newest || is_kept).then_some(since)
}

/// Sends every event after `seen`, answers as they come, and pings.
async fn speak(
    sink: &mut Sink,
    context: &Context,
    mut seen: i64,
    mut answers: mpsc::Receiver<LiveFrame>,
) -> Option<()> {
    let mut newest = context.engine.watch_events();
    let mut beat = interval(PING_EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    loop {
        tokio::select! {
            biased;
            _ = beat.tick() => {
                accepted(sink.send(Message::Ping(axum::body::Bytes::new()))).await?;
                say(sink, &LiveFrame::Ping { newest: seen }).await?;
            }
            Some(answer) = answers.recv() => say(sink, &answer).await?,
            grown = grow_beyond(&mut newest, seen) => {
                grown?;
                seen = send_after(sink, context, seen).await?;
            }
        }
    }
}

/// Sends the next events after `seen`; gives the last number sent.
async fn send_after(sink: &mut Sink, context: &Context, mut seen: i64) -> Option<i64> {
    let frames = match context.hub.frames_after(seen).await {
        Ok(frames) => frames,
        Err(error) => {
            tracing::error!(%error, "a live connection ends; its client has to come back");
            return None;
        }
    };
    for frame in frames {
        accepted(sink.feed(Message::Text(frame.text))).await?;
        seen = frame.seq;
    }
    accepted(sink.flush()).await?;
    Some(seen)
}

/// Waits for an event after `seen`; `None` says that there will be no more.
async fn grow_beyond(newest: &mut watch::Receiver<i64>, seen: i64) -> Option<()> {
    newest.wait_for(|newest| *newest > seen).await.is_ok().then_some(())
}

/// Carries out what the client asks for, a few calls at a time, until it goes or is silent for too long.
async fn listen(stream: &mut Stream, calls: &Calls, answers: &mpsc::Sender<LiveFrame>) -> Option<()> {
    let mut running = FuturesUnordered::new();
    let mut deadline = Instant::now() + SILENCE_LIMIT;
    loop {
        tokio::select! {
            // While as many calls run as may, the next ones wait in the connection.
            message = stream.next(), if running.len() < calls::MAX_AT_ONCE => {
                deadline = Instant::now() + SILENCE_LIMIT;
                match message?.ok()? {
                    Message::Close(_) => return None,
                    Message::Text(text) => match calls::read(text.as_str()) {
                        Ok(call) => running.push(calls.answer(call)),
                        Err(refused) => answers.send(*refused).await.ok()?,
                    },
                    Message::Binary(_) | Message::Ping(_) | Message::Pong(_) => {}
                }
            }
            Some(answer) = running.next() => answers.send(answer).await.ok()?,
            () = sleep_until(deadline), if running.len() < calls::MAX_AT_ONCE => return None,
        }
    }
}

async fn say(sink: &mut Sink, frame: &LiveFrame) -> Option<()> {
    let text = serde_json::to_string(frame).ok()?;
    accepted(sink.send(Message::Text(text.into()))).await
}

/// Waits until the client accepts what is sent, but not for ever.
async fn accepted(sending: impl Future<Output = Result<(), axum::Error>>) -> Option<()> {
    timeout(SEND_LIMIT, sending).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::beginning;

    #[test]
    fn a_stream_begins_where_the_client_left_off_unless_that_is_not_kept() {
        assert_eq!(beginning(None, 1, 9), Some(9));
        assert_eq!(beginning(Some(0), 1, 9), Some(0));
        assert_eq!(beginning(Some(9), 1, 9), Some(9));
        assert_eq!(beginning(Some(10), 1, 9), None, "from another database");
        assert_eq!(beginning(Some(i64::MAX), 1, 9), None);
        assert_eq!(beginning(Some(-1), 1, 9), None);
        assert_eq!(beginning(Some(4), 5, 9), Some(4), "the next one is the oldest");
        assert_eq!(beginning(Some(3), 5, 9), None, "event 4 is gone");
        assert_eq!(beginning(Some(0), 0, 0), Some(0), "there was never an event");
        assert_eq!(beginning(Some(3), 0, 9), None, "all are gone");
        assert_eq!(beginning(Some(9), 0, 9), Some(9));
    }
}
