//! Agents that cannot be started, or not be talked to. Each gets a sentence that names it, and nothing is left.

use std::os::unix::fs::PermissionsExt as _;

use freehold_agent::{AgentError, AgentLimits, start};
use serde_json::json;

use crate::support::{LIMIT, QUICK, Stage, last_report, processes_with, turn};

fn assert_words(error: &AgentError, parts: &[&str]) {
    let words = error.to_string();
    for part in parts {
        assert!(words.contains(part), "{part:?} is not in: {words}");
    }
}

#[tokio::test]
async fn a_missing_program_is_named() {
    for program in ["/nowhere/to/be/found", "freehold-no-such-agent"] {
        let error = Stage::with_program(program, &[]).start_error(QUICK).await;
        assert_eq!(error, AgentError::ProgramNotFound { program: program.to_owned() });
        assert_words(&error, &[program, "not found"]);
    }
}

#[tokio::test]
async fn a_file_that_may_not_run_and_a_directory_are_no_agents() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    for program in [plain.as_path(), folder.path()] {
        let error = Stage::with_program(program, &[]).start_error(QUICK).await;
        assert!(matches!(error, AgentError::NotExecutable { .. }), "{error:?}");
        assert_words(&error, &[&program.display().to_string(), "cannot be run"]);
    }
}

#[tokio::test]
async fn a_workspace_cannot_put_itself_in_the_place_of_the_agent() {
    for program in ["./agent", "bin/agent"] {
        let error = Stage::with_program(program, &[]).start_error(QUICK).await;
        assert!(matches!(error, AgentError::NotExecutable { .. }), "{error:?}");
    }
    let mut stage = Stage::with_program("agent", &[]);
    stage.write("agent", "#!/bin/sh\n");
    let file = stage.folder.path().join("agent");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage.command.env.insert("PATH".to_owned(), ".:".to_owned());
    assert_eq!(stage.start_error(QUICK).await, AgentError::ProgramNotFound { program: "agent".to_owned() });
}

#[tokio::test]
async fn a_missing_directory_is_not_taken_for_a_missing_program() {
    let mut stage = Stage::with_demo_agent();
    stage.command.cwd = stage.folder.path().join("gone");
    let error = stage.start_error(QUICK).await;
    assert!(matches!(error, AgentError::DirectoryMissing { .. }), "{error:?}");
    assert_words(&error, &["gone", "missing"]);
}

#[tokio::test]
async fn an_agent_that_ends_at_once_tells_why() {
    let stage = Stage::with_script(&json!({ "on_start": "exit" }));
    let error = stage.start_error(QUICK).await;
    assert!(matches!(&error, AgentError::ExitedAtOnce { report, .. } if report.code == Some(3)), "{error:?}");
    assert_words(&error, &["demo-agent", "exit code 3", "the script says to end at once"]);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_speaks_garbage_is_quoted_and_ended() {
    let stage = Stage::with_script(&json!({ "on_start": "garbage" }));
    let error = stage.start_error(QUICK).await;
    assert!(matches!(error, AgentError::Garbage { .. }), "{error:?}");
    assert_words(&error, &["demo-agent", "Welcome to the demo agent", "does not speak ACP"]);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn bytes_that_are_no_text_are_garbage_too() {
    let stage = Stage::with_program("/bin/sh", &["-c", r"printf '\377\376\n'; echo oops >&2; sleep 60"]);
    let error = stage.start_error(QUICK).await;
    assert!(matches!(error, AgentError::Garbage { .. }), "{error:?}");
    assert_words(&error, &["/bin/sh", "oops"]);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_never_answers_is_ended_at_the_limit() {
    let stage = Stage::with_script(&json!({ "on_start": "hang" }));
    let error = stage.start_error(AgentLimits { handshake_ms: 300, ..QUICK }).await;
    assert!(
        matches!(&error, AgentError::NoAnswer { step, waited_ms: 300, .. } if step == "initialize"),
        "{error:?}"
    );
    assert_words(&error, &["demo-agent", "initialize", "300 ms"]);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_wants_a_login_says_how() {
    let stage = Stage::with_script(&json!({ "on_start": "login_required" }));
    let error = stage.start_error(QUICK).await;
    let methods = vec!["Log in to the demo".to_owned()];
    assert!(
        matches!(&error, AgentError::AuthenticationRequired { methods: offered, .. } if *offered == methods),
        "{error:?}"
    );
    assert_words(&error, &["demo-agent", "Log in to the demo"]);
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_agent() {
    let stage = Stage::with_steps(&json!([{ "flood": { "chunks": 1, "bytes": 100_000 } }, { "hang": true }]));
    let (agent, mut events) =
        stage.try_start(AgentLimits { max_frame_bytes: 50_000, ..QUICK }).await.unwrap();
    let outcome = turn(&agent, &mut events, "go").await.outcome;
    assert!(matches!(outcome, Err(AgentError::FrameTooLarge { limit: 50_000, .. })), "{outcome:?}");
    last_report(&mut events).await;
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn a_message_that_never_ends_is_not_collected_for_ever() {
    let stage = Stage::with_program("/bin/sh", &["-c", "exec tr '\\0' x </dev/zero"]);
    let error = stage.start_error(AgentLimits { max_frame_bytes: 1_000_000, ..QUICK }).await;
    assert!(matches!(error, AgentError::FrameTooLarge { limit: 1_000_000, .. }), "{error:?}");
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn garbage_in_the_middle_of_a_turn_ends_it_with_one_clear_error() {
    let stage = Stage::with_steps(&json!([{ "say": "so far" }, { "garbage": true }, { "hang": true }]));
    let (agent, mut events) = stage.start().await;
    let turn = turn(&agent, &mut events, "go").await;
    assert_eq!(turn.text(), "so far");
    let error = turn.outcome.unwrap_err();
    assert_words(&error, &["demo-agent", "Segmentation fault"]);
    let after = agent.prompt("again").await;
    assert!(matches!(after, Err(AgentError::NotRunning { .. })), "{after:?}");
    stage.assert_nothing_is_left();
}

#[tokio::test]
async fn an_agent_that_cannot_be_recorded_is_ended_before_anything_is_said() {
    let stage = Stage::with_demo_agent();
    let mark = stage.mark().to_owned();
    let mut seen = Vec::new();
    let started = start(stage.command.clone(), QUICK, async |process| {
        seen = processes_with(&mark);
        assert!(freehold_agent::is_running(&process));
        Err("the disk is full".to_owned())
    });
    let error = tokio::time::timeout(LIMIT, started).await.unwrap().expect_err("it was not recorded");
    assert_eq!(seen.len(), 1, "it ran when it was to be recorded");
    assert!(matches!(error, AgentError::NotRecorded { .. }), "{error:?}");
    assert_words(&error, &["demo-agent", "the disk is full"]);
    stage.assert_nothing_is_left();
}
