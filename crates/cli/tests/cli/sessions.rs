//! `freehold session`.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, id};

#[test]
fn sessions_come_and_go_and_the_files_stay() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let detail = scene.run(&["task", "new", "Improve it", "--wait"]).json();
    let (task_id, first) = (id(&detail["task"]), id(&detail["sessions"][0]));
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    std::fs::write(workspace.join("marker.txt"), "here").unwrap();

    let deleted = scene.run(&["session", "delete", &first[..8]]).json();
    assert_eq!(deleted["workspace_path"], json!(workspace));
    assert_eq!(deleted["primary_session_id"], json!(null));
    assert_eq!(std::fs::read_to_string(workspace.join("marker.txt")).unwrap(), "here");
    assert_eq!(scene.run(&["session", "list", &task_id]).json(), json!([]));
    assert_eq!(scene.run(&["cleanup", "list"]).json(), json!([]));

    let second = scene.run(&["session", "start", &task_id, "--prompt", "list the files"]).json();
    let said = |conversation: &serde_json::Value| conversation["messages"].to_string();
    assert!(said(&second).contains("marker.txt"), "{second}");
    let second_id = id(&second["session"]);
    let answer = scene.run(&["session", "send", &second_id, "list them again"]).json();
    assert!(
        !said(&answer).contains("list the files") && said(&answer).contains("list them again"),
        "{answer}"
    );
    let shown = scene.run(&["session", "show", &second_id]).json();
    assert!(said(&shown).contains("list the files") && said(&shown).contains("list them again"), "{shown}");
    assert_eq!(scene.run(&["session", "stop", &second_id]).json()["state"], "COMPLETED");
    let revived = scene.run(&["session", "send", &second_id, "list once more"]).json();
    assert_eq!(revived["session"]["state"], "IDLE");
}

#[test]
fn deleting_says_that_the_files_are_kept() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "list"]).json();
    let answer = scene.read(&["session", "delete", &id(&detail["sessions"][0])]);
    let workspace = detail["environment"]["workspace_path"].as_str().unwrap();
    assert!(answer.out.contains(&format!("All files are kept in {workspace}.")), "{}", answer.out);
}

#[test]
fn a_busy_session_takes_no_second_prompt() {
    let scene = Scene::with_repository();
    scene.scripted_agent("busy", &json!({"turns": [{"steps": [{"hang": true}]}]}));
    let _server = scene.serve(&[]);
    let stored = scene.run(&["task", "new", "--title", "Busy", "--no-start"]).json();
    let words = ["session", "start", &id(&stored["task"]), "--agent", "busy", "--prompt", "go", "--no-wait"];
    let session_id = id(&scene.run(&words).json()["session"]);
    let error = scene.run(&["session", "send", &session_id, "more", "--no-wait"]).error(5);
    assert_eq!(error["code"], "session_busy");
    assert_eq!(scene.run(&["session", "stop", &session_id]).json()["state"], "COMPLETED");
}

#[test]
fn unknown_sessions_and_empty_prompts_are_refused() {
    let scene = Scene::with_repository();
    for verb in ["show", "stop", "delete"] {
        let error = scene.run(&["session", verb, "00000000-0000-4000-8000-000000000000"]).error(3);
        assert_eq!(error["code"], "not_found", "{verb}");
    }
    let detail = scene.run(&["task", "new", "list"]).json();
    let error = scene.run(&["session", "send", &id(&detail["sessions"][0]), "  "]).error(2);
    assert_eq!(error["code"], "empty_prompt");
}
