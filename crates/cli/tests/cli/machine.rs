//! `freehold doctor`.

use std::path::Path;

use serde_json::Value;

use crate::scene::Scene;

fn level_of<'a>(report: &'a Value, check: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["check"] == check);
    found.unwrap_or_else(|| panic!("no check {check} in {report}"))["level"].as_str().unwrap()
}

#[test]
fn a_healthy_machine_is_told_so_and_nothing_is_made() {
    let scene = Scene::new();
    let report = scene.run(&["doctor"]).json();
    assert_eq!(report["ok"], Value::Bool(true));
    for check in ["git", "home folder", "server", "control groups", "database"] {
        assert_eq!(level_of(&report, check), "ok", "{check}: {report}");
    }
    assert!(!scene.home().exists());
}

#[test]
fn a_home_in_a_folder_for_temporary_files_is_warned_of() {
    // The folder of every scene is for temporary files; say so also where the tests keep theirs elsewhere.
    let scene = Scene::with_repository();
    let around = scene.home().parent().unwrap().to_owned();
    let output = scene.command(&["--json", "doctor"]).env("TMPDIR", &around).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(level_of(&report, "home place"), "warn", "{report}");
    assert_eq!(report["ok"], Value::Bool(true), "it is a warning");
}

#[test]
fn a_server_that_runs_is_named() {
    let scene = Scene::with_repository();
    let server = scene.serve(&[]);
    let text = scene.read(&["doctor"]).out;
    assert!(text.contains(&format!("process {} at 127.0.0.1:", server.pid())), "{text}");
}

#[test]
fn a_missing_workspace_a_missing_agent_and_a_strange_folder_are_named_with_a_remedy() {
    let scene = Scene::with_repository();
    scene.run(&["agent", "add", "ghost", "--", "/no/such/agent"]).json();
    let detail = scene.run(&["task", "new", "list"]).json();
    let healthy = scene.run(&["doctor"]).json();
    assert_eq!((level_of(&healthy, "workspaces"), level_of(&healthy, "worktrees")), ("ok", "ok"));
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    std::fs::rename(workspace, scene.repo.home().join("moved")).unwrap();
    std::fs::create_dir(scene.home().join("workspaces/strange")).unwrap();
    let report = scene.run(&["doctor"]).json();
    for (check, named) in
        [("workspaces", workspace.to_str().unwrap()), ("agents", "/no/such/agent"), ("folders", "strange")]
    {
        assert_eq!(level_of(&report, check), "warn", "{check}: {report}");
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|found| found["check"] == check).unwrap();
        assert!(found["message"].as_str().unwrap().contains(named), "{found}");
        assert_ne!(found["remedy"], "", "{found}");
    }
}

#[test]
fn a_database_that_cannot_be_used_is_a_failure() {
    let scene = Scene::new();
    let path = scene.repo.home().join("no.db");
    std::fs::write(&path, "this is no database, whatever its name may say, and it must stay as it is")
        .unwrap();
    let answer = scene.read(&["doctor", "--database", path.to_str().unwrap()]);
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert!(answer.out.contains("fail  database") && answer.err.contains("1 check failed"), "{}", answer.out);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is no database"));
}
