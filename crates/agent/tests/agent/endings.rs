//! However an agent ends, nothing of it is left.

use std::path::Path;
use std::time::{Duration, Instant};

use freehold_agent::{AgentError, AgentEvent, AgentLimits, start};
use serde_json::{Value, json};

use crate::support::{LIMIT, QUICK, Stage, eventually, last_report, stalled, turn, turn_with};

/// The same stage twice: with a control group, where the system gives one, and without.
fn both(steps: &Value) -> [Stage; 2] {
    [Stage::with_steps(steps), Stage::with_steps(steps).without_control_group()]
}

/// A child in the agent's group and one that left it; both ignore SIGTERM and hold the agent's output open.
fn two_stubborn_children() -> Vec<Value> {
    vec![
        json!({ "spawn_stubborn_child": { "pid_file": "in-group.pid" } }),
        json!({ "spawn_stubborn_child": { "pid_file": "left-group.pid", "setsid": true } }),
    ]
}

fn assert_children_run(stage: &Stage) {
    let running = stage.processes();
    for file in ["in-group.pid", "left-group.pid"] {
        let pid: u32 = stage.read(file).trim().parse().unwrap();
        assert!(running.contains(&pid), "{file}: {pid} is not among {running:?}");
    }
}

#[tokio::test]
async fn stopping_ends_children_that_ignore_it_and_children_that_left_the_group() {
    for stage in both(&json!(two_stubborn_children())) {
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        assert_children_run(&stage);
        let leader = agent.process().pid;

        let report = agent.stop().await;

        stage.assert_nothing_is_left();
        assert!(!Path::new(&format!("/proc/{leader}")).exists(), "the leader is reaped");
        assert_eq!(last_report(&mut events).await, report);
    }
}

#[tokio::test]
async fn an_agent_that_exits_by_itself_leaves_no_children() {
    let mut steps = two_stubborn_children();
    steps.extend([json!({ "say": "bye" }), json!({ "warn": "out of memory" }), json!({ "exit": 7 })]);
    for stage in both(&json!(steps)) {
        let (agent, mut events) = stage.start().await;

        let turn = turn(&agent, &mut events, "go").await;

        assert_eq!(turn.text(), "bye", "what it said before is kept");
        let error = turn.outcome.unwrap_err();
        assert!(matches!(&error, AgentError::Exited { report, .. } if report.code == Some(7)), "{error:?}");
        assert!(error.to_string().contains("out of memory"), "{error}");
        stage.assert_nothing_is_left();
        let is_told = turn.events.iter().any(|event| matches!(event, AgentEvent::Exited(_)));
        assert!(is_told || last_report(&mut events).await.code == Some(7));
        for outcome in [agent.cancel().await, agent.answer_permission("any", None).await] {
            assert!(matches!(outcome, Err(AgentError::NotRunning { .. })), "{outcome:?}");
        }
        assert_eq!(agent.stop().await.code, Some(7), "stopping what has ended tells how it ended");
    }
}

#[tokio::test]
async fn dropping_an_agent_leaves_nothing() {
    for stage in both(&json!(two_stubborn_children())) {
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        assert_children_run(&stage);
        let leader = agent.process().pid;

        drop(agent);

        eventually("all its processes are gone", || stage.processes().is_empty()).await;
        eventually("the leader is reaped", || !Path::new(&format!("/proc/{leader}")).exists()).await;
        assert_eq!(last_report(&mut events).await.signal, Some(9));
    }
}

#[test]
fn the_end_of_the_runtime_leaves_nothing() {
    let stage = Stage::with_steps(&json!(two_stubborn_children()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (agent, events) = runtime.block_on(async {
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        (agent, events)
    });
    assert_children_run(&stage);
    drop(runtime);
    drop((agent, events));
    let begun = Instant::now();
    while !stage.processes().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(5), "left: {:?}", stage.processes());
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn giving_up_on_a_start_leaves_nothing() {
    let stage = Stage::with_script(&json!({ "on_start": "hang" }));
    let started = start(stage.command.clone(), QUICK, async |_| Ok(()));
    assert!(tokio::time::timeout(Duration::from_millis(200), started).await.is_err());
    eventually("all its processes are gone", || stage.processes().is_empty()).await;
}

#[tokio::test]
async fn stopping_in_the_middle_of_a_turn_cancels_it_first() {
    let stage = Stage::with_steps(&json!([{ "say": "working" }, { "hang": true }]));
    let (agent, mut events) = stage.start().await;
    let agent = &agent;
    let turn = turn_with(agent, &mut events, "go", async |event| {
        if matches!(event, AgentEvent::Text { .. }) {
            // One that is asked while another already stops waits for the same end.
            let (first, second) = tokio::join!(agent.stop(), agent.stop());
            assert_eq!(first, second);
        }
    })
    .await;
    // The stop ran inside the reading of events, so the turn had no reader and yet ended.
    assert!(
        turn.outcome.is_ok() || matches!(turn.outcome, Err(AgentError::Exited { .. })),
        "{:?}",
        turn.outcome
    );
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_ignores_every_request_to_end_is_killed_after_the_two_graces() {
    let ignoring = concat!(
        "trap '' TERM; ",
        r#"read -r line; id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p'); "#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id"; "#,
        r#"read -r line; id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p'); "#,
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id"; "#,
        "while :; do sleep 1; done",
    );
    let stage = Stage::with_program("/bin/sh", &["-c", ignoring]);
    let (agent, mut events) = stage.try_start(AgentLimits { stop_grace_ms: 200, ..QUICK }).await.unwrap();
    let begun = Instant::now();
    let report = agent.stop().await;
    assert!(begun.elapsed() >= Duration::from_millis(400), "it got both graces");
    assert_eq!((report.code, report.signal), (None, Some(9)));
    assert_eq!(last_report(&mut events).await, report);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_closes_its_output_but_stays_is_ended() {
    let stage = Stage::with_program("/bin/sh", &["-c", "exec >&-; sleep 600"]);
    let error = stage.start_error(QUICK).await;
    assert!(
        matches!(&error, AgentError::ExitedAtOnce { report, .. } if report.signal == Some(9)),
        "{error:?}"
    );
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_whose_events_are_not_read_can_be_stopped() {
    let stage =
        Stage::with_steps(&json!([{ "flood": { "chunks": 5_000, "bytes": 1_000 } }, { "hang": true }]));
    let (agent, events) = stage.start().await;
    let agent = &agent;
    let stop = async {
        eventually("the stream of events is full", || events.len() == events.max_capacity()).await;
        stalled(agent.process().pid).await;
        agent.stop().await
    };
    let stopped = async {
        tokio::select! {
            _ = stop => {}
            outcome = agent.prompt("go") => panic!("it cannot have ended: {outcome:?}"),
        }
    };
    tokio::time::timeout(LIMIT, stopped).await.expect("stopping does not depend on the reader");
    stage.assert_nothing_is_left();
    drop(events);
}

#[tokio::test]
async fn an_agent_dropped_in_the_middle_of_a_flood_leaves_no_task() {
    let stage =
        Stage::with_steps(&json!([{ "flood": { "chunks": 5_000, "bytes": 1_000 } }, { "hang": true }]));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (agent, events) = stage.start().await;
    {
        let mut prompted = std::pin::pin!(agent.prompt("go"));
        let full = async {
            eventually("the stream of events is full", || events.len() == events.max_capacity()).await;
            stalled(agent.process().pid).await;
        };
        tokio::select! {
            () = full => {}
            outcome = &mut prompted => panic!("it cannot have ended: {outcome:?}"),
        }
    }
    assert!(tasks() > before);
    drop(agent);
    eventually("its tasks have ended", || tasks() == before).await;
    stage.assert_nothing_is_left();
    drop(events);
}

#[tokio::test]
async fn an_idle_agent_that_is_ended_for_its_garbage_tells_so_at_the_end() {
    let stage = Stage::with_steps(&json!([{ "garbage": true }]));
    let (agent, mut events) = stage.start().await;
    // Whether the turn ended before its garbage was seen is a race that this test has no part in.
    let _ = turn(&agent, &mut events, "go").await;
    let report = agent.stop().await;
    assert!(report.stderr_tail.contains("Segmentation fault"), "{report:?}");
    stage.assert_nothing_is_left();
}
