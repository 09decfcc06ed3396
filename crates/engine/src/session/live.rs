//! Live sessions: one future per session whose agent runs; it owns the agent and its conversation.
//!
//! The future starts the agent, sends it prompts one at a time, records what it tells, and ends with it. It
//! ends also when a person stops the session and when the server shuts down, and always leaves the session in
//! a state that is true.

use std::collections::HashMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use freehold_agent::{
    Agent, AgentError, AgentEvent, AgentLimits, EXECUTION_VARIABLE, ExitReport, StopReason,
};
use freehold_domain::agent::{AgentProfile, Execution, ExecutionStatus, ProcessIdentity};
use freehold_domain::id::{ExecutionId, SessionId, TurnId};
use freehold_domain::message::MessageKind;
use freehold_domain::session::Session;
use freehold_store as store;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ground::Ground;
use super::record::{Context, Recorder};
use super::turn::TurnEvent;
use crate::{Engine, EngineError};

/// How long pieces of text are collected before they are stored.
const FLUSH_DELAY: Duration = Duration::from_millis(30);
/// How often the end of a session is tried to be stored.
const LAST_FLUSH_ATTEMPTS: u32 = 6;
/// How many events are taken before what they say is stored.
const FLUSH_EVENTS: usize = 512;
/// How often it is looked whether the agent's directory is still there.
const GROUND_CHECK: Duration = Duration::from_secs(1);

/// A prompt whose turn and message are stored already.
type StoredPrompt = (TurnId, String);
type RunningTurn = Pin<Box<dyn Future<Output = (TurnId, EndedTurn)> + Send>>;

/// What a turn came to.
struct EndedTurn {
    result: Result<StopReason, AgentError>,
    /// What changed outside of the workspace meanwhile, in a sentence.
    outside: Option<String>,
}

/// The sessions whose agents run on this server.
#[derive(Default)]
pub(crate) struct LiveSessions(Mutex<HashMap<SessionId, Handle>>);

#[derive(Clone)]
struct Handle {
    prompts: mpsc::UnboundedSender<StoredPrompt>,
    agent: Arc<OnceLock<Arc<Agent>>>,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl LiveSessions {
    /// The running agent of a session.
    pub(crate) fn agent(&self, id: &SessionId) -> Option<Arc<Agent>> {
        self.lock().get(id)?.agent.get().cloned()
    }

    /// Ends the session's agent, if it runs, and waits until its state is stored.
    pub(crate) async fn stop(&self, id: &SessionId) {
        let handle = self.lock().get(id).cloned();
        if let Some(handle) = handle {
            handle.stop.cancel();
            handle.ended.cancelled().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Sees to it that the session's agent runs, and gives it the prompt.
    pub(super) async fn wake(&self, id: &SessionId, prompt: Option<StoredPrompt>) {
        let mut prompt = prompt;
        loop {
            let ending = {
                let mut sessions = self.inner.sessions.lock();
                let handle =
                    sessions.entry(id.clone()).or_insert_with(|| self.spawn_live_session(id.clone()));
                match prompt.take() {
                    None => return,
                    Some(stored) => match handle.prompts.send(stored) {
                        Ok(()) => return,
                        Err(unsent) => prompt = Some(unsent.0),
                    },
                }
                handle.ended.clone()
            };
            // The one that was there is ending; once it has, another takes its place.
            ending.cancelled().await;
        }
    }

    fn spawn_live_session(&self, id: SessionId) -> Handle {
        let (prompts, waiting) = mpsc::unbounded_channel();
        let stop = self.inner.shutdown.child_token();
        let handle = Handle { prompts, agent: Arc::default(), stop, ended: CancellationToken::new() };
        let (engine, own) = (self.clone(), handle.clone());
        self.own(async move {
            let ended = own.ended.clone();
            if let Err(error) = engine.run_live_session(&id, &own, waiting).await {
                tracing::error!(session_id = %id, %error, "a live session ended without storing its state");
            }
            engine.inner.sessions.lock().remove(&id);
            ended.cancel();
        });
        handle
    }

    async fn run_live_session(
        &self,
        id: &SessionId,
        handle: &Handle,
        mut prompts: mpsc::UnboundedReceiver<StoredPrompt>,
    ) -> Result<(), EngineError> {
        let session_id = id.clone();
        let session = self.inner.store.read(move |tx| store::session::require(tx, &session_id)).await?;
        let mut recorder = Recorder::new(Context {
            store: self.inner.store.clone(),
            clock: self.inner.clock.clone(),
            ids: self.inner.ids.clone(),
            session_id: session.id.clone(),
            task_id: session.task_id.clone(),
        });
        let started = tokio::select! {
            started = self.start_agent(&session) => started,
            () = handle.stop.cancelled() => Err(EngineError::ShuttingDown),
        };
        let end = match started {
            Ok((agent, events, ground)) => {
                let agent = Arc::new(agent);
                let _ = handle.agent.set(agent.clone());
                let ground = Arc::new(ground);
                let mut live =
                    Conversation { agent, events, ground, recorder, turn: None, pending_since: None };
                let end = live.run(&mut prompts, &handle.stop).await;
                recorder = live.recorder;
                end
            }
            Err(EngineError::ShuttingDown) => End::Stopped,
            Err(error) => End::Failed(error.to_string()),
        };
        prompts.close();
        self.store_end(&mut recorder, &session, end, prompts).await
    }

    /// Ends what is open and stores how the session ended.
    async fn store_end(
        &self,
        recorder: &mut Recorder,
        session: &Session,
        end: End,
        mut prompts: mpsc::UnboundedReceiver<StoredPrompt>,
    ) -> Result<(), EngineError> {
        let (event, stop_reason) = match end {
            End::Failed(reason) => (TurnEvent::Failed(reason), "failed"),
            End::Stopped if self.inner.shutdown.is_cancelled() => (TurnEvent::Interrupted, "interrupted"),
            End::Stopped => (TurnEvent::Stopped, "cancelled"),
        };
        while let Some((turn_id, _)) = prompts.recv().await {
            recorder.begin_turn(turn_id);
        }
        let id = session.id.clone();
        let open = self.inner.store.read(move |tx| store::message::open_turns_of(tx, &id)).await?;
        if let TurnEvent::Failed(reason) = &event {
            if let Some(turn) = open.last() {
                recorder.begin_turn(turn.id.clone());
            }
            recorder.note(MessageKind::Error, reason.clone());
        }
        for turn in open {
            recorder.finish_turn(turn.id, stop_reason);
        }
        recorder.advance(event);
        let id = session.id.clone();
        self.inner.store.write(move |tx| store::agent::delete_by_session(tx, &id)).await?;
        flush_at_last(recorder).await
    }

    async fn start_agent(
        &self,
        session: &Session,
    ) -> Result<(Agent, mpsc::Receiver<AgentEvent>, Ground), EngineError> {
        let (profile, cwd) = self.agent_and_directory(session).await?;
        let ground = Ground::of(self, session, Path::new(&cwd)).await?;
        let execution_id = self.record_execution(session).await?;
        let mut command = self.agent_command(&profile, Path::new(&cwd));
        for (name, value) in self.workspace_variables(session).await? {
            command.env.entry(name).or_insert(value);
        }
        command.env.insert(EXECUTION_VARIABLE.into(), execution_id.to_string());
        let limits = AgentLimits {
            handshake_ms: self.inner.options.agent_handshake_ms,
            stop_grace_ms: self.inner.options.agent_stop_grace_ms,
            ..AgentLimits::default()
        };
        let (engine, id) = (self.clone(), execution_id.clone());
        let record = async move |process: freehold_agent::ProcessIdentity| {
            engine.record_process(id, process).await.map_err(|error| error.to_string())
        };
        let (agent, events) = freehold_agent::start(command, limits, record).await?;
        self.record_greeting(session, execution_id, agent.acp_session_id()).await?;
        Ok((agent, events, ground))
    }

    async fn agent_and_directory(&self, session: &Session) -> Result<(AgentProfile, String), EngineError> {
        let (task_id, profile_id) = (session.task_id.clone(), session.agent_profile_id.clone());
        let read = self.inner.store.read(move |tx| {
            let profile_id = profile_id.ok_or_else(|| EngineError::InvalidField {
                field: "agent_profile_id",
                reason: "the session's agent was removed; open a session with another".into(),
            })?;
            let profile = crate::agent::require_startable(tx, &profile_id, "session")?;
            let environment = store::environment::find_visited(tx, &task_id)?;
            let environment = environment.ok_or(EngineError::NoWorkspace { task_id: task_id.clone() })?;
            Ok::<_, EngineError>((profile, environment.workspace_path))
        });
        let (profile, path) = read.await?;
        if Path::new(&path).is_absolute() && Path::new(&path).is_dir() {
            return Ok((profile, path));
        }
        let path = if path.is_empty() { "any recorded place".into() } else { path };
        Err(EngineError::WorkspaceMissing { task_id: session.task_id.clone(), path })
    }

    async fn record_execution(&self, session: &Session) -> Result<ExecutionId, EngineError> {
        let now = self.now();
        let execution = Execution {
            id: ExecutionId::generate(self.ids()),
            session_id: session.id.clone(),
            task_id: session.task_id.clone(),
            node_id: self.inner.options.node_id.clone(),
            status: ExecutionStatus::Starting,
            process: None,
            created_at: now,
            updated_at: now,
        };
        let id = execution.id.clone();
        self.inner.store.write(move |tx| store::agent::insert_execution(tx, &execution)).await?;
        Ok(id)
    }

    async fn record_process(
        &self,
        id: ExecutionId,
        process: freehold_agent::ProcessIdentity,
    ) -> Result<(), EngineError> {
        let now = self.now();
        let process =
            ProcessIdentity { pid: process.pid, start_ticks: process.start_ticks, boot_id: process.boot_id };
        Ok(self.inner.store.write(move |tx| store::agent::set_process(tx, &id, &process, now)).await?)
    }

    async fn record_greeting(
        &self,
        session: &Session,
        execution_id: ExecutionId,
        acp_session_id: &str,
    ) -> Result<(), EngineError> {
        let (id, acp_session_id, now) = (session.id.clone(), acp_session_id.to_owned(), self.now());
        let write = self.inner.store.write(move |tx| {
            super::turn::lock(tx, &id)?;
            store::agent::set_status(tx, &execution_id, ExecutionStatus::Running, now)?;
            store::session::set_acp_session_id(tx, &id, &acp_session_id, now)?;
            let event = match store::message::open_turns_of(tx, &id)?.is_empty() {
                true => TurnEvent::Waiting,
                false => TurnEvent::Begun,
            };
            super::turn::advance(tx, &id, event, now)
        });
        Ok(write.await?)
    }
}

/// Stores what is left, trying again while the database does not answer.
async fn flush_at_last(recorder: &mut Recorder) -> Result<(), EngineError> {
    for attempt in 1..LAST_FLUSH_ATTEMPTS {
        match recorder.flush().await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::warn!(%error, attempt, "the end of a session could not be stored yet"),
        }
        tokio::time::sleep(FLUSH_DELAY * 10 * attempt).await;
    }
    Ok(recorder.flush().await?)
}

/// How a live session ended.
enum End {
    Stopped,
    Failed(String),
}

/// A running agent and the conversation with it.
struct Conversation {
    agent: Arc<Agent>,
    events: mpsc::Receiver<AgentEvent>,
    ground: Arc<Ground>,
    recorder: Recorder,
    turn: Option<RunningTurn>,
    /// Since when something waits to be stored.
    pending_since: Option<Instant>,
}

impl Conversation {
    async fn run(
        &mut self,
        prompts: &mut mpsc::UnboundedReceiver<StoredPrompt>,
        stop: &CancellationToken,
    ) -> End {
        let mut ground_check = tokio::time::interval(GROUND_CHECK);
        ground_check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let flush_at = self.flush_at();
            tokio::select! {
                () = stop.cancelled() => {
                    self.stop().await;
                    return End::Stopped;
                }
                Some((turn_id, text)) = prompts.recv(), if self.turn.is_none() => {
                    self.begin(turn_id, text);
                    if let Some(end) = self.check_ground().await {
                        return end;
                    }
                }
                _ = ground_check.tick() => {
                    if let Some(end) = self.check_ground().await {
                        return end;
                    }
                }
                event = self.events.recv() => {
                    if let Some(end) = self.take(event).await {
                        return end;
                    }
                }
                (turn_id, ended) = next_result(&mut self.turn) => {
                    self.turn = None;
                    if let Some(end) = self.end_turn(turn_id, ended).await {
                        return end;
                    }
                }
                () = tokio::time::sleep_until(flush_at.unwrap_or_else(Instant::now)), if flush_at.is_some() => self.flush().await,
            }
        }
    }

    fn begin(&mut self, turn_id: TurnId, text: String) {
        self.recorder.begin_turn(turn_id.clone());
        let (agent, ground) = (self.agent.clone(), self.ground.clone());
        self.turn = Some(Box::pin(async move {
            // The look is begun first, and the prompt does not wait for it: it can be cancelled from now on.
            let (before, result) = tokio::join!(ground.look(), agent.prompt(&text));
            let outside = ground.changed_since(before).await;
            (turn_id, EndedTurn { result, outside })
        }));
    }

    /// Ends the agent when the directory in which it was started is gone: it would work anywhere else.
    async fn check_ground(&mut self) -> Option<End> {
        if self.ground.is_there() {
            return None;
        }
        self.stop().await;
        Some(End::Failed(self.ground.missing()))
    }

    /// Records an event and those that came with it; returns how the session ended when the agent did.
    async fn take(&mut self, event: Option<AgentEvent>) -> Option<End> {
        let mut next = event;
        for _ in 0..FLUSH_EVENTS {
            match next {
                None => return Some(self.exited(ExitReport::default()).await),
                Some(AgentEvent::Exited(report)) => return Some(self.exited(report).await),
                Some(event) => self.recorder.record(event),
            }
            match self.events.try_recv() {
                Ok(event) => next = Some(event),
                Err(_) => return None,
            }
        }
        self.flush().await;
        None
    }

    /// The agent is gone: a turn that ran has failed, and so has an agent that did not end in order.
    async fn exited(&mut self, report: ExitReport) -> End {
        let in_turn = match self.turn.take() {
            Some(turn) => Some(turn.await.1.result),
            None => None,
        };
        self.flush().await;
        match in_turn {
            Some(Err(error)) => End::Failed(error.to_string()),
            _ if report.code == Some(0) => End::Stopped,
            _ => End::Failed(format!("The agent ended: {report}")),
        }
    }

    /// Stores the end of a turn; an agent that answered with an error goes on, any other failure ends it.
    async fn end_turn(&mut self, turn_id: TurnId, ended: EndedTurn) -> Option<End> {
        while let Ok(event) = self.events.try_recv() {
            self.recorder.record(event);
        }
        if let Some(outside) = ended.outside {
            self.recorder.note(MessageKind::Status, outside);
        }
        match ended.result {
            Ok(reason) => self.recorder.finish_turn(turn_id, reason.as_str()),
            Err(error @ AgentError::Protocol { .. }) => {
                self.recorder.note(MessageKind::Error, error.to_string());
                self.recorder.finish_turn(turn_id, "failed");
            }
            Err(error) => {
                self.agent.stop().await;
                self.flush().await;
                return Some(End::Failed(error.to_string()));
            }
        }
        self.recorder.advance(TurnEvent::Waiting);
        self.flush().await;
        None
    }

    /// Ends the agent and keeps its last words.
    async fn stop(&mut self) {
        let agent = self.agent.clone();
        let mut stopping = Box::pin(async move { agent.stop().await });
        loop {
            tokio::select! {
                _ = &mut stopping => break,
                // A turn must be polled on, so that it can end as cancelled.
                (_, _) = next_result(&mut self.turn) => self.turn = None,
                Some(event) = self.events.recv() => self.recorder.record(event),
            }
        }
        while let Ok(event) = self.events.try_recv() {
            self.recorder.record(event);
        }
        self.flush().await;
    }

    /// When what waits must be stored; none when nothing waits.
    fn flush_at(&mut self) -> Option<Instant> {
        if !self.recorder.is_pending() {
            self.pending_since = None;
            return None;
        }
        Some(*self.pending_since.get_or_insert_with(Instant::now) + FLUSH_DELAY)
    }

    async fn flush(&mut self) {
        self.pending_since = None;
        if let Err(error) = self.recorder.flush().await {
            tracing::error!(%error, "a conversation could not be stored yet; trying again");
        }
    }
}

/// Waits for the running turn; for ever when there is none.
async fn next_result(turn: &mut Option<RunningTurn>) -> (TurnId, EndedTurn) {
    match turn {
        Some(turn) => turn.await,
        None => std::future::pending().await,
    }
}
