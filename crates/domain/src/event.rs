//! Events: what changed, in the order in which it was committed.
//!
//! An event is stored in the outbox in the same transaction as the change it tells of. Its sequence number
//! grows with every commit, so a client that knows the last number it saw can ask for the rest.

use crate::clock::Timestamp;
use crate::id::{CleanupJobId, MessageId, RepositoryId, SessionId, SetupId, TaskId, TurnId};

/// One stored event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place in the order of commits, from 1, without holes.
    pub seq: i64,
    /// When it was stored.
    pub created_at: Timestamp,
    /// What changed.
    pub body: EventBody,
}

/// What changed. It is stored and sent as JSON tagged by `type`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A repository was registered or changed.
    RepositoryChanged {
        /// The repository.
        repository_id: RepositoryId,
    },
    /// A task was made or changed: title, column, state, archive, environment.
    TaskChanged {
        /// The task.
        task_id: TaskId,
    },
    /// A task is gone.
    TaskDeleted {
        /// The task.
        task_id: TaskId,
    },
    /// A session was made or changed.
    SessionChanged {
        /// The task.
        task_id: TaskId,
        /// The session.
        session_id: SessionId,
    },
    /// A session and its conversation are gone; the task's files are not.
    SessionDeleted {
        /// The task.
        task_id: TaskId,
        /// The session.
        session_id: SessionId,
    },
    /// A message was begun.
    MessageAdded {
        /// The task.
        task_id: TaskId,
        /// The session.
        session_id: SessionId,
        /// The message, whole as it was when begun.
        message: MessageBody,
    },
    /// Text was added to the end of a message.
    MessageAppended {
        /// The task.
        task_id: TaskId,
        /// The session.
        session_id: SessionId,
        /// The message.
        message_id: MessageId,
        /// The length of the text before, in UTF-16 code units, so that a browser can tell a repetition.
        offset: u64,
        /// The text added.
        text: String,
    },
    /// A message was replaced: a tool call that went on, a permission that was answered, a new plan.
    MessageReplaced {
        /// The task.
        task_id: TaskId,
        /// The session.
        session_id: SessionId,
        /// The message, whole as it is now.
        message: MessageBody,
    },
    /// A set-up or tear-down script printed something.
    SetupOutput {
        /// The task.
        task_id: TaskId,
        /// The run.
        setup_id: SetupId,
        /// The text.
        text: String,
    },
    /// A cleanup job was made or went on.
    CleanupJobChanged {
        /// The task; its row may be gone.
        task_id: TaskId,
        /// The job.
        job_id: CleanupJobId,
    },
}

/// A message as events carry it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MessageBody {
    /// Its id.
    pub id: MessageId,
    /// The turn.
    pub turn_id: TurnId,
    /// Its place in the session, from 1.
    pub ordinal: i64,
    /// Who wrote it.
    pub author: crate::message::Author,
    /// What it is.
    pub kind: crate::message::MessageKind,
    /// Its text.
    pub content: String,
    /// What is particular to its kind.
    pub metadata: serde_json::Value,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl From<&crate::message::Message> for MessageBody {
    fn from(message: &crate::message::Message) -> Self {
        Self {
            id: message.id.clone(),
            turn_id: message.turn_id.clone(),
            ordinal: message.ordinal,
            author: message.author,
            kind: message.kind,
            content: message.content.clone(),
            metadata: message.metadata.clone(),
            created_at: message.created_at,
            updated_at: message.updated_at,
        }
    }
}
