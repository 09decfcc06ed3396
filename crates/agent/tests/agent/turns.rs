//! Ordinary turns.

use freehold_agent::{AgentError, AgentEvent, StopReason, ToolCallUpdate, start};
use serde_json::json;

use crate::support::{QUICK, Stage, eventually, last_report, stalled, text_of, turn, turn_with};

fn calls(events: &[AgentEvent]) -> Vec<&ToolCallUpdate> {
    let mut calls = Vec::new();
    for event in events {
        if let AgentEvent::ToolCall(update) = event {
            calls.push(update);
        }
    }
    calls
}

#[tokio::test]
async fn a_turn_tells_thoughts_plan_text_and_edits_and_changes_exactly_those_files() {
    let stage = Stage::with_demo_agent();
    stage.write("a.txt", "alpha\n");
    stage.write("b.txt", "beta");
    stage.write("c.txt", "gamma\n");
    let (agent, mut events) = stage.start().await;
    assert!(agent.acp_session_id().starts_with("demo-"));

    let turn = turn(&agent, &mut events, "Please do something").await;

    assert_eq!(turn.outcome, Ok(StopReason::EndTurn));
    assert!(turn.events.iter().any(|event| matches!(event, AgentEvent::Thought { .. })));
    let plan = turn.events.iter().find_map(|event| match event {
        AgentEvent::Plan { entries } => Some(entries),
        _ => None,
    });
    let plan = plan.expect("a plan");
    assert_eq!(plan.len(), 3);
    assert_eq!((plan[0].priority.as_str(), plan[0].status.as_str()), ("medium", "pending"));
    let last = turn.events.iter().rev().find_map(|event| match event {
        AgentEvent::Plan { entries } => Some(entries),
        _ => None,
    });
    assert!(last.is_some_and(|plan| plan.iter().all(|entry| entry.status == "completed")), "{last:?}");
    assert!(turn.text().contains("Done. I edited two files"), "{}", turn.text());

    assert_eq!(stage.read("a.txt"), "alpha\nEdited by the Freehold demo agent.\n");
    assert_eq!(stage.read("b.txt"), "beta\nEdited by the Freehold demo agent.\n");
    assert_eq!(stage.read("c.txt"), "gamma\n");
    assert_eq!(stage.read("freehold-demo.md"), "The demo agent was asked: Please do something\n");

    let edit: Vec<&ToolCallUpdate> = {
        let all = calls(&turn.events);
        let begun =
            all.iter().find(|call| call.title.as_deref() == Some("Edit b.txt")).expect("an edit of b.txt");
        let id = begun.id.clone();
        all.into_iter().filter(|call| call.id == id).collect()
    };
    let statuses: Vec<_> = edit.iter().filter_map(|call| call.status.as_deref()).collect();
    assert_eq!(statuses, ["pending", "in_progress", "completed"]);
    assert_eq!(edit[0].kind.as_deref(), Some("edit"));
    let path = stage.folder.path().join("b.txt").display().to_string();
    assert_eq!(edit[0].locations.as_deref(), Some([path.clone()].as_slice()));
    let diffs = edit[2].diffs.as_ref().expect("a diff");
    assert_eq!(diffs.len(), 1);
    assert_eq!((&diffs[0].path, diffs[0].old_text.as_deref()), (&path, Some("beta")));
    assert_eq!(diffs[0].new_text, stage.read("b.txt"));

    let report = agent.stop().await;
    assert_eq!((report.code, report.signal), (Some(0), None), "closing its input is enough to end it");
    assert_eq!(last_report(&mut events).await, report);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn the_built_in_script_lists_the_newest_file_first_and_changes_nothing() {
    let stage = Stage::with_demo_agent();
    stage.write("marker.txt", "here\n");
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "Can you see my marker?").await;
    assert_eq!(turn.outcome, Ok(StopReason::EndTurn));
    assert!(turn.text().contains("- `marker.txt`"), "{}", turn.text());
    assert_eq!(stage.read("marker.txt"), "here\n");
    assert_eq!(std::fs::read_dir(stage.folder.path()).unwrap().count(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn text_in_any_script_arrives_whole_however_it_is_cut() {
    let said = "Grüße, 世界! \u{1F469}\u{200D}\u{1F680} naïve — ".repeat(50);
    let stage = Stage::with_steps(&json!([{ "say": said, "chunks": 777 }]));
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "go").await;
    assert_eq!(turn.text(), said);
    assert!(turn.events.len() > 300, "it came in pieces");
    agent.stop().await;
}

#[tokio::test]
async fn files_are_created_edited_and_read_as_the_script_says() {
    let stage = Stage::with_steps(&json!([
        { "create": { "path": "new/file.txt", "content": "one\n" } },
        { "edit": { "path": "new/file.txt", "append": "two\n" } },
        { "edit": { "path": "new/file.txt", "replace": ["one", "1"] } },
        { "read": { "path": "new/file.txt" } },
        { "read": { "path": "absent.txt" } },
    ]));
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "go").await;
    assert_eq!(stage.read("new/file.txt"), "1\ntwo\n");
    assert!(turn.text().contains("1\ntwo\n"));
    assert!(turn.text().contains("`absent.txt` is missing"));
    let created = calls(&turn.events).into_iter().find_map(|call| call.diffs.clone()).expect("a diff");
    assert_eq!((created[0].old_text.as_deref(), created[0].new_text.as_str()), (None, "one\n"));
    let failed = calls(&turn.events).into_iter().rfind(|call| call.status.as_deref() == Some("failed"));
    assert!(
        failed.and_then(|call| call.output.as_deref()).is_some_and(|output| output.contains("No such file"))
    );
    agent.stop().await;
}

#[tokio::test]
async fn turns_are_chosen_by_what_the_prompt_contains_and_the_last_open_one_repeats() {
    let stage = Stage::with_script(&json!({ "turns": [
        { "match": "red", "steps": [{ "say": "RED" }] },
        { "steps": [{ "say": "ANY" }] },
    ] }));
    let (agent, mut events) = stage.start().await;
    let mut said = Vec::new();
    for prompt in ["blue", "a red one", "a red one", "blue"] {
        said.push(turn(&agent, &mut events, prompt).await.text());
    }
    assert_eq!(said, ["ANY", "RED", "ANY", "ANY"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_as_cancelled_and_the_next_one_works() {
    let stage = Stage::with_script(&json!({ "turns": [
        { "match": "hang", "steps": [{ "say": "waiting" }, { "hang": true }, { "say": "never said" }] },
        { "steps": [{ "say": "fine" }] },
    ] }));
    let (agent, mut events) = stage.start().await;
    let cancelled = turn_with(&agent, &mut events, "hang", async |event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel().await.unwrap();
        }
    })
    .await;
    assert_eq!(cancelled.outcome, Ok(StopReason::Cancelled));
    assert_eq!(cancelled.text(), "waiting");
    let next = turn(&agent, &mut events, "again").await;
    assert_eq!((next.outcome.clone(), next.text()), (Ok(StopReason::EndTurn), "fine".to_owned()));
    agent.stop().await;
}

#[tokio::test]
async fn a_refused_turn_tells_the_agents_words_and_the_agent_stays_usable() {
    let stage = Stage::with_script(&json!({ "turns": [
        { "match": "fail", "steps": [{ "warn": "quota file is empty" }, { "wait_ms": 50 }, { "fail": "no quota left" }] },
        { "steps": [{ "say": "fine" }] },
    ] }));
    let (agent, mut events) = stage.start().await;
    let failed = turn(&agent, &mut events, "fail").await;
    let error = failed.outcome.unwrap_err();
    assert!(matches!(&error, AgentError::Protocol { step, .. } if step == "session/prompt"), "{error:?}");
    let words = error.to_string();
    for part in ["demo-agent", "no quota left", "quota file is empty"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(turn(&agent, &mut events, "again").await.text(), "fine");
    agent.stop().await;
}

#[tokio::test]
async fn a_flood_arrives_complete_and_in_bounds_even_when_the_reader_comes_late() {
    let stage = Stage::with_steps(&json!([{ "flood": { "chunks": 10_000, "bytes": 1_000 } }]));
    let (agent, mut events) = stage.start().await;
    let mut prompted = std::pin::pin!(agent.prompt("go"));
    // Nobody reads until the stream of events is full and the agent has to wait.
    let full = async {
        eventually("the stream of events is full", || events.len() == events.max_capacity()).await;
        stalled(agent.process().pid).await;
    };
    tokio::select! {
        () = full => {}
        outcome = &mut prompted => panic!("it cannot have ended: {outcome:?}"),
    }
    let mut told = Vec::new();
    let outcome = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => told.push(event),
            outcome = &mut prompted => break outcome,
        }
    };
    while let Ok(event) = events.try_recv() {
        told.push(event);
    }
    assert_eq!(outcome, Ok(StopReason::EndTurn));
    assert_eq!(text_of(&told).len(), 10_000_000);
    agent.stop().await;
}

#[tokio::test]
async fn an_agent_gets_the_allowed_variables_and_its_own_but_none_of_the_servers() {
    // Cargo sets this one for tests: it stands for a secret in the server's environment.
    let canary = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(canary).is_some(), "the canary must be in this process");
    let mut stage = Stage::with_steps(&json!([
        { "say_variable": canary },
        { "say_variable": "OWN" },
        { "say_variable": "PATH" },
    ]));
    stage.command.env.insert("OWN".to_owned(), "mine".to_owned());
    let (agent, mut events) = stage.start().await;
    let said = turn(&agent, &mut events, "go").await.text();
    let path = std::env::var("PATH").unwrap();
    assert_eq!(said, format!("{canary}=(none)OWN=minePATH={path}"));
    agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_can_be_started_and_used_from_any_task() {
    let stage = Stage::with_steps(&json!([{ "say": "hello" }]));
    let recorded = std::sync::Arc::new(std::sync::Mutex::new(None));
    let (command, record) = (stage.command.clone(), std::sync::Arc::clone(&recorded));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let (agent, mut events) = start(command, QUICK, async move |process| {
            tokio::task::yield_now().await;
            *record.lock().unwrap() = Some(process);
            Ok(())
        })
        .await
        .unwrap();
        let said = turn(&agent, &mut events, "go").await.text();
        let agent = std::sync::Arc::new(agent);
        let stopper = std::sync::Arc::clone(&agent);
        let report =
            tokio::task::JoinSet::from_iter([async move { stopper.stop().await }]).join_all().await.remove(0);
        (said, agent.process().clone(), report.code)
    });
    let (said, process, code) = tasks.join_next().await.unwrap().unwrap();
    assert_eq!((said.as_str(), code), ("hello", Some(0)));
    assert_eq!(recorded.lock().unwrap().take(), Some(process));
}
