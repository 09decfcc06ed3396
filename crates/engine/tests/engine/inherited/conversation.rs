//! Conversations of another program.

use freehold_domain::id::{SessionId, TaskId};
use freehold_domain::message::{Author, MessageKind};
use freehold_domain::session::SessionState;

use super::{WHEN, insert, read, scene};
use crate::harness::{World, on_both_engines};

pub(super) fn store_session(world: &World, id: &str, task: &TaskId, state: &str, agent: &str) {
    insert(
        world,
        "task_sessions",
        &[
            ("id", id),
            ("task_id", task.as_str()),
            ("agent_profile_id", agent),
            ("state", state),
            ("is_primary", if id == "s" { "1" } else { "0" }),
            ("started_at", WHEN),
            ("updated_at", WHEN),
        ],
    );
    insert(
        world,
        "task_session_turns",
        &[
            ("id", &format!("turn-{id}")),
            ("task_session_id", id),
            ("task_id", task.as_str()),
            ("started_at", WHEN),
            ("created_at", WHEN),
            ("updated_at", WHEN),
        ],
    );
}

fn store_message(world: &World, ordinal: usize, author: &str, word: &str, metadata: &str) {
    insert(
        world,
        "task_session_messages",
        &[
            ("id", &format!("m{ordinal}")),
            ("task_session_id", "s"),
            ("turn_id", "turn-s"),
            ("ordinal", &ordinal.to_string()),
            ("author_type", author),
            ("type", word),
            ("content", word),
            ("metadata", metadata),
            ("created_at", WHEN),
            ("updated_at", WHEN),
        ],
    );
}

#[test]
fn a_conversation_of_another_program_opens_and_its_rows_stay() {
    on_both_engines(async |world: &World| {
        let (engine, _, task) = scene(world).await;
        engine.shutdown().await;
        store_session(world, "s", &task, "COMPLETED", "demo");
        let tool = r#"{"tool_call_id":"c","status":"complete","normalized":{"kind":"shell"}}"#;
        let asked = r#"{"pending_id":"p","options":[{"option_id":"y"}],"status":""}"#;
        let said = [
            ("user", "message", "{}"),
            ("agent", "content", "not JSON"),
            ("agent", "tool_edit", tool),
            ("agent", "tool_read", "[]"),
            ("agent", "tool_execute", "null"),
            ("agent", "script_execution", "{\"status\":7}"),
            ("agent", "progress", "\"text\""),
            ("agent", "log", "7"),
            ("agent", "clarification_request", "{\"options\":{}}"),
            ("agent", "todo", "{\"todos\":[]}"),
            ("routine", "a_word_of_theirs", "{}"),
            ("agent", "agent_plan", "{\"entries\":\"none\"}"),
            ("agent", "permission_request", asked),
            ("agent", "thinking", "{}"),
        ];
        for (index, (author, word, metadata)) in said.into_iter().enumerate() {
            store_message(world, index + 1, author, word, metadata);
        }
        let stored = "SELECT id, author_type, type, content, metadata FROM task_session_messages ORDER BY id";
        let before = read(world, stored);

        let engine = world.start().await;
        let page = engine.messages(SessionId::new("s").unwrap(), None, 500).await.unwrap();

        use MessageKind::{Permission, Status, Text, Thinking, ToolCall};
        let kinds: Vec<MessageKind> = page.items.iter().map(|message| message.kind).collect();
        let expected = [
            Text, Text, ToolCall, ToolCall, ToolCall, ToolCall, Status, Status, Status, Status, Status,
            Status, Permission, Thinking,
        ];
        assert_eq!(kinds, expected);
        assert!(page.items.iter().all(|message| message.metadata.is_object() && message.task_id == task));
        assert_eq!(page.items[10].author, Author::System);
        let call = &page.items[2].metadata;
        assert_eq!((&call["tool_kind"], &call["status"]), (&"edit".into(), &"completed".into()));
        assert_eq!(call["raw_input"]["normalized"]["kind"], "shell", "what was recorded can be looked at");
        assert_eq!(page.items[12].metadata["status"], "expired", "nobody waits for an answer");
        let answered = engine.answer_permission(SessionId::new("s").unwrap(), String::new(), None).await;
        assert!(answered.is_err(), "{answered:?}");
        assert_eq!(read(world, stored), before);
        engine.shutdown().await;
    });
}

#[test]
fn sessions_that_were_live_in_another_program_are_interrupted_also_of_an_archived_task() {
    on_both_engines(async |world: &World| {
        let (engine, _, task) = scene(world).await;
        engine.shutdown().await;
        let live = ["STARTING", "RUNNING", "WAITING_FOR_INPUT", "IDLE"];
        for state in live {
            store_session(world, if state == "IDLE" { "s" } else { state }, &task, state, "demo");
        }
        store_message(world, 1, "agent", "permission_request", r#"{"pending_id":"p","status":""}"#);
        super::sql(world, &format!("UPDATE tasks SET state = 'COMPLETED', archived_at = '{WHEN}'"));

        let engine = world.start().await;

        let view = engine.task(task).await.unwrap();
        assert_eq!(view.sessions.len(), live.len());
        for session in &view.sessions {
            assert_eq!(session.session.state, SessionState::Interrupted, "{session:#?}");
        }
        assert_eq!(view.summary.task.state.as_str(), "COMPLETED", "a finished task stays so");
        assert!(view.summary.task.archived_at.is_some());
        engine.shutdown().await;
    });
}
