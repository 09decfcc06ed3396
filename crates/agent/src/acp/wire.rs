//! The agent's pipes as ACP frames: one JSON value per line, bounded in length and in number.
//!
//! A line is decoded when it is whole, so that a character split between two reads stays one character. The
//! protocol crate queues frames without a bound; *credit* gives it one: a frame that calls for work costs one,
//! and the handler pays it back when the work is done, so that a flood waits in the agent's own pipe.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol::{Channel, RawJsonRpcMessage, TransportFrame};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::surrogate;

/// Frames that may wait to be handled.
pub(super) const CREDIT: usize = 256;

/// How long a pipe is still read after the agent is gone: someone unknown may hold its other end open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Characters of garbage that are quoted.
const EXCERPT_CHARS: usize = 120;

/// What made the agent's output unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// A line that is no JSON object; its beginning.
    Garbage(String),
    /// A line longer than allowed.
    FrameTooLarge,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Garbage(excerpt) => write!(f, "it wrote {excerpt:?}, which is not ACP"),
            Self::FrameTooLarge => f.write_str("it sent a message that is too long"),
        }
    }
}

/// What the two ends of the wire share with the rest.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) max_frame_bytes: usize,
    /// The first fault; set before the connection is seen to close.
    pub(super) fault: Arc<OnceLock<Fault>>,
    pub(super) credit: Arc<Semaphore>,
    /// Cancelled to close the agent's standard input.
    pub(super) close_stdin: CancellationToken,
    /// Cancelled once the agent's processes are gone.
    pub(super) gone: CancellationToken,
}

impl Wire {
    /// Carries frames both ways until the agent closes its output.
    pub(super) async fn carry(self, channel: Channel, stdin: ChildStdin, stdout: ChildStdout) {
        let (outgoing, incoming) = channel.into_parts();
        let deliver = |frame| incoming.unbounded_send(frame).is_ok();
        let reading = async {
            if let Err(fault) = self.read(BufReader::with_capacity(64 * 1024, stdout), deliver).await {
                let _ = self.fault.set(fault);
            }
            incoming.close_channel();
        };
        let writing = self.write(outgoing, stdin);
        tokio::join!(reading, writing);
    }

    /// Reads frames until the end, a fault, or the other side's loss of interest.
    async fn read(
        &self,
        mut input: impl AsyncBufRead + Unpin,
        mut deliver: impl FnMut(TransportFrame) -> bool,
    ) -> Result<(), Fault> {
        let mut line = Vec::new();
        while self.read_line(&mut input, &mut line).await? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let frame = parse(&line)?;
            if costs_credit(&frame) {
                match self.credit.acquire().await {
                    Ok(credit) => credit.forget(),
                    Err(_) => break,
                }
            }
            if !deliver(frame) {
                break;
            }
        }
        Ok(())
    }

    /// Reads one line without its end; false at the end of the input.
    async fn read_line(
        &self,
        input: &mut (impl AsyncBufRead + Unpin),
        line: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        line.clear();
        loop {
            let buffer = tokio::select! {
                buffer = input.fill_buf() => buffer.unwrap_or_default(),
                () = self.last_words_said() => &[],
            };
            if buffer.is_empty() {
                // What an agent leaves unfinished when it dies is cut off, not garbage.
                return Ok(false);
            }
            let (part, used, is_whole) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&buffer[..end], end + 1, true),
                None => (buffer, buffer.len(), false),
            };
            if line.len() + part.len() > self.max_frame_bytes {
                return Err(Fault::FrameTooLarge);
            }
            line.extend_from_slice(part);
            input.consume(used);
            if is_whole {
                return Ok(true);
            }
        }
    }

    async fn last_words_said(&self) {
        self.gone.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    }

    /// Writes frames until there are no more, or until the input is to be closed; then it is closed.
    async fn write(
        &self,
        mut outgoing: impl futures_util::Stream<Item = TransportFrame> + Unpin,
        mut stdin: ChildStdin,
    ) {
        loop {
            let frame = tokio::select! {
                frame = outgoing.next() => frame,
                () = self.close_stdin.cancelled() => break,
                () = self.gone.cancelled() => return,
            };
            let Some(frame) = frame else { return };
            if !self.write_unless_gone(&frame, &mut stdin).await {
                return;
            }
        }
        while let Some(Some(frame)) = outgoing.next().now_or_never() {
            if !self.write_unless_gone(&frame, &mut stdin).await {
                return;
            }
        }
    }

    /// False when the pipe is closed or nobody is left to read it.
    async fn write_unless_gone(&self, frame: &TransportFrame, stdin: &mut ChildStdin) -> bool {
        tokio::select! {
            written = write_frame(frame, stdin) => written.is_ok(),
            () = self.gone.cancelled() => false,
        }
    }
}

async fn write_frame(frame: &TransportFrame, stdin: &mut ChildStdin) -> io::Result<()> {
    let mut line = frame.to_json().map_err(io::Error::other)?;
    line.push('\n');
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await
}

fn parse(line: &[u8]) -> Result<TransportFrame, Fault> {
    let garbage = || Fault::Garbage(excerpt(line));
    let text = std::str::from_utf8(line).map_err(|_| garbage())?;
    let frame = TransportFrame::parse_json(text);
    let TransportFrame::Malformed { .. } = frame else { return Ok(frame) };
    if let Some(mended) = surrogate::mend(text) {
        return parse(mended.as_bytes());
    }
    // An object that is no proper message gets its answer from the protocol; anything else is no protocol.
    let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    if is_object { Ok(frame) } else { Err(garbage()) }
}

fn excerpt(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim().chars().take(EXCERPT_CHARS).collect()
}

/// Requests and notifications reach the handler, which pays back. `$/…` is the protocol crate's own.
fn costs_credit(frame: &TransportFrame) -> bool {
    match frame {
        TransportFrame::Single(RawJsonRpcMessage::Request(request)) => !request.method.starts_with("$/"),
        TransportFrame::Single(RawJsonRpcMessage::Notification(notification)) => {
            !notification.method.starts_with("$/")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    fn wire(max_frame_bytes: usize) -> Wire {
        Wire {
            max_frame_bytes,
            fault: Arc::default(),
            credit: Arc::new(Semaphore::new(CREDIT)),
            close_stdin: CancellationToken::new(),
            gone: CancellationToken::new(),
        }
    }

    async fn read_all(wire: &Wire, bytes: &[u8], bytes_per_read: usize) -> (Vec<String>, Result<(), Fault>) {
        let (mut sender, receiver) = tokio::io::duplex(bytes_per_read);
        let mut frames = Vec::new();
        let deliver = |frame: TransportFrame| {
            frames.push(frame.to_json().unwrap());
            true
        };
        let reading = wire.read(BufReader::with_capacity(bytes_per_read, receiver), deliver);
        let sending = async {
            let _ = sender.write_all(bytes).await;
            drop(sender);
        };
        let (outcome, ()) = tokio::join!(reading, sending);
        (frames, outcome)
    }

    #[tokio::test]
    async fn a_character_split_between_reads_stays_one_character() {
        let line = r#"{"jsonrpc":"2.0","method":"m","params":{"text":"ü世\u00e9👩‍🚀"}}"#;
        let expected = r#"{"jsonrpc":"2.0","method":"m","params":{"text":"ü世é👩‍🚀"}}"#;
        for bytes_per_read in 1..6 {
            let input = format!("{line}\n\r\n\n{line}\r\n");
            let (frames, outcome) = read_all(&wire(1000), input.as_bytes(), bytes_per_read).await;
            assert_eq!((frames, outcome), (vec![expected.to_owned(); 2], Ok(())), "{bytes_per_read}");
        }
    }

    #[tokio::test]
    async fn the_limit_is_the_longest_line() {
        let line = r#"{"jsonrpc":"2.0","method":"m"}"#;
        let input = format!("{line}\n");
        let (frames, outcome) = read_all(&wire(line.len()), input.as_bytes(), 7).await;
        assert_eq!((frames.len(), outcome), (1, Ok(())));
        let (frames, outcome) = read_all(&wire(line.len() - 1), input.as_bytes(), 7).await;
        assert_eq!((frames.len(), outcome), (0, Err(Fault::FrameTooLarge)));
    }

    #[tokio::test]
    async fn a_flood_waits_until_credit_is_paid_back() {
        let wire = Wire { credit: Arc::new(Semaphore::new(2)), ..wire(1000) };
        let update = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
        let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n";
        let input = [update, update, answer, update, update].concat();
        let delivered = std::cell::Cell::new(0);
        let deliver = |_| {
            delivered.set(delivered.get() + 1);
            true
        };
        let mut reading = std::pin::pin!(wire.read(input.as_bytes(), deliver));
        assert_eq!(futures_util::poll!(&mut reading), std::task::Poll::Pending);
        assert_eq!(delivered.get(), 3, "answers are free");
        wire.credit.add_permits(1);
        assert_eq!(futures_util::poll!(&mut reading), std::task::Poll::Pending);
        assert_eq!(delivered.get(), 4);
        wire.credit.close();
        assert_eq!(futures_util::poll!(&mut reading), std::task::Poll::Ready(Ok(())));
        assert_eq!(delivered.get(), 4, "nobody is left to handle it");
    }

    #[tokio::test]
    async fn an_object_that_is_no_message_is_left_to_the_protocol_and_a_cut_line_is_no_garbage() {
        let (frames, outcome) = read_all(&wire(1000), b"{\"hello\":1}\n{\"jsonrpc\":", 64).await;
        assert_eq!((frames, outcome), (vec![r#"{"hello":1}"#.to_owned()], Ok(())));
        for garbage in ["hello", "[]", "17", "{", "null"] {
            let (_, outcome) = read_all(&wire(1000), format!("{garbage}\n").as_bytes(), 64).await;
            assert_eq!(outcome, Err(Fault::Garbage(garbage.to_owned())));
        }
    }
}
