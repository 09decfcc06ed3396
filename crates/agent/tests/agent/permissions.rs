//! Permissions: asked once, answered once.

use freehold_agent::{AgentError, AgentEvent, StopReason};
use serde_json::{Value, json};

use crate::support::{Stage, Turn, turn_with};

fn asking() -> Value {
    json!([{ "permission": {
        "title": "Delete everything",
        "options": ["allow_once", "allow_always", "reject_once"],
        "then": [{ "create": { "path": "allowed.txt", "content": "yes\n" } }, { "say": "did it" }],
        "otherwise": [{ "say": "left it" }],
    } }])
}

/// Runs a turn in which the first permission gets the answer.
async fn answered_with(stage: &Stage, option_id: Option<&str>) -> Turn {
    let (agent, mut events) = stage.start().await;
    let turn = turn_with(&agent, &mut events, "go", async |event| {
        if let AgentEvent::PermissionRequested { request_id, .. } = event {
            agent.answer_permission(request_id, option_id).await.unwrap();
        }
    })
    .await;
    agent.stop().await;
    turn
}

#[tokio::test]
async fn an_allowed_request_goes_on() {
    let stage = Stage::with_steps(&asking());
    let turn = answered_with(&stage, Some("allow_once")).await;
    assert_eq!((turn.outcome.clone(), turn.text()), (Ok(StopReason::EndTurn), "did it".to_owned()));
    assert_eq!(stage.read("allowed.txt"), "yes\n");
    let asked = turn.events.iter().find_map(|event| match event {
        AgentEvent::PermissionRequested { tool_call, options, .. } => Some((tool_call, options)),
        _ => None,
    });
    let (tool_call, options) = asked.expect("a permission");
    assert_eq!(tool_call.title.as_deref(), Some("Delete everything"));
    let offered: Vec<_> = options
        .iter()
        .map(|option| (option.option_id.as_str(), option.kind.as_str(), option.name.as_str()))
        .collect();
    assert_eq!(
        offered,
        [
            ("allow_once", "allow_once", "Allow"),
            ("allow_always", "allow_always", "Always allow"),
            ("reject_once", "reject_once", "Refuse"),
        ]
    );
}

#[tokio::test]
async fn a_refused_request_changes_nothing() {
    let stage = Stage::with_steps(&asking());
    let turn = answered_with(&stage, Some("reject_once")).await;
    assert_eq!((turn.outcome.clone(), turn.text()), (Ok(StopReason::EndTurn), "left it".to_owned()));
    assert!(!stage.folder.path().join("allowed.txt").exists());
}

#[tokio::test]
async fn a_request_answered_as_cancelled_ends_the_turn() {
    let stage = Stage::with_steps(&asking());
    let turn = answered_with(&stage, None).await;
    assert_eq!((turn.outcome.clone(), turn.text()), (Ok(StopReason::Cancelled), String::new()));
}

#[tokio::test]
async fn cancelling_the_turn_takes_its_request_back() {
    let stage = Stage::with_steps(&asking());
    let (agent, mut events) = stage.start().await;
    let mut asked = None;
    let turn = turn_with(&agent, &mut events, "go", async |event| {
        if let AgentEvent::PermissionRequested { request_id, .. } = event {
            agent.cancel().await.unwrap();
            asked = Some(request_id.clone());
        }
    })
    .await;
    assert_eq!(turn.outcome, Ok(StopReason::Cancelled));
    let late = agent.answer_permission(&asked.unwrap(), Some("allow_once")).await;
    assert!(matches!(late, Err(AgentError::UnknownPermission { .. })), "{late:?}");
    agent.stop().await;
    assert!(!stage.folder.path().join("allowed.txt").exists());
}

#[tokio::test]
async fn a_request_is_answered_once_and_only_with_what_it_offers() {
    let stage = Stage::with_steps(&asking());
    let (agent, mut events) = stage.start().await;
    let turn = turn_with(&agent, &mut events, "go", async |event| {
        if let AgentEvent::PermissionRequested { request_id, .. } = event {
            let wrong = agent.answer_permission(request_id, Some("allow_everything")).await;
            assert!(matches!(wrong, Err(AgentError::UnknownOption { .. })), "{wrong:?}");
            let unknown = agent.answer_permission("none-such", Some("allow_once")).await;
            assert!(matches!(unknown, Err(AgentError::UnknownPermission { .. })), "{unknown:?}");
            agent.answer_permission(request_id, Some("allow_always")).await.unwrap();
            let again = agent.answer_permission(request_id, Some("reject_once")).await;
            assert!(matches!(again, Err(AgentError::UnknownPermission { .. })), "{again:?}");
        }
    })
    .await;
    assert_eq!(turn.text(), "did it");
    agent.stop().await;
}

#[tokio::test]
async fn requests_of_two_executions_never_share_an_id() {
    let mut ids = Vec::new();
    for _ in 0..2 {
        let stage = Stage::with_steps(&asking());
        let turn = answered_with(&stage, Some("reject_once")).await;
        ids.extend(turn.events.into_iter().filter_map(|event| match event {
            AgentEvent::PermissionRequested { request_id, .. } => Some(request_id),
            _ => None,
        }));
    }
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}
