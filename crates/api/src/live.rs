//! The live connection: a WebSocket that sends every event once, in order, from where the client left off.
//!
//! The client's first frame is [`LiveHello`]. The server answers [`LiveFrame::Ready`], then sends all events
//! after `since` and goes on with new ones. A client that reconnects says the last number it saw.
//!
//! Over the same connection a client may ask for every operation of the interface: each later frame of it is a
//! [`LiveCall`], answered by one [`LiveFrame::Answer`] among the events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session::Message;

/// The first frame of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveHello {
    /// The access token.
    pub token: String,
    /// The last event that was seen; absent to begin with the present.
    #[serde(default)]
    pub since: Option<i64>,
}

/// A later frame of a client: one request of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveCall {
    /// A name for the call, chosen by the client; the answer carries it.
    pub call: String,
    /// The method, for example `POST`.
    pub method: String,
    /// The path with its query, for example `/tasks/3f2a/archive?seal=true`.
    pub path: String,
    /// The body, where the request has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<serde_json::Value>,
}

/// A frame of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "frame", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every frame is an event")]
pub enum LiveFrame {
    /// The hello was accepted; events after `since` follow.
    Ready {
        /// Where the stream begins.
        since: i64,
        /// The newest event at this moment.
        newest: i64,
    },
    /// The events after `since` are no longer kept: load everything anew and go on from `newest`.
    Reset {
        /// The newest event at this moment.
        newest: i64,
    },
    /// One event.
    Event(LiveEvent),
    /// Nothing happened for a while; the connection is alive.
    Ping {
        /// The newest event that was sent.
        newest: i64,
    },
    /// What became of a [`LiveCall`]; answers come as they are ready, not in the order of the calls.
    Answer {
        /// The name of the call; empty when it could not be read.
        call: String,
        /// The status, as over HTTP.
        status: u16,
        /// The body, as over HTTP; null when there is none.
        body: serde_json::Value,
    },
    /// The hello was refused; the connection is closed.
    Refused {
        /// Why.
        message: String,
    },
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveEvent {
    /// Its place in the order of commits, from 1, without holes.
    pub seq: i64,
    /// When it was stored.
    pub at: String,
    /// What changed.
    pub event: EventBody,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A repository was registered or changed.
    RepositoryChanged {
        /// The repository.
        repository_id: String,
    },
    /// A task was made or changed: title, column, state, archive, environment.
    TaskChanged {
        /// The task.
        task_id: String,
    },
    /// A task is gone.
    TaskDeleted {
        /// The task.
        task_id: String,
    },
    /// A session was made or changed.
    SessionChanged {
        /// The task.
        task_id: String,
        /// The session.
        session_id: String,
    },
    /// A session and its conversation are gone; the task's files are not.
    SessionDeleted {
        /// The task.
        task_id: String,
        /// The session.
        session_id: String,
    },
    /// A message was begun.
    MessageAdded {
        /// The task.
        task_id: String,
        /// The session.
        session_id: String,
        /// The message as it was when begun.
        message: Message,
    },
    /// Text was added to the end of a message.
    MessageAppended {
        /// The task.
        task_id: String,
        /// The session.
        session_id: String,
        /// The message.
        message_id: String,
        /// The length of the text before, in UTF-16 code units.
        offset: u64,
        /// The text added.
        text: String,
    },
    /// A message was replaced.
    MessageReplaced {
        /// The task.
        task_id: String,
        /// The session.
        session_id: String,
        /// The message as it is now.
        message: Message,
    },
    /// A set-up or tear-down script printed something.
    SetupOutput {
        /// The task.
        task_id: String,
        /// The run.
        setup_id: String,
        /// The text.
        text: String,
    },
    /// A cleanup job was made or went on.
    CleanupJobChanged {
        /// The task; it may be gone.
        task_id: String,
        /// The job.
        job_id: String,
    },
}
