//! `freehold serve`, and how the other commands find it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::scene::{Scene, id, processes_in, wait_until};

#[test]
fn a_server_prints_one_line_once_it_is_healthy_and_ends_when_it_is_asked_to() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let (address, token) = (&server.started["address"], server.started["token"].as_str().unwrap());
    let url = format!("http://{}/#token={token}", address.as_str().unwrap());
    assert_eq!(server.started["url"], json!(url));
    assert_eq!(std::fs::read_to_string(scene.home().join("token")).unwrap().trim(), token);
    let record = std::fs::read_to_string(scene.home().join("server.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["address"], &record["pid"]), (address, &json!(server.pid())));

    assert_eq!(server.stop(), Some(0));
    assert!(!scene.home().join("server.json").exists());
}

#[test]
fn only_the_owner_can_look_into_the_home_folder() {
    let scene = Scene::with_repository();
    let mode = |name: &str| scene.home().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("token"), mode("node-id")), (0o700, 0o600, 0o600));
}

#[test]
fn a_second_server_on_the_home_folder_is_refused_and_the_first_is_named() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let error = scene.run(&["serve", "--port", "0", "--no-open"]).error(5);
    assert_eq!(error["code"], "home_in_use");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&format!("process {}", server.pid())), "{message}");
    assert_eq!(scene.run(&["repo", "list"]).json(), json!([]), "the first still answers");
}

#[test]
fn a_taken_port_is_told_before_anything_else_happens() {
    let scene = Scene::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = scene.run(&["serve", "--port", &port, "--no-open"]).error(6);
    assert_eq!((&error["code"], &error["subject"]), (&json!("port_taken"), &json!(port)));
    assert!(error["hint"].as_str().unwrap().contains("--port"), "{error}");
    assert!(!scene.home().join("freehold.db").exists());
}

#[test]
fn the_sample_is_registered_once_and_only_where_nothing_is() {
    let scene = Scene::new();
    for _ in 0..2 {
        let server = scene.serve(&["--sample"]);
        let repositories = scene.run(&["repo", "list"]).json();
        assert_eq!(repositories.as_array().unwrap().len(), 1);
        assert_eq!(repositories[0]["name"], "sample");
        server.stop();
    }
    let commits = scene.repo.git_in(&scene.home().join("sample"), &["rev-list", "--count", "main"]);
    let files = scene.repo.git_in(&scene.home().join("sample"), &["ls-files"]);
    assert_eq!((commits.as_str(), files.lines().count()), ("3", 13));
    assert_eq!(scene.repo.git_in(&scene.home().join("sample"), &["status", "--porcelain"]), "");

    let other = Scene::with_repository();
    let _server = other.serve(&["--sample"]);
    assert_eq!(other.run(&["repo", "list"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_record_that_a_killed_server_left_leads_nobody_astray() {
    let scene = Scene::with_repository();
    scene.serve(&[]).kill();
    assert!(scene.home().join("server.json").exists());
    assert_eq!(scene.run(&["repo", "list"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_command_that_names_another_database_than_the_server_is_refused() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    let other = scene.repo.home().join("other.db");
    let error = scene.run(&["repo", "list", "--database", other.to_str().unwrap()]).error(5);
    assert_eq!(error["code"], "other_database");
    assert!(!other.exists());
}

#[test]
fn a_database_that_cannot_be_reached_has_an_exit_code_of_its_own() {
    let scene = Scene::new();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:secret@127.0.0.1:{port}/none");
    let answer = scene.run(&["repo", "list", "--database", &url]);
    assert!(!answer.err.contains("secret"), "{}", answer.err);
    assert_eq!(answer.error(6)["code"], "database_unreachable");
}

#[test]
fn agents_that_a_killed_server_left_are_ended_at_the_next_start() {
    let scene = Scene::with_repository();
    scene.scripted_agent(
        "stubborn",
        &json!({"turns": [{"steps": [{"spawn_stubborn_child": {}}, {"hang": true}]}]}),
    );
    let server = scene.serve(&[]);
    let task = scene.run(&["task", "new", "Hang", "--agent", "stubborn"]).json();
    let workspaces = scene.home().join("workspaces");
    wait_until("the agent and its child run", || processes_in(&workspaces).len() >= 2);
    server.kill();

    let _server = scene.serve(&[]);
    wait_until("all processes in the workspace have ended", || processes_in(&workspaces).is_empty());
    let detail = scene.run(&["task", "show", &id(&task["task"])]).json();
    assert_eq!(detail["sessions"][0]["state"], "INTERRUPTED");
    assert_eq!(detail["environment"]["status"], "ready");
}

#[test]
fn a_newcomer_is_told_the_address_and_what_to_try() {
    let scene = Scene::new();
    let mut child = scene
        .command(&["serve", "--port", "0"])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the server announces itself", || scene.home().join("server.json").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let mut out = String::new();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    while !out.contains("Ctrl-C") {
        assert_ne!(std::io::BufRead::read_line(&mut lines, &mut out).unwrap(), 0, "{out}");
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("http://127.0.0.1:") && out.contains("/#token="), "{out}");
    assert!(out.contains("task new") && !out.contains('\u{1b}'), "{out}");
    assert!(err.contains("No browser could be opened here"), "{err}");
}
