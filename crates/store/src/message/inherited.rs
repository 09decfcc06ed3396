//! Messages that another program wrote, read in Freehold's words and shapes; their rows stay as they are.
//!
//! Its types of messages are more than Freehold's, and its metadata has shapes of its own, or is no JSON at
//! all. What is read here fits, so that nobody above needs to know: a tool call has the metadata of one, and a
//! request for a permission that Freehold did not make is never open.

use freehold_domain::message::{Author, MessageKind, Permission, PermissionOption, Plan, ToolCall};
use serde_json::{Map, Value, json};

/// Who wrote a message; what is not known was not said by a person or an agent.
pub(super) fn author(word: &str) -> Author {
    word.parse().unwrap_or(Author::System)
}

/// What a message is, and its metadata in the shape of that kind.
pub(super) fn kind_and_metadata(word: &str, content: &str, metadata: &str) -> (MessageKind, Value) {
    let metadata = match serde_json::from_str(metadata) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    match kind(word) {
        MessageKind::ToolCall => (MessageKind::ToolCall, tool_call(word, metadata)),
        MessageKind::Permission => (MessageKind::Permission, permission(metadata)),
        // A plan without entries would show nothing of its text.
        MessageKind::Plan if fits::<Plan>(&metadata).is_none() && !content.is_empty() => {
            (MessageKind::Status, json!({}))
        }
        MessageKind::Plan => (MessageKind::Plan, json!(fits::<Plan>(&metadata).unwrap_or_default())),
        kind => (kind, Value::Object(metadata)),
    }
}

fn kind(word: &str) -> MessageKind {
    match word {
        "content" => MessageKind::Text,
        "tool_edit" | "tool_read" | "tool_execute" | "script_execution" => MessageKind::ToolCall,
        _ => word.parse().unwrap_or(MessageKind::Status),
    }
}

fn fits<T: serde::de::DeserializeOwned>(metadata: &Map<String, Value>) -> Option<T> {
    serde_json::from_value(Value::Object(metadata.clone())).ok()
}

fn text(metadata: &Map<String, Value>, name: &str) -> String {
    metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What is known of a foreign call; all of its metadata is kept as its input.
fn tool_call(word: &str, metadata: Map<String, Value>) -> Value {
    if fits::<ToolCall>(&metadata).is_some() {
        return Value::Object(metadata);
    }
    let tool_kind = match word {
        "tool_edit" => "edit",
        "tool_read" => "read",
        "tool_execute" | "script_execution" => "execute",
        _ => "other",
    };
    // A call that had not ended never will; how it stood is not known.
    let status = match text(&metadata, "status").as_str() {
        "complete" | "completed" | "success" => "completed",
        "error" | "failed" => "failed",
        _ => "",
    };
    json!(ToolCall {
        tool_call_id: text(&metadata, "tool_call_id"),
        tool_kind: tool_kind.into(),
        status: status.into(),
        raw_input: (!metadata.is_empty()).then_some(Value::Object(metadata)),
        ..ToolCall::default()
    })
}

/// A foreign request was answered or has expired: nobody waits for an answer to it.
fn permission(metadata: Map<String, Value>) -> Value {
    if fits::<Permission>(&metadata).is_some() {
        return Value::Object(metadata);
    }
    let answered = |options: Vec<PermissionOption>, chosen: Option<String>| Permission {
        request_id: String::new(),
        tool_call_id: text(&metadata, "tool_call_id"),
        options,
        status: "answered".into(),
        chosen,
    };
    json!(match text(&metadata, "status").as_str() {
        word @ "approved" => {
            let (option_id, name, kind) = (word.to_owned(), word.to_owned(), "allow_once".to_owned());
            answered(vec![PermissionOption { option_id, name, kind }], Some(word.to_owned()))
        }
        "rejected" => answered(Vec::new(), None),
        _ => Permission { status: "expired".into(), ..answered(Vec::new(), None) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_gives_a_kind_with_metadata_of_its_shape() {
        let words = "message content thinking tool_call tool_edit tool_read tool_execute script_execution progress \
                     log error status permission_request clarification_request agent_plan todo odd";
        for word in words.split_whitespace() {
            for metadata in ["", "{", "null", "[1]", "7", r#""text""#, r#"{"entries":"x","options":{}}"#] {
                let (kind, metadata) = kind_and_metadata(word, "text", metadata);
                let Value::Object(fields) = &metadata else { panic!("{word}: {metadata}") };
                match kind {
                    MessageKind::ToolCall => assert!(fits::<ToolCall>(fields).is_some(), "{word}"),
                    MessageKind::Plan => assert!(fits::<Plan>(fields).is_some(), "{word}"),
                    MessageKind::Permission => assert_eq!(fields["status"], "expired", "{word}"),
                    _ => {}
                }
            }
        }
        assert_eq!(kind("content"), MessageKind::Text);
        assert_eq!(kind("todo"), MessageKind::Status);
        assert_eq!(author("routine"), Author::System);
    }

    #[test]
    fn a_foreign_request_tells_how_it_was_answered() {
        let status_of = |status: &str| {
            let metadata = json!({ "pending_id": "p", "status": status }).to_string();
            kind_and_metadata("permission_request", "", &metadata).1
        };
        assert_eq!(status_of("approved")["chosen"], "approved");
        assert_eq!(
            (&status_of("rejected")["status"], &status_of("rejected")["chosen"]),
            (&json!("answered"), &Value::Null)
        );
        for word in ["", "expired", "pending", "odd"] {
            assert_eq!(status_of(word)["status"], "expired", "{word}");
        }
    }
}
