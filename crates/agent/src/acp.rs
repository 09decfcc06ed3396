//! An agent over ACP, from its start to its end; the only module that knows the protocol crate, besides `demo`.
//!
//! The agent is offered neither files nor terminals of this side: it works in its own directory, with its own
//! tools. Order is kept: what an agent tells before it ends a turn is in the stream of events before
//! [`Agent::prompt`] returns. The stream is bounded and must be read while a turn runs: an agent whose events are
//! not read waits.

mod permission;
mod running;
mod surrogate;
mod update;
mod wire;

use std::path::Path;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, Implementation, InitializeRequest, InitializeResponse,
    NewSessionRequest, PromptRequest, SessionId, StopReason as ProtocolStopReason, TextContent,
};
use agent_client_protocol::{Agent as AgentRole, ErrorCode, v1};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::error::AgentError;
use crate::event::{AgentEvent, StopReason};
use crate::process::{AgentCommand, ExitReport, ProcessIdentity};
use running::Running;

/// How long an agent is waited for, and how much it may send at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// For the greeting and the new session together, in milliseconds.
    pub handshake_ms: u64,
    /// For each of the two polite steps of [`Agent::stop`], in milliseconds.
    pub stop_grace_ms: u64,
    /// The longest message, in bytes.
    pub max_frame_bytes: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { handshake_ms: 30_000, stop_grace_ms: 3_000, max_frame_bytes: 64 * 1024 * 1024 }
    }
}

/// A running agent with one session; when dropped, all its processes are killed.
pub struct Agent {
    running: Running,
    session_id: SessionId,
    /// How many turns run; told to [`Agent::stop`].
    turns: watch::Sender<usize>,
    limits: AgentLimits,
}

/// Starts the program, greets it and opens a session in its directory.
///
/// `started` is called with the process right after it was made and before anything is said to it, so that the
/// caller records it first. When it fails, or anything later does, the process is ended before this returns;
/// likewise when the future is dropped.
pub async fn start<F>(
    command: AgentCommand,
    limits: AgentLimits,
    started: F,
) -> Result<(Agent, mpsc::Receiver<AgentEvent>), AgentError>
where
    F: AsyncFnOnce(ProcessIdentity) -> Result<(), String>,
{
    let (running, events) = Running::launch(&command, limits.max_frame_bytes)?;
    let greeted = match started(running.identity().clone()).await {
        Ok(()) => greet(&running, &command.cwd, limits.handshake_ms).await,
        Err(reason) => Err(AgentError::NotRecorded { program: running.program().to_owned(), reason }),
    };
    match greeted {
        Ok(session_id) => {
            let turns = watch::Sender::new(0);
            Ok((Agent { running, session_id, turns, limits }, events))
        }
        Err(error) => {
            running.kill().await;
            Err(match error {
                AgentError::Exited { program, report } => AgentError::ExitedAtOnce { program, report },
                error => error,
            })
        }
    }
}

async fn greet(running: &Running, cwd: &Path, limit_ms: u64) -> Result<SessionId, AgentError> {
    let deadline = Instant::now() + Duration::from_millis(limit_ms);
    let connection = running.connection().await?;
    let hello = InitializeRequest::new(ProtocolVersion::V1)
        .client_info(Implementation::new("freehold", env!("CARGO_PKG_VERSION")));
    let answer = within(running, "initialize", deadline, limit_ms, connection.send_request(hello)).await?;
    if answer.protocol_version != ProtocolVersion::V1 {
        let message = format!("it speaks version {} of the protocol, not 1", answer.protocol_version);
        return Err(running.refused("initialize", message));
    }
    let session = connection.send_request(NewSessionRequest::new(cwd));
    match within(running, "session/new", deadline, limit_ms, session).await {
        Ok(session) => Ok(session.session_id),
        Err(AgentError::AuthenticationRequired { program, .. }) => {
            Err(AgentError::AuthenticationRequired { program, methods: login_methods(&answer) })
        }
        Err(error) => Err(error),
    }
}

fn login_methods(answer: &InitializeResponse) -> Vec<String> {
    answer.auth_methods.iter().map(|method| method.name().to_owned()).collect()
}

async fn within<T: agent_client_protocol::JsonRpcResponse>(
    running: &Running,
    step: &str,
    deadline: Instant,
    limit_ms: u64,
    request: v1::SentRequest<T>,
) -> Result<T, AgentError> {
    match tokio::time::timeout_at(deadline, running.answer(step, request)).await {
        Ok(answer) => answer,
        Err(_) => Err(AgentError::NoAnswer {
            program: running.program().to_owned(),
            step: step.to_owned(),
            waited_ms: limit_ms,
            stderr_tail: running.stderr_tail(),
        }),
    }
}

impl Agent {
    /// The process, to be recorded and later proved.
    #[must_use]
    pub fn process(&self) -> &ProcessIdentity {
        self.running.identity()
    }

    /// The agent's own id of the session.
    #[must_use]
    pub fn acp_session_id(&self) -> &str {
        &self.session_id.0
    }

    /// Runs one turn to its end, however long it takes.
    ///
    /// Fails when the agent refuses it or ends during it; [`Agent::cancel`] ends it with
    /// [`StopReason::Cancelled`].
    pub async fn prompt(&self, text: &str) -> Result<StopReason, AgentError> {
        self.running.require_running()?;
        let connection = self.running.connection().await?;
        let _turn = RunningTurn::begin(&self.turns);
        let content = vec![ContentBlock::Text(TextContent::new(text))];
        let request = connection.send_request(PromptRequest::new(self.session_id.clone(), content));
        let answer = self.running.answer("session/prompt", request).await?;
        Ok(match answer.stop_reason {
            ProtocolStopReason::MaxTokens => StopReason::MaxTokens,
            ProtocolStopReason::MaxTurnRequests => StopReason::MaxTurnRequests,
            ProtocolStopReason::Refusal => StopReason::Refusal,
            ProtocolStopReason::Cancelled => StopReason::Cancelled,
            _ => StopReason::EndTurn,
        })
    }

    /// Asks the agent to end its turn, and answers what it waits for as cancelled; returns before the turn ends.
    pub async fn cancel(&self) -> Result<(), AgentError> {
        self.running.require_running()?;
        let connection = self.running.connection().await?;
        let sent = connection.send_notification(CancelNotification::new(self.session_id.clone()));
        self.running.permissions().cancel_all();
        sent.map_err(|error| self.running.refused("session/cancel", error.message))
    }

    /// Answers a permission request with one of its options, or as cancelled when there is none.
    ///
    /// Fails when the request is unknown or answered already, or does not offer the option.
    pub async fn answer_permission(
        &self,
        request_id: &str,
        option_id: Option<&str>,
    ) -> Result<(), AgentError> {
        self.running.require_running()?;
        self.running.permissions().answer(request_id, option_id)
    }

    /// Ends the agent and everything it started, and returns how it ended; can be called again.
    ///
    /// First asks: cancels the turn and closes its input. Then, each after the grace, sends SIGTERM to the group
    /// and SIGKILL to all.
    pub async fn stop(&self) -> ExitReport {
        let grace = Duration::from_millis(self.limits.stop_grace_ms);
        if *self.turns.borrow() > 0 && self.cancel().await.is_ok() {
            let mut turns = self.turns.subscribe();
            // Half of the grace for the turn, so that its last words are heard before the input is closed.
            let _ = tokio::time::timeout(grace / 2, turns.wait_for(|turns| *turns == 0)).await;
        }
        self.running.stop(grace).await
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("program", &self.running.program())
            .field("process", self.running.identity())
            .finish_non_exhaustive()
    }
}

/// Counts a turn for as long as its prompt is waited for.
struct RunningTurn<'a>(&'a watch::Sender<usize>);

impl<'a> RunningTurn<'a> {
    fn begin(turns: &'a watch::Sender<usize>) -> Self {
        turns.send_modify(|turns| *turns += 1);
        Self(turns)
    }
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|turns| *turns -= 1);
    }
}

type Connection = v1::ConnectionTo<AgentRole>;

/// The protocol's code for "log in first".
const AUTH_REQUIRED: ErrorCode = ErrorCode::AUTH_REQUIRED;
