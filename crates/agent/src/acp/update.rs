//! Turns the protocol's updates into Freehold's events. What has no shape here is kept as it came.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PermissionOption as OfferedOption, Plan, SessionNotification, SessionUpdate,
    ToolCallContent, ToolCallUpdate as ProtocolUpdate,
};
use serde::Serialize;
use serde_json::Value;

use crate::event::{AgentEvent, PermissionOption, PlanEntry, ToolCallUpdate, ToolDiff};

/// Reads the parameters of a `session/update`.
pub(super) fn event_of(params: &Value) -> AgentEvent {
    let known = serde_json::from_value::<SessionNotification>(params.clone()).ok();
    known.and_then(|notification| known_event(notification.update)).unwrap_or_else(|| other(params))
}

fn known_event(update: SessionUpdate) -> Option<AgentEvent> {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => text_of(chunk).map(|text| AgentEvent::Text { text }),
        SessionUpdate::AgentThoughtChunk(chunk) => text_of(chunk).map(|text| AgentEvent::Thought { text }),
        SessionUpdate::ToolCall(call) => Some(AgentEvent::ToolCall(tool_call(call.into()))),
        SessionUpdate::ToolCallUpdate(update) => Some(AgentEvent::ToolCall(tool_call(update))),
        SessionUpdate::Plan(plan) => Some(AgentEvent::Plan { entries: plan_entries(plan) }),
        _ => None,
    }
}

fn other(params: &Value) -> AgentEvent {
    let raw = params.get("update").unwrap_or(params).clone();
    let kind = raw.get("sessionUpdate").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    AgentEvent::Other { kind, raw }
}

fn text_of(chunk: ContentChunk) -> Option<String> {
    match chunk.content {
        ContentBlock::Text(text) => Some(text.text),
        _ => None,
    }
}

fn plan_entries(plan: Plan) -> Vec<PlanEntry> {
    let entry = |entry: agent_client_protocol::v1::schema::PlanEntry| PlanEntry {
        priority: word(&entry.priority),
        status: word(&entry.status),
        content: entry.content,
    };
    plan.entries.into_iter().map(entry).collect()
}

/// Reads a tool call, whole or partial.
pub(super) fn tool_call(update: ProtocolUpdate) -> ToolCallUpdate {
    let fields = update.fields;
    let content = fields.content.as_deref();
    ToolCallUpdate {
        id: update.tool_call_id.0.to_string(),
        title: fields.title,
        kind: fields.kind.as_ref().map(word),
        status: fields.status.as_ref().map(word),
        locations: fields
            .locations
            .map(|places| places.into_iter().map(|place| place.path.display().to_string()).collect()),
        diffs: content.map(diffs_of).filter(|diffs| !diffs.is_empty()),
        output: content.and_then(output_of).or_else(|| fields.raw_output.as_ref().map(raw_text)),
        raw_input: fields.raw_input,
    }
}

fn diffs_of(content: &[ToolCallContent]) -> Vec<ToolDiff> {
    let diff = |content: &ToolCallContent| match content {
        ToolCallContent::Diff(diff) => Some(ToolDiff {
            path: diff.path.display().to_string(),
            old_text: diff.old_text.clone(),
            new_text: diff.new_text.clone(),
        }),
        _ => None,
    };
    content.iter().filter_map(diff).collect()
}

fn output_of(content: &[ToolCallContent]) -> Option<String> {
    let text = |content: &ToolCallContent| match content {
        ToolCallContent::Content(block) => match &block.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    };
    let texts: Vec<String> = content.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn raw_text(raw: &Value) -> String {
    raw.as_str().map_or_else(|| raw.to_string(), str::to_owned)
}

/// Reads the options of a permission request.
pub(super) fn options(offered: Vec<OfferedOption>) -> Vec<PermissionOption> {
    let option = |option: OfferedOption| PermissionOption {
        option_id: option.option_id.0.to_string(),
        kind: word(&option.kind),
        name: option.name,
    };
    offered.into_iter().map(option).collect()
}

/// The protocol's word for one of its values, as it goes over the wire.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => "other".to_owned(),
    }
}
