//! An agent that was not made here: a shell script with its own ideas of the protocol.

use freehold_agent::{AgentEvent, StopReason};
use serde_json::json;

use crate::support::{Stage, turn};

/// Greets, opens a session, and prints the lines of the file `updates` before it ends a turn.
const FOREIGN: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":1,"agentCapabilities":{"future":true},"authMethods":[]}' ;;
    *'"session/new"'*) answer='{"sessionId":"foreign","modes":{"currentModeId":"m","availableModes":[]}}' ;;
    *'"session/prompt"'*) cat updates; answer='{"stopReason":"end_turn","extra":1}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

async fn told(updates: &[String]) -> Vec<AgentEvent> {
    let stage = Stage::with_program("/bin/sh", &["-c", FOREIGN]);
    let lines: String = updates
        .iter()
        .map(|update| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"foreign","update":{update}}}}}"#
            ) + "\n"
        })
        .collect();
    stage.write("updates", &lines);
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "go").await;
    assert_eq!(turn.outcome, Ok(StopReason::EndTurn));
    agent.stop().await;
    stage.assert_nothing_is_left();
    turn.events
}

#[tokio::test]
async fn updates_without_a_shape_are_kept_and_never_fatal() {
    let unknown = json!({ "sessionUpdate": "weather_report", "wind": 7 });
    let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": [] });
    let image = json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "image", "data": "AA==", "mimeType": "image/png" } });
    let broken = json!({ "sessionUpdate": "tool_call", "title": 7 });
    let updates = [unknown, commands, image, broken];
    let events = told(&updates.iter().map(ToString::to_string).collect::<Vec<_>>()).await;
    let expected: Vec<_> = updates
        .iter()
        .map(|raw| AgentEvent::Other {
            kind: raw["sessionUpdate"].as_str().unwrap().to_owned(),
            raw: raw.clone(),
        })
        .collect();
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_tool_call_is_told_in_parts_and_its_raw_output_is_output() {
    let events = told(&[
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run tests", "kind": "execute",
            "rawInput": { "command": "make test" } })
        .to_string(),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
            "rawOutput": "ok\n" })
        .to_string(),
    ])
    .await;
    let [AgentEvent::ToolCall(begun), AgentEvent::ToolCall(ended)] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(
        (begun.id.as_str(), begun.title.as_deref(), begun.kind.as_deref()),
        ("c", Some("Run tests"), Some("execute"))
    );
    assert_eq!(begun.raw_input, Some(json!({ "command": "make test" })));
    assert_eq!((ended.title.as_deref(), ended.status.as_deref()), (None, Some("completed")));
    assert_eq!(ended.output.as_deref(), Some("ok\n"));
}

#[tokio::test]
async fn half_a_character_does_not_cost_the_session() {
    let chunk = |text: &str| {
        format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#)
    };
    let events = told(&[chunk(r"cut \ud83d"), chunk(r"\ude80 here"), chunk("whole")]).await;
    assert_eq!(crate::support::text_of(&events), "cut \u{fffd}\u{fffd} herewhole");
}

#[tokio::test]
async fn files_and_terminals_of_this_side_are_not_given() {
    let stage = Stage::with_program("/bin/sh", &["-c", FOREIGN]);
    let asked = json!({ "jsonrpc": "2.0", "id": 99, "method": "fs/read_text_file",
        "params": { "sessionId": "foreign", "path": "/etc/hostname" } });
    stage.write("updates", &format!("{asked}\n"));
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "go").await;
    assert_eq!((turn.outcome.clone(), turn.events.len()), (Ok(StopReason::EndTurn), 0));
    agent.stop().await;
}
