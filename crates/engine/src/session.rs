//! Sessions: agent conversations that visit a task's workspace and own nothing on disk.
//!
//! A prompt is stored before it is sent. A session's agent runs in a *live session* (see `live`), one at most
//! per session, enforced by the database. Deleting a session ends its agent and forgets its conversation; it
//! cannot reach the code that removes anything.

mod ground;
pub(crate) mod live;
pub(crate) mod reconcile;
mod record;
mod turn;

use freehold_domain::cleanup::ResourceSnapshot;
use freehold_domain::event::EventBody;
use freehold_domain::id::{AgentProfileId, MessageId, SessionId, TaskId, TurnId};
use freehold_domain::message::{Author, Message, MessageKind, Permission, Turn};
use freehold_domain::session::{Session, SessionState, primary_after_deletion};
use freehold_domain::task::{Task, TaskState};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use crate::task::check_prompt_length;
use crate::{Engine, EngineError};
use turn::TurnEvent;

/// A session with the name of its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// The session.
    pub session: Session,
    /// The name of its agent; empty when the profile was removed.
    pub agent_name: String,
}

/// Asks for a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The agent; by default the task's.
    pub agent_profile_id: Option<AgentProfileId>,
    /// A first prompt; without one the agent is started and waits.
    pub prompt: Option<String>,
}

/// What became of a deleted session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDeleted {
    /// The session that was deleted.
    pub session_id: SessionId,
    /// The session that is primary now.
    pub primary_session_id: Option<SessionId>,
    /// The task's workspace, which was kept; empty when none was made.
    pub workspace_path: String,
}

/// A page of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageList {
    /// The messages.
    pub items: Vec<Message>,
    /// Whether there are older ones.
    pub has_older: bool,
    /// The newest event that the page already tells of.
    pub last_event: i64,
}

pub(crate) fn read_views(tx: &mut Tx<'_>, task_id: &TaskId) -> Result<Vec<SessionView>, StoreError> {
    let sessions = store::session::list_by_task(tx, task_id)?;
    sessions.into_iter().map(|session| with_agent_name(tx, session)).collect()
}

fn with_agent_name(tx: &mut Tx<'_>, session: Session) -> Result<SessionView, StoreError> {
    let profile = match &session.agent_profile_id {
        Some(id) => store::agent::find(tx, id)?,
        None => None,
    };
    Ok(SessionView { session, agent_name: profile.map(|profile| profile.name).unwrap_or_default() })
}

impl Engine {
    /// Reads a session.
    pub async fn session(&self, id: SessionId) -> Result<SessionView, EngineError> {
        let read = self.inner.store.read(move |tx| {
            let session = store::session::require(tx, &id)?;
            with_agent_name(tx, session)
        });
        Ok(read.await?)
    }

    /// Opens a session of a task, making the task's workspace first when it has none.
    pub async fn create_session(
        &self,
        task_id: TaskId,
        request: NewSession,
    ) -> Result<SessionView, EngineError> {
        if let Some(prompt) = &request.prompt {
            check_prompt(prompt)?;
        }
        let environment = self.require_environment(&task_id).await?;
        let now = self.now();
        let (id, turn_id) = (SessionId::generate(self.ids()), TurnId::generate(self.ids()));
        let message_id = MessageId::generate(self.ids());
        let session_id = id.clone();
        let prompt = request.prompt.clone();
        let opened_turn = prompt.as_ref().map(|_| turn_id.clone());
        let write = self.inner.store.write(move |tx| {
            let task = store::task::lock(tx, &task_id)?;
            let agent_profile_id = chosen_agent(tx, request.agent_profile_id, &task)?;
            let others = store::session::list_by_task(tx, &task_id)?;
            let session = Session {
                id,
                task_id: task_id.clone(),
                environment_id: Some(environment.id),
                agent_profile_id: Some(agent_profile_id),
                name: format!("Session {}", others.len() + 1),
                state: SessionState::Created,
                error_message: String::new(),
                is_primary: others.iter().all(|other| !other.is_primary),
                acp_session_id: String::new(),
                started_at: now,
                completed_at: None,
                updated_at: now,
            };
            store::session::insert(tx, &session)?;
            store::task::set_start_requested(tx, &task_id, false, now)?;
            if let Some(prompt) = prompt {
                let turn = open_turn(turn_id, &session, now);
                store_prompt(tx, &turn, message_id, prompt)?;
            }
            turn::advance(tx, &session.id, TurnEvent::Starting, now)?;
            Ok::<_, EngineError>(())
        });
        write.await?;
        crate::failpoint!("engine.session.stored");
        self.wake(&session_id, opened_turn.zip(request.prompt)).await;
        self.session(session_id).await
    }

    /// Sends a prompt to a session, starting its agent when it does not run.
    pub async fn prompt(&self, id: SessionId, text: String) -> Result<SessionView, EngineError> {
        check_prompt(&text)?;
        let now = self.now();
        let (turn_id, message_id) = (TurnId::generate(self.ids()), MessageId::generate(self.ids()));
        let (session_id, opened_turn, prompt) = (id.clone(), turn_id.clone(), text.clone());
        let node = self.inner.options.node_id.clone();
        let write = self.inner.store.write(move |tx| {
            let task_id = store::session::require(tx, &id)?.task_id;
            let task = store::task::lock(tx, &task_id)?;
            require_open(tx, &task)?;
            crate::cleanup::waiting::require_here(tx, &node, &task_id)?;
            let session = store::session::require(tx, &id)?;
            let event = match session.state {
                SessionState::Idle => TurnEvent::Begun,
                state if state.is_live() => {
                    return Err(EngineError::SessionBusy { session_id: id, state });
                }
                _ => TurnEvent::Starting,
            };
            store_prompt(tx, &open_turn(turn_id, &session, now), message_id, prompt)?;
            turn::advance(tx, &session.id, event, now)?;
            Ok(())
        });
        write.await?;
        self.wake(&session_id, Some((opened_turn, text))).await;
        self.session(session_id).await
    }

    /// Asks the agent to end its turn; the agent goes on running.
    pub async fn cancel_turn(&self, id: SessionId) -> Result<SessionView, EngineError> {
        let session = self.session(id.clone()).await?;
        let busy = matches!(session.session.state, SessionState::Running | SessionState::WaitingForInput);
        match self.inner.sessions.agent(&id) {
            Some(agent) if busy => agent.cancel().await?,
            _ => return Err(EngineError::NoTurn { session_id: id }),
        }
        self.session(id).await
    }

    /// Ends the session's agent, if it runs; a later prompt starts it again.
    pub async fn stop_session(&self, id: SessionId) -> Result<SessionView, EngineError> {
        self.session(id.clone()).await?;
        self.inner.sessions.stop(&id).await;
        self.session(id).await
    }

    /// Deletes a session and its conversation. Files, registrations and branches of the task are untouched,
    /// also when it was the last session.
    pub async fn delete_session(&self, id: SessionId) -> Result<SessionDeleted, EngineError> {
        self.session(id.clone()).await?;
        self.inner.sessions.stop(&id).await;
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let session = store::session::require(tx, &id)?;
            store::task::lock(tx, &session.task_id)?;
            let sessions = store::session::list_by_task(tx, &session.task_id)?;
            if let Some(revived) = sessions.iter().find(|other| other.id == id && other.state.is_live()) {
                return Err(EngineError::SessionBusy { session_id: id, state: revived.state });
            }
            let heir = primary_after_deletion(&sessions, &id).map(|session| session.id.clone());
            let environment = store::environment::find_visited(tx, &session.task_id)?;
            store::session::delete(tx, &id)?;
            let task_id = session.task_id;
            if let Some(heir) = heir.as_ref().filter(|_| session.is_primary) {
                store::session::set_primary(tx, &task_id, heir, now)?;
                tx.emit(
                    EventBody::SessionChanged { task_id: task_id.clone(), session_id: heir.clone() },
                    now,
                );
            }
            tx.emit(EventBody::SessionDeleted { task_id: task_id.clone(), session_id: id.clone() }, now);
            tx.emit(EventBody::TaskChanged { task_id }, now);
            let workspace_path =
                environment.map(|environment| environment.workspace_path).unwrap_or_default();
            Ok(SessionDeleted { session_id: id, primary_session_id: heir, workspace_path })
        });
        write.await
    }

    /// Answers a permission request with one of its options, or refuses it when there is none.
    pub async fn answer_permission(
        &self,
        id: SessionId,
        request_id: String,
        option_id: Option<String>,
    ) -> Result<SessionView, EngineError> {
        let closed =
            || EngineError::PermissionClosed { session_id: id.clone(), request_id: request_id.clone() };
        let (session_id, request) = (id.clone(), request_id.clone());
        let read = self.inner.store.read(move |tx| {
            store::session::require(tx, &session_id)?;
            store::message::find_permission(tx, &session_id, &request)
        });
        let message = read.await?.ok_or_else(closed)?;
        let mut permission =
            permission_of(&message).filter(|asked| asked.status == "pending").ok_or_else(closed)?;
        if let Some(chosen) = &option_id
            && permission.options.iter().all(|option| option.option_id != *chosen)
        {
            let reason = format!("the agent does not offer {chosen:?}");
            return Err(EngineError::InvalidField { field: "option_id", reason });
        }
        let agent = self.inner.sessions.agent(&id).ok_or_else(closed)?;
        agent.answer_permission(&request_id, option_id.as_deref()).await.map_err(|_| closed())?;
        permission.status = "answered".into();
        permission.chosen = option_id;
        self.record_answer(id.clone(), message, permission).await?;
        self.session(id).await
    }

    async fn record_answer(
        &self,
        session_id: SessionId,
        message: Message,
        permission: Permission,
    ) -> Result<(), EngineError> {
        let now = self.now();
        let write = self.inner.store.write(move |tx| {
            let Some(session) = turn::lock(tx, &session_id)? else { return Ok(()) };
            record::replace_metadata(tx, &message, &permission, now)?;
            let waits = !store::message::pending_permissions(tx, &session_id)?.is_empty();
            if !waits && session.state == SessionState::WaitingForInput {
                turn::advance(tx, &session_id, TurnEvent::PermissionAnswered, now)?;
            }
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// Reads a page of a conversation: the newest messages, or those before an ordinal.
    pub async fn messages(
        &self,
        id: SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<MessageList, EngineError> {
        if !(1..=500).contains(&limit) {
            let reason = format!("{limit} is not between 1 and 500");
            return Err(EngineError::InvalidField { field: "limit", reason });
        }
        let read = self.inner.store.read(move |tx| {
            store::session::require(tx, &id)?;
            let items = store::message::page_before(tx, &id, before, limit)?;
            let has_older = items.first().is_some_and(|first| first.ordinal > 1);
            let last_event = store::event::newest(tx)?;
            Ok::<_, StoreError>(MessageList { items, has_older, last_event })
        });
        Ok(read.await?)
    }

    /// Ends the agents that work in an environment, whatever task their sessions belong to. Those of closed
    /// borrowers may still run when their owner's job comes first.
    pub(crate) async fn stop_visitors_of(&self, resources: &ResourceSnapshot) -> Result<(), EngineError> {
        let Some(id) = resources.environment_id.clone() else { return Ok(()) };
        let sessions = self.inner.store.read(move |tx| store::session::list_by_environment(tx, &id)).await?;
        for session in sessions {
            self.inner.sessions.stop(&session.id).await;
        }
        Ok(())
    }

    /// Ends the scripts of a task and the agents of its sessions.
    pub(crate) async fn stop_sessions_of(&self, task_id: &TaskId) -> Result<(), EngineError> {
        let id = task_id.clone();
        self.inner.setups.stop(task_id).await;
        let sessions = self.inner.store.read(move |tx| store::session::list_by_task(tx, &id)).await?;
        for session in sessions {
            self.inner.sessions.stop(&session.id).await;
        }
        Ok(())
    }
}

fn check_prompt(text: &str) -> Result<(), EngineError> {
    if text.trim().is_empty() {
        return Err(EngineError::EmptyPrompt);
    }
    check_prompt_length(text)
}

fn chosen_agent(
    tx: &mut Tx<'_>,
    requested: Option<AgentProfileId>,
    task: &Task,
) -> Result<AgentProfileId, EngineError> {
    if let Some(id) = requested {
        crate::agent::require_profile(tx, &id)?;
        return crate::agent::require_startable(tx, &id, "session").map(|profile| profile.id);
    }
    let id = task.agent_profile_id.as_ref().ok_or(EngineError::InvalidField {
        field: "agent_profile_id",
        reason: "the task has no agent any more; choose one".into(),
    })?;
    crate::agent::require_startable(tx, id, "task").map(|profile| profile.id)
}

/// Refuses work on a task that is closed or being closed.
pub(crate) fn require_open(tx: &mut Tx<'_>, task: &Task) -> Result<(), EngineError> {
    if let Some(job) = store::cleanup::barrier_of(tx, &task.id)? {
        return Err(EngineError::Barrier { task_id: task.id.clone(), job_id: job.id, trigger: job.trigger });
    }
    if task.is_open() { Ok(()) } else { Err(EngineError::TaskClosed { task_id: task.id.clone() }) }
}

fn open_turn(id: TurnId, session: &Session, now: freehold_domain::clock::Timestamp) -> Turn {
    Turn {
        id,
        session_id: session.id.clone(),
        task_id: session.task_id.clone(),
        started_at: now,
        completed_at: None,
        stop_reason: String::new(),
    }
}

fn store_prompt(tx: &mut Tx<'_>, turn: &Turn, id: MessageId, text: String) -> Result<(), StoreError> {
    store::message::insert_turn(tx, turn)?;
    let message = Message {
        id,
        session_id: turn.session_id.clone(),
        task_id: turn.task_id.clone(),
        turn_id: turn.id.clone(),
        ordinal: 0,
        author: Author::User,
        kind: MessageKind::Text,
        content: text,
        metadata: serde_json::json!({}),
        created_at: turn.started_at,
        updated_at: turn.started_at,
    };
    record::add(tx, &message)
}

fn permission_of(message: &Message) -> Option<Permission> {
    serde_json::from_value(message.metadata.clone()).ok()
}

/// The state of a task whose session is in `state`.
fn task_state(state: SessionState) -> Option<TaskState> {
    match state {
        SessionState::Starting | SessionState::Running => Some(TaskState::InProgress),
        SessionState::WaitingForInput => Some(TaskState::WaitingForInput),
        SessionState::Idle | SessionState::Completed | SessionState::Interrupted => Some(TaskState::Review),
        SessionState::Failed => Some(TaskState::Failed),
        SessionState::Created | SessionState::Cancelled => None,
    }
}
