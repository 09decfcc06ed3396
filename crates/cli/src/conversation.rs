//! Shows a conversation while it happens, until the agent's turn ends.
//!
//! A *follower* listens before the work is asked for, so that it misses nothing. A turn has ended when its
//! session says so and every event stored up to then was shown. Reading a session after an event gives a state
//! at least as new as the event, so waiting for the next event never waits for one that was read already.

use std::collections::HashMap;

use freehold_api::client::LiveStream;
use freehold_api::live::{EventBody, LiveEvent, LiveFrame};
use freehold_api::session::{
    Message, MessageQuery, Permission, PermissionAnswer, PermissionOption, Plan, Session, ToolCall,
};

use crate::connection::Connection;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Tone, one_line, short};

/// How many messages are searched for an open permission request.
const RECENT_MESSAGES: u32 = 100;

/// Follows one task.
pub(crate) struct Follower<'a> {
    connection: &'a Connection,
    live: LiveStream,
    /// The newest event that was shown.
    seen: i64,
    screen: Screen,
    /// The permission requests that were answered here.
    answered: Vec<String>,
}

impl<'a> Follower<'a> {
    /// Begins to listen; call it before asking for the work.
    pub(crate) fn begin(connection: &'a Connection, output: Output) -> Result<Self, Failure> {
        let mut live = connection.live()?;
        let seen = match live.next_frame()? {
            LiveFrame::Ready { newest, .. } | LiveFrame::Reset { newest } | LiveFrame::Ping { newest } => {
                newest
            }
            LiveFrame::Event(event) => event.seq,
            LiveFrame::Refused { message } => {
                return Err(Failure::new(Exit::Unreachable, "live_refused", message));
            }
            LiveFrame::Answer { .. } => {
                let message = "the live connection began with an answer to a call that was not made";
                return Err(Failure::new(Exit::Unreachable, "live_refused", message));
            }
        };
        Ok(Self { connection, live, seen, screen: Screen::new(output), answered: Vec::new() })
    }

    /// Waits until a task that was started has a session.
    pub(crate) fn until_session(&mut self, task_id: &str) -> Result<Session, Failure> {
        loop {
            let detail = self.connection.client.task(task_id)?;
            let is_primary = |session: &&Session| session.is_primary;
            if let Some(session) = detail.sessions.iter().find(is_primary).or(detail.sessions.first()) {
                return Ok(session.clone());
            }
            if detail.task.state == "FAILED" {
                return Err(Failure::new(Exit::Failure, "task_failed", detail.error_message)
                    .hint(format!("the task is kept; try again: freehold task start {}", short(task_id)))
                    .subject(task_id));
            }
            self.until_change(task_id, None)?;
        }
    }

    /// Shows a session's turn until it ends, and gives the session as it is then.
    pub(crate) fn until_turn_ends(&mut self, session: &Session) -> Result<Session, Failure> {
        loop {
            let now = self.connection.client.session(&session.id)?;
            if now.state == "WAITING_FOR_INPUT" {
                if self.answer_permission(&now)? {
                    continue;
                }
            } else if !is_working(&now.state) {
                let query = MessageQuery { before: None, limit: Some(1) };
                let last_event = self.connection.client.messages(&now.id, &query)?.last_event;
                self.show_up_to(last_event, &now)?;
                return self.screen.end(now);
            }
            self.until_change(&now.task_id, Some(&now.id))?;
        }
    }

    /// Shows events until one tells that the task or one of its sessions changed.
    fn until_change(&mut self, task_id: &str, session_id: Option<&str>) -> Result<(), Failure> {
        loop {
            let Some(event) = self.next_event()? else { return Ok(()) };
            self.screen.show(&event, session_id);
            let changed = match &event.event {
                EventBody::TaskChanged { task_id }
                | EventBody::TaskDeleted { task_id }
                | EventBody::SessionChanged { task_id, .. }
                | EventBody::SessionDeleted { task_id, .. } => task_id,
                _ => continue,
            };
            if changed == task_id {
                return Ok(());
            }
        }
    }

    fn show_up_to(&mut self, last_event: i64, session: &Session) -> Result<(), Failure> {
        while self.seen < last_event {
            if let Some(event) = self.next_event()? {
                self.screen.show(&event, Some(&session.id));
            }
        }
        Ok(())
    }

    /// Takes the next event; none when only a sign of life came.
    fn next_event(&mut self) -> Result<Option<LiveEvent>, Failure> {
        match self.live.next_frame()? {
            LiveFrame::Event(event) => {
                self.seen = event.seq;
                Ok(Some(event))
            }
            LiveFrame::Ready { newest, .. } | LiveFrame::Reset { newest } | LiveFrame::Ping { newest } => {
                self.seen = self.seen.max(newest);
                Ok(None)
            }
            LiveFrame::Answer { .. } => Ok(None),
            LiveFrame::Refused { message } => Err(Failure::new(Exit::Unreachable, "live_refused", message)),
        }
    }

    /// Asks the person about the open permission request; false when there is none that was not answered yet.
    fn answer_permission(&mut self, session: &Session) -> Result<bool, Failure> {
        let query = MessageQuery { before: None, limit: Some(RECENT_MESSAGES) };
        let page = self.connection.client.messages(&session.id, &query)?;
        let open = page.items.iter().find_map(|message| {
            let permission = permission_of(message)?;
            let is_new = !self.answered.contains(&permission.request_id);
            (permission.status == "pending" && is_new).then_some((message.content.as_str(), permission))
        });
        let Some((title, permission)) = open else { return Ok(false) };
        self.show_up_to(page.last_event, session)?;
        self.screen.end_line();
        let output = self.screen.output;
        if !output.can_ask() {
            return Err(left_open(session, title, self.connection.is_embedded()));
        }
        let option_id = ask(output, title, &permission.options)?;
        self.answered.push(permission.request_id.clone());
        let answer = PermissionAnswer { option_id };
        match self.connection.client.answer_permission(&session.id, &permission.request_id, &answer) {
            Ok(_) => Ok(true),
            Err(error) => match Failure::from(error) {
                // Somebody else was quicker, or the turn was cancelled.
                failure if failure.exit == Exit::Conflict => Ok(true),
                failure => Err(failure),
            },
        }
    }
}

/// Whether an agent is at work or about to be.
#[must_use]
pub(crate) fn is_working(state: &str) -> bool {
    matches!(state, "CREATED" | "STARTING" | "RUNNING" | "WAITING_FOR_INPUT")
}

fn permission_of(message: &Message) -> Option<Permission> {
    (message.kind == "permission_request").then(|| serde_json::from_value(message.metadata.clone()).ok())?
}

fn left_open(session: &Session, title: &str, is_embedded: bool) -> Failure {
    let message = format!("the agent asks for permission: {title}");
    let hint = if is_embedded {
        "no server was running, so the agent ends with this command; run `freehold serve` and send the prompt again"
    } else {
        "the request stays open; answer it in the browser, or run the command on a terminal"
    };
    Failure::new(Exit::NeedsDecision, "permission_pending", message).hint(hint).subject(session.id.clone())
}

/// Lets the person choose; an empty answer refuses by cancelling.
fn ask(output: Output, title: &str, options: &[PermissionOption]) -> Result<Option<String>, Failure> {
    output.note(&format!("The agent asks for permission: {title}"));
    for (number, option) in (1..).zip(options) {
        output.note(&format!("  {number}  {}", option.name));
    }
    loop {
        let answer = output.ask(&format!("Choose 1 to {}, or press Enter to cancel: ", options.len()))?;
        let answer = answer.trim();
        if answer.is_empty() {
            return Ok(None);
        }
        let chosen = answer.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
        if let Some(option) = chosen {
            return Ok(Some(option.option_id.clone()));
        }
    }
}

/// What is on the screen.
struct Screen {
    output: Output,
    /// The message whose text ends the last line, so that its next piece can follow there.
    open_message: Option<String>,
    /// The last state shown of each tool call.
    tool_states: HashMap<String, String>,
    /// The last error that the conversation tells of.
    error: Option<String>,
}

impl Screen {
    fn new(output: Output) -> Self {
        Self { output, open_message: None, tool_states: HashMap::new(), error: None }
    }

    fn show(&mut self, event: &LiveEvent, followed: Option<&str>) {
        match &event.event {
            EventBody::MessageAdded { session_id, message, .. } if followed == Some(session_id.as_str()) => {
                self.show_message(message);
            }
            EventBody::MessageReplaced { session_id, message, .. }
                if followed == Some(session_id.as_str()) && message.kind == "tool_call" =>
            {
                self.show_message(message);
            }
            EventBody::MessageAppended { session_id, message_id, text, .. }
                if followed == Some(session_id.as_str())
                    && self.open_message.as_ref() == Some(message_id) =>
            {
                self.piece(text);
            }
            _ => {}
        }
    }

    fn show_message(&mut self, message: &Message) {
        if message.author == "user" {
            return;
        }
        match message.kind.as_str() {
            "message" | "thinking" => {
                self.end_line();
                self.open_message = Some(message.id.clone());
                if message.kind == "thinking" {
                    self.piece("(thinking) ");
                }
                self.piece(&message.content);
            }
            "tool_call" => self.show_tool_call(message),
            "agent_plan" => self.show_plan(message),
            "error" => {
                self.line(Tone::Bad, &format!("error: {}", message.content));
                self.error = Some(message.content.clone());
            }
            "status" => self.line(Tone::Quiet, &message.content),
            _ => {}
        }
    }

    fn show_tool_call(&mut self, message: &Message) {
        let Ok(call) = serde_json::from_value::<ToolCall>(message.metadata.clone()) else { return };
        let is_told = matches!(call.status.as_str(), "completed" | "failed");
        let before = self.tool_states.insert(message.id.clone(), call.status.clone());
        if is_told && before.as_ref() != Some(&call.status) {
            let (mark, tone) = if call.status == "failed" { ("✗", Tone::Bad) } else { ("✓", Tone::Good) };
            self.line(tone, &format!("{mark} {}", one_line(&message.content, 100)));
        }
    }

    fn show_plan(&mut self, message: &Message) {
        let Ok(plan) = serde_json::from_value::<Plan>(message.metadata.clone()) else { return };
        for entry in plan.entries {
            self.line(Tone::Quiet, &format!("- {}", entry.content));
        }
    }

    fn piece(&self, text: &str) {
        if !self.output.is_json() {
            self.output.piece(text);
        }
    }

    fn line(&mut self, tone: Tone, text: &str) {
        self.end_line();
        self.piece(&format!("{}\n", self.output.paint(tone, text)));
    }

    fn end_line(&mut self) {
        if self.open_message.take().is_some() {
            self.piece("\n");
        }
    }

    /// Ends the showing; a session or turn that failed is a failure.
    fn end(&mut self, session: Session) -> Result<Session, Failure> {
        self.end_line();
        let failure = |code, message: &str| {
            Failure::new(Exit::Failure, code, message)
                .hint(format!(
                    "the files are kept; go on with: freehold session send {} PROMPT",
                    short(&session.id)
                ))
                .subject(session.id.clone())
        };
        match (session.state.as_str(), self.error.take()) {
            ("FAILED", _) => Err(failure("session_failed", &session.error_message)),
            ("INTERRUPTED" | "CANCELLED", _) => {
                Err(failure("session_interrupted", "the session was interrupted"))
            }
            (_, Some(error)) => Err(failure("turn_failed", &error)),
            (_, None) => Ok(session),
        }
    }
}
