//! `freehold agent`, and agents that do not behave.

use serde_json::{Value, json};

use crate::scene::Scene;

#[test]
fn an_agent_is_registered_with_its_arguments_and_its_values_are_not_shown() {
    let scene = Scene::new();
    let words = ["agent", "add", "mine", "--env", "KEY=s3cret", "--", "my-agent", "--acp", "--json"];
    let added = scene.run(&words).json();
    assert_eq!((&added["command"], &added["args"]), (&json!("my-agent"), &json!(["--acp", "--json"])));
    assert_eq!(added["env_names"], json!(["KEY"]));
    let answer = scene.run(&["agent", "list"]);
    assert!(!answer.out.contains("s3cret"), "{}", answer.out);
    let names: Vec<Value> =
        answer.json().as_array().unwrap().iter().map(|agent| agent["name"].clone()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&json!("mine")));
    assert_eq!(scene.run(&words).error(5)["code"], "agent_exists");
}

/// Starts a task with an agent, and gives the error of the session that failed.
fn failure_of(scene: &Scene, agent: &str) -> String {
    let error = scene.run(&["task", "new", "Do it", "--agent", agent, "--wait"]).error(1);
    assert_eq!(error["code"], "session_failed", "{error}");
    let session_id = error["subject"].as_str().unwrap();
    let session = scene.run(&["session", "show", session_id]).json()["session"].clone();
    assert_eq!(session["state"], "FAILED");
    assert_eq!(session["error_message"], error["message"]);
    let detail = scene.run(&["task", "show", session["task_id"].as_str().unwrap()]).json();
    assert_eq!(detail["environment"]["status"], "ready", "the workspace is kept");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_that_does_not_behave_fails_its_session_with_a_clear_reason() {
    let scene = Scene::with_repository();
    scene.run(&["agent", "add", "ghost", "--", "/no/such/agent"]).json();
    for (name, on_start) in [("quitter", "exit"), ("babbler", "garbage"), ("sleeper", "hang")] {
        scene.scripted_agent(name, &json!({ "on_start": on_start }));
    }
    let _server = scene.serve(&[]);
    let ghost = failure_of(&scene, "ghost");
    assert!(ghost.contains("/no/such/agent"), "{ghost}");
    let quitter = failure_of(&scene, "quitter");
    assert!(quitter.contains('3') && quitter.contains("the script says to end at once"), "{quitter}");
    let babbler = failure_of(&scene, "babbler");
    assert!(babbler.contains("Welcome to the demo agent"), "{babbler}");
    let sleeper = failure_of(&scene, "sleeper");
    assert!(
        sleeper.contains("1000 ms") || sleeper.contains("1 s") || sleeper.contains("in time"),
        "{sleeper}"
    );
    assert_eq!(crate::scene::processes_in(&scene.home().join("workspaces")), [0_u32; 0]);
}

#[test]
fn a_turn_that_fails_is_a_failure_and_the_session_goes_on() {
    let scene = Scene::with_repository();
    scene.scripted_agent("unlucky", &json!({"turns": [{"steps": [{"fail": "no tokens left"}]}]}));
    let _server = scene.serve(&[]);
    let error = scene.run(&["task", "new", "Do it", "--agent", "unlucky", "--wait"]).error(1);
    assert!(error["message"].as_str().unwrap().contains("no tokens left"), "{error}");
    assert!(["turn_failed", "session_failed"].contains(&error["code"].as_str().unwrap()), "{error}");
}

#[test]
fn an_agent_that_dies_in_its_turn_fails_its_session() {
    let scene = Scene::with_repository();
    scene.scripted_agent("mortal", &json!({"turns": [{"steps": [{"exit": 7}]}]}));
    let message = failure_of(&scene, "mortal");
    assert!(message.contains('7'), "{message}");
}

#[test]
fn the_demo_agent_refuses_a_script_that_is_none() {
    let scene = Scene::new();
    let missing = scene.run(&["demo-agent", "--script", "missing.json"]).error(2);
    assert!(missing["message"].as_str().unwrap().contains("missing.json"), "{missing}");
    let path = scene.script("broken.json", &json!({"turns": 3}));
    let broken = scene.run(&["demo-agent", "--script", path.to_str().unwrap()]).error(2);
    assert!(broken["message"].as_str().unwrap().contains("broken.json"), "{broken}");
}
