//! Turns what an agent tells into messages, in few transactions.
//!
//! Text comes in small pieces. Pieces that follow one another are joined until the next flush, so a flush
//! writes one row change and one event per message, however many pieces came. Nothing is dropped: what a
//! failed flush could not write stays in the queue for the next one.

use std::collections::HashMap;
use std::sync::Arc;

use freehold_agent::{AgentEvent, PermissionOption, PlanEntry, ToolCallUpdate};
use freehold_domain::clock::{Clock, IdSource, Timestamp};
use freehold_domain::event::{EventBody, MessageBody};
use freehold_domain::id::{MessageId, SessionId, TaskId, TurnId};
use freehold_domain::message::{self, Author, Message, MessageKind, Turn};
use freehold_store as store;
use freehold_store::{Store, StoreError, Tx};
use serde::Serialize;
use serde_json::{Value, json};

use super::turn::{self, TurnEvent};

/// Stores a message at the end of its session and tells of it.
pub(super) fn add(tx: &mut Tx<'_>, message: &Message) -> Result<(), StoreError> {
    let message = store::message::append_message(tx, message)?;
    let body = MessageBody::from(&message);
    let at = message.updated_at;
    let (task_id, session_id) = (message.task_id, message.session_id);
    tx.emit(EventBody::MessageAdded { task_id, session_id, message: body }, at);
    Ok(())
}

/// Replaces a message's metadata and tells of it.
pub(super) fn replace_metadata(
    tx: &mut Tx<'_>,
    message: &Message,
    metadata: &impl Serialize,
    now: Timestamp,
) -> Result<(), StoreError> {
    replace(tx, &message.id, &message.content, &to_value(metadata), now)
}

fn replace(
    tx: &mut Tx<'_>,
    id: &MessageId,
    content: &str,
    metadata: &Value,
    now: Timestamp,
) -> Result<(), StoreError> {
    let message = store::message::replace(tx, id, content, metadata, now)?;
    let body = MessageBody::from(&message);
    let (task_id, session_id) = (message.task_id, message.session_id);
    tx.emit(EventBody::MessageReplaced { task_id, session_id, message: body }, now);
    Ok(())
}

fn to_value(metadata: &impl Serialize) -> Value {
    serde_json::to_value(metadata).unwrap_or_else(|_| json!({}))
}

/// One change that waits for the next flush.
#[derive(Debug, Clone)]
enum Change {
    Begin(Turn),
    Add(Message),
    Append { id: MessageId, text: String, at: Timestamp },
    Replace { id: MessageId, content: String, metadata: Value, at: Timestamp },
    Advance(TurnEvent, Timestamp),
    Finish { turn_id: TurnId, stop_reason: String, at: Timestamp },
}

impl Change {
    fn apply(self, tx: &mut Tx<'_>, session_id: &SessionId, task_id: &TaskId) -> Result<(), StoreError> {
        match self {
            Self::Begin(turn) => store::message::insert_turn(tx, &turn),
            Self::Add(message) => add(tx, &message),
            Self::Append { id, text, at } => {
                let offset = store::message::append_text(tx, &id, &text, at)?;
                let (task_id, session_id) = (task_id.clone(), session_id.clone());
                tx.emit(EventBody::MessageAppended { task_id, session_id, message_id: id, offset, text }, at);
                Ok(())
            }
            Self::Replace { id, content, metadata, at } => replace(tx, &id, &content, &metadata, at),
            Self::Advance(event, at) => turn::advance(tx, session_id, event, at),
            Self::Finish { turn_id, stop_reason, at } => finish(tx, session_id, &turn_id, &stop_reason, at),
        }
    }
}

/// Ends a turn; permission requests that nobody answered expire with it.
fn finish(
    tx: &mut Tx<'_>,
    session_id: &SessionId,
    turn_id: &TurnId,
    stop_reason: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    store::message::finish_turn(tx, turn_id, at, stop_reason)?;
    expire_permissions(tx, session_id, at)
}

pub(super) fn expire_permissions(
    tx: &mut Tx<'_>,
    session_id: &SessionId,
    at: Timestamp,
) -> Result<(), StoreError> {
    for message in store::message::pending_permissions(tx, session_id)? {
        if let Some(mut permission) = super::permission_of(&message) {
            permission.status = "expired".into();
            replace_metadata(tx, &message, &permission, at)?;
        }
    }
    Ok(())
}

/// Whose conversation is recorded, and with what.
pub(super) struct Context {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) session_id: SessionId,
    pub(super) task_id: TaskId,
}

/// Turns one session's agent events into messages.
pub(super) struct Recorder {
    context: Context,
    turn_id: Option<TurnId>,
    /// The message that text of this kind is added to; another kind or message ends it.
    open_text: Option<(MessageKind, MessageId)>,
    tools: HashMap<String, (MessageId, String, message::ToolCall)>,
    plan: Option<MessageId>,
    changes: Vec<Change>,
}

impl Recorder {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            turn_id: None,
            open_text: None,
            tools: HashMap::new(),
            plan: None,
            changes: Vec::new(),
        }
    }

    /// Says that what follows belongs to a turn whose rows are stored already.
    pub(super) fn begin_turn(&mut self, turn_id: TurnId) {
        self.turn_id = Some(turn_id);
        self.open_text = None;
        self.tools.clear();
        self.plan = None;
    }

    /// Takes one event; [`Recorder::flush`] stores it.
    pub(super) fn record(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Text { text } => self.text(MessageKind::Text, text),
            AgentEvent::Thought { text } => self.text(MessageKind::Thinking, text),
            AgentEvent::ToolCall(update) => self.tool_call(update),
            AgentEvent::Plan { entries } => self.set_plan(entries),
            AgentEvent::PermissionRequested { request_id, tool_call, options } => {
                self.permission(request_id, tool_call, options);
            }
            AgentEvent::Other { kind, raw } => {
                tracing::debug!(session_id = %self.context.session_id, kind, %raw, "an update without a shape here");
            }
            AgentEvent::Stderr { line } => {
                tracing::debug!(session_id = %self.context.session_id, line, "agent");
            }
            AgentEvent::Exited(_) => {}
        }
    }

    /// Adds a message of Freehold itself, such as a failure.
    pub(super) fn note(&mut self, kind: MessageKind, text: String) {
        self.open_text = None;
        self.add(Author::System, kind, text, json!({}));
    }

    /// Notes what happened to the session.
    pub(super) fn advance(&mut self, event: TurnEvent) {
        let at = self.context.clock.now();
        self.changes.push(Change::Advance(event, at));
    }

    /// Ends a turn.
    pub(super) fn finish_turn(&mut self, turn_id: TurnId, stop_reason: &str) {
        self.open_text = None;
        let at = self.context.clock.now();
        self.changes.push(Change::Finish { turn_id, stop_reason: stop_reason.to_owned(), at });
    }

    /// Whether anything waits for a flush.
    pub(super) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Stores everything that waits, in one transaction; what cannot be stored waits on.
    pub(super) async fn flush(&mut self) -> Result<(), StoreError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = self.changes.clone();
        let (session_id, task_id) = (self.context.session_id.clone(), self.context.task_id.clone());
        let write = self.context.store.write(move |tx| {
            if turn::lock(tx, &session_id)?.is_none() {
                return Ok(());
            }
            changes.into_iter().try_for_each(|change| change.apply(tx, &session_id, &task_id))
        });
        write.await?;
        self.changes.clear();
        Ok(())
    }

    fn text(&mut self, kind: MessageKind, text: String) {
        if text.is_empty() {
            return;
        }
        match self.open_text.clone() {
            Some((open_kind, id)) if open_kind == kind => self.append(id, text),
            _ => {
                let id = self.add(Author::Agent, kind, text, json!({}));
                self.open_text = Some((kind, id));
            }
        }
    }

    fn append(&mut self, id: MessageId, text: String) {
        match self.changes.last_mut() {
            Some(Change::Add(message)) if message.id == id => message.content.push_str(&text),
            Some(Change::Append { id: last, text: waiting, .. }) if *last == id => waiting.push_str(&text),
            _ => {
                let at = self.context.clock.now();
                self.changes.push(Change::Append { id, text, at });
            }
        }
    }

    fn tool_call(&mut self, update: ToolCallUpdate) {
        self.open_text = None;
        let known = self.tools.remove(&update.id);
        let (existing, mut title, mut call) = match known {
            Some((id, title, call)) => (Some(id), title, call),
            None => (None, String::new(), message::ToolCall::default()),
        };
        let tool_call_id = update.id.clone();
        merge(&mut title, &mut call, update);
        let id = match existing {
            Some(id) => self.replace(id, title.clone(), to_value(&call)),
            None => self.add(Author::Agent, MessageKind::ToolCall, title.clone(), to_value(&call)),
        };
        self.tools.insert(tool_call_id, (id, title, call));
    }

    fn set_plan(&mut self, entries: Vec<PlanEntry>) {
        self.open_text = None;
        let entries = entries.into_iter().map(|entry| message::PlanEntry {
            content: entry.content,
            priority: entry.priority,
            status: entry.status,
        });
        let metadata = to_value(&message::Plan { entries: entries.collect() });
        let id = match self.plan.take() {
            Some(id) => self.replace(id, String::new(), metadata),
            None => self.add(Author::Agent, MessageKind::Plan, String::new(), metadata),
        };
        self.plan = Some(id);
    }

    fn permission(&mut self, request_id: String, tool_call: ToolCallUpdate, options: Vec<PermissionOption>) {
        let title = tool_call.title.clone().unwrap_or_default();
        let tool_call_id = tool_call.id.clone();
        if !tool_call.id.is_empty() {
            self.tool_call(tool_call);
        }
        self.open_text = None;
        let options = options.into_iter().map(|option| message::PermissionOption {
            option_id: option.option_id,
            name: option.name,
            kind: option.kind,
        });
        let permission = message::Permission {
            request_id,
            tool_call_id,
            options: options.collect(),
            status: "pending".into(),
            chosen: None,
        };
        self.add(Author::Agent, MessageKind::Permission, title, to_value(&permission));
        self.advance(TurnEvent::PermissionAsked);
    }

    fn replace(&mut self, id: MessageId, content: String, metadata: Value) -> MessageId {
        let at = self.context.clock.now();
        self.changes.push(Change::Replace { id: id.clone(), content, metadata, at });
        id
    }

    fn add(&mut self, author: Author, kind: MessageKind, content: String, metadata: Value) -> MessageId {
        let now = self.context.clock.now();
        let turn_id = self.require_turn(now);
        let id = MessageId::generate(self.context.ids.as_ref());
        self.changes.push(Change::Add(Message {
            id: id.clone(),
            session_id: self.context.session_id.clone(),
            task_id: self.context.task_id.clone(),
            turn_id,
            ordinal: 0,
            author,
            kind,
            content,
            metadata,
            created_at: now,
            updated_at: now,
        }));
        id
    }

    /// The turn that a message belongs to; an agent that speaks before the first prompt gets one of its own.
    fn require_turn(&mut self, now: Timestamp) -> TurnId {
        if let Some(turn_id) = &self.turn_id {
            return turn_id.clone();
        }
        let id = TurnId::generate(self.context.ids.as_ref());
        self.changes.push(Change::Begin(Turn {
            id: id.clone(),
            session_id: self.context.session_id.clone(),
            task_id: self.context.task_id.clone(),
            started_at: now,
            completed_at: Some(now),
            stop_reason: "end_turn".into(),
        }));
        self.turn_id = Some(id.clone());
        id
    }
}

/// Applies a partial update: what is absent stays.
fn merge(title: &mut String, call: &mut message::ToolCall, update: ToolCallUpdate) {
    call.tool_call_id = update.id;
    if let Some(new) = update.title {
        *title = new;
    }
    if let Some(kind) = update.kind {
        call.tool_kind = kind;
    }
    if let Some(status) = update.status {
        call.status = status;
    }
    if let Some(locations) = update.locations {
        call.locations = locations;
    }
    if let Some(output) = update.output {
        call.output = output;
    }
    if let Some(diffs) = update.diffs {
        let shaped = |diff: freehold_agent::ToolDiff| message::ToolDiff {
            path: diff.path,
            old_text: diff.old_text,
            new_text: diff.new_text,
        };
        call.diffs = diffs.into_iter().map(shaped).collect();
    }
    call.raw_input = update.raw_input.or(call.raw_input.take());
}
