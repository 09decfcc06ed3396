//! A started agent with the tasks that serve it: the wire, the protocol, standard error, and the supervisor.
//!
//! The supervisor is the only one that reaps. It ends when the process is gone, and it makes the process go when
//! the agent closed its output, when the wire found a fault, or when the owner was dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::Dispatch;
use agent_client_protocol::v1::schema::RequestPermissionRequest;
use agent_client_protocol::{Channel, Client, Handled, JsonRpcResponse, UntypedMessage, v1};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::permission::Permissions;
use super::wire::{CREDIT, Fault, Wire};
use super::{AUTH_REQUIRED, Connection, update};
use crate::error::AgentError;
use crate::event::AgentEvent;
use crate::process::{self, AgentCommand, Ending, ExitReport, ProcessGroup, ProcessIdentity};

/// Events that may wait to be read.
const EVENTS: usize = 1024;
/// Lines of standard error that are remembered, and the longest of them in bytes.
const TAIL_LINES: usize = 12;
const MAX_LINE_BYTES: usize = 4096;
/// How long an agent that closed its output may take to end.
const CLOSED_GRACE: Duration = Duration::from_secs(1);
/// How long its streams are read after it is gone.
const STREAMS_LIMIT: Duration = Duration::from_secs(2);

/// A running agent below its session; kills all its processes when dropped.
pub(super) struct Running {
    program: String,
    group: Arc<ProcessGroup>,
    permissions: Arc<Permissions>,
    connection: watch::Receiver<Option<Connection>>,
    report: watch::Receiver<Option<ExitReport>>,
    stderr: Arc<StderrTail>,
    wire: Wire,
    /// Cancelled when nobody owns the agent any more.
    abandoned: CancellationToken,
}

impl Running {
    /// Starts the program and the tasks around it.
    pub(super) fn launch(
        command: &AgentCommand,
        max_frame_bytes: usize,
    ) -> Result<(Self, mpsc::Receiver<AgentEvent>), AgentError> {
        let spawned = process::spawn(command)?;
        let (events, receiver) = mpsc::channel(EVENTS);
        let (connection_sender, connection) = watch::channel(None);
        let (report_sender, report) = watch::channel(None);
        let wire = Wire {
            max_frame_bytes,
            fault: Arc::new(OnceLock::new()),
            credit: Arc::new(Semaphore::new(CREDIT)),
            close_stdin: CancellationToken::new(),
            gone: CancellationToken::new(),
        };
        let running = Self {
            program: command.program.display().to_string(),
            permissions: Arc::new(Permissions::new(spawned.group.execution().to_owned())),
            group: spawned.group,
            connection,
            report,
            stderr: Arc::default(),
            wire: wire.clone(),
            abandoned: CancellationToken::new(),
        };
        // The tasks end by themselves once the process is gone, and dropping `running` makes it go.
        let tasks = TaskTracker::new();
        let (ours, theirs) = Channel::duplex();
        let handler = Handler {
            permissions: Arc::clone(&running.permissions),
            events: events.clone(),
            credit: Arc::clone(&wire.credit),
        };
        tasks.spawn(wire.clone().carry(ours, spawned.stdin, spawned.stdout));
        let supervisor = Supervisor {
            child: spawned.child,
            group: Arc::clone(&running.group),
            fault: wire.fault,
            gone: wire.gone,
            abandoned: running.abandoned.clone(),
            stderr: Arc::clone(&running.stderr),
            stderr_task: tasks.spawn(Arc::clone(&running.stderr).read(spawned.stderr, events.clone())),
            protocol_task: tasks.spawn(handler.serve(theirs, connection_sender)),
            report: report_sender,
            events,
        };
        tasks.spawn(supervisor.run());
        tasks.close();
        Ok((running, receiver))
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    pub(super) fn identity(&self) -> &ProcessIdentity {
        self.group.identity()
    }

    pub(super) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    pub(super) fn stderr_tail(&self) -> String {
        self.stderr.text()
    }

    /// The connection to send on.
    pub(super) async fn connection(&self) -> Result<Connection, AgentError> {
        match first_value(&self.connection).await {
            Some(connection) => Ok(connection),
            None => Err(self.exited().await),
        }
    }

    pub(super) fn require_running(&self) -> Result<(), AgentError> {
        match &*self.report.borrow() {
            Some(report) => {
                Err(AgentError::NotRunning { program: self.program.clone(), report: report.clone() })
            }
            None => Ok(()),
        }
    }

    /// Waits for the answer to a request and tells why there is none.
    pub(super) async fn answer<T: JsonRpcResponse>(
        &self,
        step: &str,
        request: v1::SentRequest<T>,
    ) -> Result<T, AgentError> {
        let error = match request.block_task().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        match self.wire.fault.get() {
            Some(Fault::Garbage(excerpt)) => {
                // The reason is often on standard error, and all of it is there once the process is gone.
                self.group.signal(Ending::Kill);
                self.ended().await;
                let (program, stderr_tail) = (self.program.clone(), self.stderr_tail());
                Err(AgentError::Garbage { program, excerpt: excerpt.clone(), stderr_tail })
            }
            Some(Fault::FrameTooLarge) => {
                let (program, limit) = (self.program.clone(), self.wire.max_frame_bytes);
                Err(AgentError::FrameTooLarge { program, limit })
            }
            None if agent_client_protocol::is_incoming_transport_closed(&error)
                || agent_client_protocol::is_connection_terminated(&error) =>
            {
                Err(self.exited().await)
            }
            None if error.code == AUTH_REQUIRED => {
                Err(AgentError::AuthenticationRequired { program: self.program.clone(), methods: Vec::new() })
            }
            None => Err(self.refused(step, words_of(&error))),
        }
    }

    pub(super) fn refused(&self, step: &str, message: String) -> AgentError {
        let (program, step) = (self.program.clone(), step.to_owned());
        AgentError::Protocol { program, step, message, stderr_tail: self.stderr_tail() }
    }

    async fn exited(&self) -> AgentError {
        AgentError::Exited { program: self.program.clone(), report: self.ended().await }
    }

    /// Waits until the process is gone and reaped, and all it started with it.
    async fn ended(&self) -> ExitReport {
        let report = first_value(&self.report).await;
        // None when the runtime is shutting down: it has dropped the supervisor, and so killed the process.
        report.unwrap_or_else(|| ExitReport::new(None, self.stderr_tail()))
    }

    /// Closes the agent's input, then terminates, then kills, each after the grace.
    pub(super) async fn stop(&self, grace: Duration) -> ExitReport {
        self.wire.close_stdin.cancel();
        if let Ok(report) = tokio::time::timeout(grace, self.ended()).await {
            return report;
        }
        self.group.signal(Ending::Terminate);
        match tokio::time::timeout(grace, self.ended()).await {
            Ok(report) => report,
            Err(_) => self.kill().await,
        }
    }

    pub(super) async fn kill(&self) -> ExitReport {
        self.group.signal(Ending::Kill);
        self.ended().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.abandoned.cancel();
        if self.report.borrow().is_none() {
            self.group.kill_now();
        }
    }
}

/// Waits for a value to be set; none when nobody is left to set it.
async fn first_value<T: Clone>(receiver: &watch::Receiver<Option<T>>) -> Option<T> {
    let mut receiver = receiver.clone();
    let value = receiver.wait_for(Option::is_some).await.ok()?;
    value.clone()
}

/// The error's words with what the agent added to them.
fn words_of(error: &agent_client_protocol::Error) -> String {
    match &error.data {
        None | Some(Value::Null) => error.message.clone(),
        Some(Value::String(detail)) => format!("{} ({detail})", error.message),
        Some(detail) => format!("{} ({detail})", error.message),
    }
}

/// What the agent sends by itself: updates and requests, one after the other.
struct Handler {
    permissions: Arc<Permissions>,
    events: mpsc::Sender<AgentEvent>,
    credit: Arc<Semaphore>,
}

impl Handler {
    async fn serve(self, channel: Channel, connected: watch::Sender<Option<Connection>>) {
        let served = Client
            .v1()
            .name("freehold")
            .on_receive_dispatch(
                async move |dispatch: Dispatch<UntypedMessage, UntypedMessage>, _connection| {
                    Ok(self.handle(dispatch).await)
                },
                agent_client_protocol::on_receive_dispatch!(),
            )
            .connect_with(channel, async move |connection: Connection| {
                connected.send_replace(Some(connection.clone()));
                connection.incoming_closed().await;
                Ok(())
            })
            .await;
        if let Err(error) = served {
            tracing::debug!(code = error.code.value(), "the connection to an agent ended with an error");
        }
    }

    async fn handle(&self, dispatch: Dispatch) -> Handled<Dispatch> {
        match dispatch {
            Dispatch::Notification(message) => {
                if message.method() == "session/update" {
                    self.tell(update::event_of(message.params())).await;
                }
                self.credit.add_permits(1);
                Handled::Yes
            }
            Dispatch::Request(message, responder) if message.method() == "session/request_permission" => {
                self.ask(message, responder).await;
                self.credit.add_permits(1);
                Handled::Yes
            }
            Dispatch::Request(..) => {
                self.credit.add_permits(1);
                Handled::No { message: dispatch, retry: false }
            }
            Dispatch::Response(..) => Handled::No { message: dispatch, retry: false },
        }
    }

    async fn ask(&self, message: UntypedMessage, responder: v1::Responder<Value>) {
        let request = match serde_json::from_value::<RequestPermissionRequest>(message.params().clone()) {
            Ok(request) => request,
            Err(error) => {
                let refusal = agent_client_protocol::Error::invalid_params().data(error.to_string());
                let _ = responder.respond_with_error(refusal);
                return;
            }
        };
        let options = update::options(request.options);
        let request_id = self.permissions.add(responder.cast(), &options);
        let tool_call = update::tool_call(request.tool_call);
        self.tell(AgentEvent::PermissionRequested { request_id, tool_call, options }).await;
    }

    async fn tell(&self, event: AgentEvent) {
        // Fails only when nobody reads, and then nobody is to be told.
        let _ = self.events.send(event).await;
    }
}

impl Drop for Handler {
    /// Nobody is left to pay credit back, so nobody may wait for it.
    fn drop(&mut self) {
        self.credit.close();
    }
}

/// Watches over the process until it is reaped.
struct Supervisor {
    child: Child,
    group: Arc<ProcessGroup>,
    fault: Arc<OnceLock<Fault>>,
    gone: CancellationToken,
    abandoned: CancellationToken,
    stderr: Arc<StderrTail>,
    stderr_task: JoinHandle<()>,
    protocol_task: JoinHandle<()>,
    report: watch::Sender<Option<ExitReport>>,
    events: mpsc::Sender<AgentEvent>,
}

impl Supervisor {
    async fn run(mut self) {
        let is_served = self.wait_for_end().await;
        let status = self.group.finish(&mut self.child).await;
        self.gone.cancel();
        if tokio::time::timeout(STREAMS_LIMIT, &mut self.stderr_task).await.is_err() {
            self.stderr_task.abort();
        }
        let report = ExitReport::new(status, self.last_words());
        self.report.send_replace(Some(report.clone()));
        if is_served {
            tokio::select! {
                _ = &mut self.protocol_task => {}
                () = self.abandoned.cancelled() => {
                    self.protocol_task.abort();
                    let _ = (&mut self.protocol_task).await;
                }
            }
        }
        let exited = AgentEvent::Exited(report);
        if self.abandoned.is_cancelled() {
            // Told if there is room; nobody has to be waited for.
            let _ = self.events.try_send(exited);
        } else {
            tokio::select! {
                _ = self.events.send(exited) => {}
                () = self.abandoned.cancelled() => {}
            }
        }
    }

    /// The end of standard error, with the reason when it was ended for a fault.
    fn last_words(&self) -> String {
        let reason = self.fault.get().map(|fault| format!("Freehold ended it: {fault}."));
        [self.stderr.text()]
            .into_iter()
            .chain(reason)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Waits until the leader ended, or until there is a reason to end it; true while its words still come.
    async fn wait_for_end(&mut self) -> bool {
        tokio::select! {
            () = self.group.leader_ended(&mut self.child) => return true,
            () = self.abandoned.cancelled() => return true,
            _ = &mut self.protocol_task => {}
        }
        // Its output is closed or unusable; often it is just about to end by itself.
        let _ = tokio::time::timeout(CLOSED_GRACE, self.group.leader_ended(&mut self.child)).await;
        false
    }
}

/// The last lines of standard error.
#[derive(Default)]
struct StderrTail {
    lines: Mutex<VecDeque<String>>,
}

impl StderrTail {
    async fn read(self: Arc<Self>, stderr: ChildStderr, events: mpsc::Sender<AgentEvent>) {
        let mut reader = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            let buffer = reader.fill_buf().await.unwrap_or_default();
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |end| end + 1);
            let room = MAX_LINE_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&buffer[..end.unwrap_or(used).min(room)]);
            reader.consume(used);
            if end.is_some() {
                self.tell(&mut line, &events);
            }
        }
        self.tell(&mut line, &events);
    }

    /// Never waits: an agent must not stand still because its warnings are not read.
    fn tell(&self, line: &mut Vec<u8>, events: &mpsc::Sender<AgentEvent>) {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(text.clone());
        let _ = events.try_send(AgentEvent::Stderr { line: text });
    }

    fn text(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
