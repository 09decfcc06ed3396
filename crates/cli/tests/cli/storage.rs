//! What takes room, what nobody owns, and the quarantine, from the command line.

use serde_json::json;

use crate::scene::{Scene, id};

#[test]
fn what_nobody_owns_is_listed_moved_aside_by_its_name_and_restored() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let task = scene.run(&["task", "create", "Improve it", "--automation", "nightly", "--wait"]).json();
    assert_eq!(task["task"]["automation"], "nightly");
    let storage = scene.run(&["storage", "show"]).json();
    assert_eq!(storage["tasks"][0]["task_id"], id(&task["task"]));
    assert_eq!(scene.run(&["storage", "unowned"]).json(), json!([]));

    let stray = std::path::PathBuf::from(storage["root"].as_str().unwrap()).join("stray");
    std::fs::create_dir(&stray).unwrap();
    std::fs::write(stray.join("notes.md"), "mine\n").unwrap();
    let path = stray.to_str().unwrap();
    let places = scene.run(&["storage", "unowned"]).json();
    assert_eq!((&places[0]["path"], &places[0]["is_owner_unknown"]), (&json!(path), &json!(true)));
    let refused = scene.run(&["storage", "quarantine", path]).error(5);
    assert_eq!(refused["code"], "owner_unknown");
    assert!(stray.join("notes.md").exists());

    let entry = scene.run(&["storage", "quarantine", path, "--confirm", "stray"]).json();
    assert_eq!((&entry["state"], &entry["original_path"]), (&json!("held"), &json!(path)));
    assert!(!stray.exists());
    let listed = scene.run(&["storage", "quarantine"]).json();
    assert_eq!(listed[0]["id"], entry["id"]);
    scene.run(&["storage", "restore", &id(&entry)]).json();
    assert_eq!(std::fs::read_to_string(stray.join("notes.md")).unwrap(), "mine\n");

    let again = scene.run(&["storage", "quarantine", path, "--confirm", "stray"]).json();
    let unasked = scene.run(&["storage", "purge", &id(&again)]).error(4);
    assert_eq!(unasked["code"], "not_confirmed");
    let job = scene.run(&["storage", "purge", &id(&again), "--yes"]).json();
    assert_eq!((&job["trigger"], &job["state"]), (&json!("quarantine_purge"), &json!("succeeded")));
    assert_eq!(scene.run(&["storage", "quarantine"]).json(), json!([]));
}
