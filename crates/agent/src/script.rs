//! Runs a script to its end: a program that speaks no protocol, with a time limit and its output as it comes.
//!
//! The invariant of this crate holds for scripts too: when a run is over, none of its processes is left, also
//! none that it put into the background.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::AgentError;
use crate::process::{self, AgentCommand, Ending, ExitReport};

const CHUNK: usize = 8 * 1024;
/// How long the streams are read after everything is gone.
const STREAMS_LIMIT: Duration = Duration::from_secs(2);

/// How long a script may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Until it is asked to end, in milliseconds.
    pub time_ms: u64,
    /// From then until it is killed, in milliseconds.
    pub stop_grace_ms: u64,
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptEnd {
    /// By itself.
    Exited(ExitReport),
    /// Its time was over.
    TimedOut,
    /// It was cancelled.
    Cancelled,
}

/// Runs the command until it ends, its time is over or it is cancelled. It reads nothing and has no terminal; what
/// it prints, on both streams, goes to `output`, which must be drained.
pub async fn run_script(
    command: &AgentCommand,
    limits: ScriptLimits,
    cancel: &CancellationToken,
    output: mpsc::Sender<Vec<u8>>,
) -> Result<ScriptEnd, AgentError> {
    let spawned = process::spawn(command)?;
    let (mut child, group) = (spawned.child, spawned.group);
    drop(spawned.stdin);
    let supervised = async {
        let end = tokio::select! {
            () = group.leader_ended(&mut child) => None,
            () = tokio::time::sleep(Duration::from_millis(limits.time_ms)) => Some(ScriptEnd::TimedOut),
            () = cancel.cancelled() => Some(ScriptEnd::Cancelled),
        };
        if end.is_some() {
            group.signal(Ending::Terminate);
            let grace = Duration::from_millis(limits.stop_grace_ms);
            _ = tokio::time::timeout(grace, group.leader_ended(&mut child)).await;
        }
        let status = group.finish(&mut child).await;
        end.unwrap_or_else(|| ScriptEnd::Exited(ExitReport::new(status, String::new())))
    };
    let reading = async { tokio::join!(carry(spawned.stdout, &output), carry(spawned.stderr, &output)) };
    tokio::pin!(supervised, reading);
    let mut is_read = false;
    let end = loop {
        tokio::select! {
            end = &mut supervised => break end,
            _ = &mut reading, if !is_read => is_read = true,
        }
    };
    if !is_read {
        // What slipped through every net could keep a stream open for ever.
        _ = tokio::time::timeout(STREAMS_LIMIT, reading).await;
    }
    Ok(end)
}

/// Carries a stream to its end; goes on reading when nobody listens, so that the script does not stop for that.
async fn carry(mut stream: impl AsyncRead + Unpin, output: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        _ = output.send(buffer[..read].to_vec()).await;
    }
}
