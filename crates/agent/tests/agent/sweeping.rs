//! What a later server does with what an earlier one left, by what was recorded.

use freehold_agent::{ProcessIdentity, StopReason, end_execution, end_group, is_running};
use serde_json::json;

use crate::support::{Stage, eventually, is_alive, last_report, turn};

/// Twice: with a control group, where the system gives one, and without.
fn with_children() -> [Stage; 2] {
    let steps = json!([
        { "spawn_stubborn_child": { "pid_file": "in-group.pid" } },
        { "spawn_stubborn_child": { "pid_file": "left-group.pid", "setsid": true } },
    ]);
    [Stage::with_steps(&steps), Stage::with_steps(&steps).without_control_group()]
}

#[tokio::test]
async fn a_recorded_process_is_ended_with_all_it_started() {
    for stage in with_children() {
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        assert!(stage.processes().len() >= 3);
        assert!(is_running(agent.process()));

        assert!(end_group(agent.process(), 100).await);

        stage.assert_nothing_is_left();
        assert!(!is_running(agent.process()));
        last_report(&mut events).await;
        assert!(end_group(agent.process(), 100).await, "ending what is gone is no failure");
    }
}

#[tokio::test]
async fn a_child_that_wiped_its_mark_is_ended_with_its_group() {
    let steps = json!([{ "spawn_stubborn_child": { "pid_file": "wiped.pid", "wipe_environment": true } }]);
    for is_swept in [false, true] {
        let stage = Stage::with_steps(&steps).without_control_group();
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        let child = stage.read("wiped.pid").trim().parse().unwrap();
        assert!(is_alive(child) && !stage.processes().contains(&child));
        if is_swept {
            assert!(end_group(agent.process(), 100).await);
        } else {
            agent.stop().await;
        }
        eventually("the child is gone", || !is_alive(child)).await;
        last_report(&mut events).await;
    }
}

#[tokio::test]
async fn an_execution_is_ended_by_its_mark_alone() {
    for stage in with_children() {
        let (agent, mut events) = stage.start().await;
        turn(&agent, &mut events, "go").await.outcome.unwrap();
        assert!(end_execution(stage.mark()).await);
        stage.assert_nothing_is_left();
        last_report(&mut events).await;
    }
}

#[tokio::test]
async fn a_number_alone_proves_nothing() {
    let stage = Stage::with_steps(&json!([{ "say": "alive" }]));
    let (agent, mut events) = stage.start().await;
    let process = agent.process().clone();
    let strangers = [
        ProcessIdentity { start_ticks: process.start_ticks - 1, ..process.clone() },
        ProcessIdentity { boot_id: "another-boot".to_owned(), ..process.clone() },
        ProcessIdentity { boot_id: String::new(), ..process.clone() },
    ];
    for stranger in &strangers {
        assert!(!is_running(stranger), "{stranger:?}");
        assert!(end_group(stranger, 0).await, "nothing of it is left: {stranger:?}");
    }
    assert!(end_execution("").await);
    assert!(end_execution("no-such-execution").await);
    assert_eq!(turn(&agent, &mut events, "go").await.outcome, Ok(StopReason::EndTurn));
    agent.stop().await;
    eventually("it is gone", || !is_running(&process)).await;
}
