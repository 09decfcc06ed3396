//! Where a turn is played: the session, its directory, and the ways to tell the client something.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Plan, SessionId, SessionNotification, SessionUpdate, TextContent, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_client_protocol::{Client, Error, UntypedMessage, v1};
use tokio_util::sync::CancellationToken;

/// A turn's surroundings.
pub(super) struct Stage {
    pub(super) connection: v1::ConnectionTo<Client>,
    pub(super) session_id: SessionId,
    pub(super) folder: PathBuf,
    pub(super) cancelled: CancellationToken,
    /// Lines for standard output that are no protocol.
    pub(super) raw_output: Sender<String>,
    /// Makes the ids of tool calls unique within the session.
    pub(super) turn: usize,
    pub(super) calls: usize,
}

impl Stage {
    pub(super) fn say(&self, text: &str) -> Result<(), Error> {
        self.tell(SessionUpdate::AgentMessageChunk(chunk(text)))
    }

    pub(super) fn think(&self, text: &str) -> Result<(), Error> {
        self.tell(SessionUpdate::AgentThoughtChunk(chunk(text)))
    }

    pub(super) fn plan(&self, plan: Plan) -> Result<(), Error> {
        self.tell(SessionUpdate::Plan(plan))
    }

    /// Tells that a tool call begins, and gives its id.
    pub(super) fn begin_call(
        &mut self,
        title: &str,
        kind: ToolKind,
        path: Option<&Path>,
    ) -> Result<String, Error> {
        self.calls += 1;
        let id = format!("call-{}-{}", self.turn, self.calls);
        let call = ToolCall::new(id.clone(), title)
            .kind(kind)
            .status(ToolCallStatus::Pending)
            .locations(path.map(|path| ToolCallLocation::new(self.folder.join(path))).into_iter().collect());
        self.tell(SessionUpdate::ToolCall(call))?;
        Ok(id)
    }

    pub(super) fn call_status(&self, id: &str, status: ToolCallStatus) -> Result<(), Error> {
        self.update_call(id, ToolCallUpdateFields::new().status(status))
    }

    pub(super) fn end_call(
        &self,
        id: &str,
        status: ToolCallStatus,
        content: ToolCallContent,
    ) -> Result<(), Error> {
        self.update_call(id, ToolCallUpdateFields::new().status(status).content(vec![content]))
    }

    fn update_call(&self, id: &str, fields: ToolCallUpdateFields) -> Result<(), Error> {
        self.tell(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)))
    }

    fn tell(&self, update: SessionUpdate) -> Result<(), Error> {
        self.connection.send_notification(SessionNotification::new(self.session_id.clone(), update))
    }

    /// Waits until the client has read everything told so far: an answer, even a refusal, proves it.
    pub(super) async fn told_all(&self) {
        if let Ok(question) = UntypedMessage::new("_freehold/ping", serde_json::json!({})) {
            let _ = self.connection.send_request(question).block_task().await;
        }
    }
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}
