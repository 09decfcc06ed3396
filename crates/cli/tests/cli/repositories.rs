//! `freehold repo`.

use freehold_testkit::repo::TempRepo;
use serde_json::json;

use crate::scene::Scene;

#[test]
fn a_repository_is_registered_once_under_the_name_of_its_folder() {
    let scene = Scene::new();
    let path = scene.repo.path().to_str().unwrap();
    let added = scene.run(&["repo", "add", path]).json();
    assert_eq!(added["already_registered"], json!(false));
    assert_eq!(added["repository"]["name"], "repo");
    assert_eq!(added["repository"]["default_branch"], "main");
    let again = scene.run(&["repo", "add", path]).json();
    assert_eq!(again["already_registered"], json!(true));
    assert_eq!(again["repository"], added["repository"]);
    assert_eq!(scene.run(&["repo", "list"]).json(), json!([added["repository"]]));
    let list = scene.read(&["repo", "list"]).out;
    assert!(list.starts_with("ID") && list.contains("main") && list.contains(path), "{list}");
}

#[test]
fn a_relative_path_is_meant_from_where_the_command_runs() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    std::fs::create_dir_all(scene.repo.path().join("docs")).unwrap();
    let answer = crate::scene::ended(
        scene.command(&["repo", "add", "docs", "--name", "mine", "--json"]).current_dir(scene.repo.path()),
    );
    let added = answer.json();
    assert_eq!(added["repository"]["local_path"], json!(scene.repo.path()));
    assert_eq!(added["repository"]["name"], "mine");
    assert_ne!(added["note"], "", "the sub-folder stands for its repository, and that is said");
}

#[test]
fn what_is_no_repository_is_refused_with_a_reason_and_nothing_changes() {
    let scene = Scene::new();
    let empty = scene.repo.home().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let unborn = TempRepo::without_commit();
    let missing = scene.repo.home().join("missing");
    for path in [empty.as_path(), unborn.path(), &missing] {
        let error = scene.run(&["repo", "add", path.to_str().unwrap()]).error(2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
    assert_eq!(scene.run(&["repo", "list"]).json(), json!([]));
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    assert!(!missing.exists());
}

#[test]
fn what_workspaces_get_is_set_shown_and_taken_away() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    scene.run(&["repo", "add", scene.repo.path().to_str().unwrap(), "--name", "shop"]);
    let script = scene.repo.home().join("setup.sh");
    std::fs::write(&script, "echo one\necho two\n").unwrap();
    let script = script.to_str().unwrap();
    let set = ["repo", "set", "shop", "--copy", ".env", "--copy", "*.key", "--link", "node_modules/"];
    let detail = scene.run(&[&set[..], &["--setup", script, "--submodules", "on"]].concat()).json();
    let wanted = json!({
        "copy": [".env", "*.key"], "links": ["node_modules"], "setup_script": "echo one\necho two\n",
        "teardown_script": "", "submodules": "on",
    });
    assert_eq!(detail["settings"], wanted);
    let shown = scene.read(&["repo", "show", "shop"]).out;
    assert!(shown.contains("node_modules") && shown.contains("echo two"), "{shown}");
    let detail = scene.run(&["repo", "set", "shop", "--copy", "", "--setup", ""]).json();
    assert_eq!(detail["settings"]["copy"], json!([]));
    assert_eq!(detail["settings"]["setup_script"], "");
    assert_eq!(detail["settings"]["links"], json!(["node_modules"]), "what is not named stays");
}

#[test]
fn a_script_of_a_repository_is_not_trusted_by_accident() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    scene.repo.write(".freehold/setup.sh", "echo mine\n");
    scene.run(&["repo", "add", scene.repo.path().to_str().unwrap(), "--name", "shop"]);
    let refused = scene.run(&["repo", "trust", "shop"]);
    assert!(refused.err.contains("confirmation_needed"), "{}", refused.err);
    let detail = scene.run(&["repo", "show", "shop"]).json();
    assert_eq!(detail["scripts"][0]["trusted"], json!(false));
    let detail = scene.run(&["repo", "trust", "shop", "--yes"]).json();
    assert_eq!(detail["scripts"][0]["trusted"], json!(true));
    scene.repo.write(".freehold/setup.sh", "echo changed\n");
    let detail = scene.run(&["repo", "show", "shop"]).json();
    assert_eq!(detail["scripts"][0]["trusted"], json!(false));
}

#[test]
fn a_task_shows_what_its_workspace_got_and_runs_its_set_up_again() {
    let scene = Scene::new();
    let _server = scene.serve(&[]);
    scene.repo.write(".gitignore", ".env\n");
    scene.repo.commit("Ignore the environment");
    scene.repo.write(".env", "A=1\n");
    scene.run(&["repo", "add", scene.repo.path().to_str().unwrap(), "--name", "shop"]);
    let script = scene.repo.home().join("setup.sh");
    std::fs::write(&script, "echo port $PORT; exit 4\n").unwrap();
    scene.run(&["repo", "set", "shop", "--copy", ".env", "--setup", script.to_str().unwrap()]);
    let task = scene.run(&["task", "new", "list", "--wait"]).json();
    let id = task["task"]["id"].as_str().unwrap();
    let shown = scene.read(&["task", "show", id]).out;
    for part in ["copied", "1 ignored files, 4 bytes", "ports", "failed (exit code 4)", "| port 2"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let again = scene.run(&["task", "setup", id]).json();
    let setups = again["environment"]["setups"].as_array().unwrap();
    assert_eq!(setups.len(), 2);
    assert_eq!(setups[1]["state"], "failed");
    scene.run(&["repo", "set", "shop", "--setup", ""]);
    let refused = scene.run(&["task", "setup", id]);
    assert!(refused.err.contains("no_setup"), "{}", refused.err);
}
