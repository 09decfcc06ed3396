//! Sub-tasks, lent workspaces, fresh ones, and the deletion of whole workspaces.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, id};

#[test]
fn a_sub_task_works_in_the_files_of_its_parent_and_closes_with_it() {
    let scene = Scene::with_repository();
    let parent = scene.run(&["task", "new", "Improve the documentation", "--wait"]).json();
    let (parent_id, workspace) = (id(&parent["task"]), parent["environment"]["workspace_path"].clone());
    let part = scene.run(&["task", "new", "list", "--parent", &parent_id[..6], "--borrow", "--wait"]).json();
    let part_id = id(&part["task"]);
    assert_eq!(part["task"]["parent_id"], parent_id);
    assert_eq!(part["environment"]["workspace_path"], workspace);
    assert_eq!(part["environment"]["owner_id"], parent_id);

    let refused = scene.run(&["task", "archive", &parent_id, "--borrowers", "refuse", "--yes"]).error(5);
    assert_eq!((&refused["code"], &refused["tasks"][0]["id"]), (&json!("borrowed"), &json!(part_id)));
    let jobs = scene.run(&["task", "archive", &parent_id, "--sub-tasks", "--yes"]).json();
    let jobs = jobs.as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:?}");
    assert!(!Path::new(workspace.as_str().unwrap()).exists());
    scene.run(&["task", "unarchive", &parent_id, "--sub-tasks"]).json();
    let back = scene.run(&["task", "show", &part_id]).json();
    assert_eq!(
        (&back["task"]["archived_at"], &back["environment"]["owner_id"]),
        (&json!(null), &json!(parent_id))
    );
}

#[test]
fn a_reset_wants_consent_and_the_old_files_are_in_a_seal() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let task = scene.run(&["task", "new", "Improve the documentation", "--wait"]).json();
    let (task_id, old) = (id(&task["task"]), task["environment"]["workspace_path"].clone());
    let refused = scene.run(&["task", "reset", &task_id]).error(4);
    assert!(refused["hint"].as_str().unwrap().contains("--yes"), "{refused}");
    let job = scene.run(&["task", "reset", &task_id, "--yes"]).json();
    assert_eq!((&job["trigger"], &job["state"]), (&json!("environment_reset"), &json!("succeeded")));
    assert!(!Path::new(old.as_str().unwrap()).exists());
    let kept = scene.read(&["trash", "diff", &task_id, "--stat"]).out;
    assert!(kept.contains("freehold-demo.md"), "{kept}");
}

#[test]
fn a_workspace_is_deleted_by_its_name_and_a_column_gets_a_rule() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let task = scene.run(&["task", "new", "Improve the documentation", "--wait"]).json();
    let rule = scene.run(&["workspace", "column", "Done", "--archive-after", "14d", "--seal"]).json();
    let steps = rule[0]["workflows"][0]["steps"].as_array().unwrap();
    let done = steps.iter().find(|step| step["name"] == "Done").unwrap();
    assert_eq!(done["auto_archive_after_ms"], 14 * 86_400_000);
    assert_eq!(scene.run(&["workspace", "column", "Nowhere", "--never"]).error(3)["code"], "not_found");
    assert_eq!(scene.run(&["workspace", "column", "Done", "--archive-after", "soon"]).code, 2);

    let refused = scene.run(&["workspace", "delete", "Default", "--confirm", "Other", "--yes"]).error(2);
    assert_eq!(refused["code"], "name_not_typed");
    let refused = scene.run(&["workspace", "delete", "Default", "--confirm", "Default"]).error(4);
    assert!(!refused["stakes"].as_array().unwrap().is_empty(), "{refused}");
    let jobs = scene.run(&["workspace", "delete", "Default", "--confirm", "Default", "--yes"]).json();
    assert_eq!((&jobs[0]["trigger"], &jobs[0]["state"]), (&json!("workspace_delete"), &json!("succeeded")));
    let refused = scene.run(&["workspace", "delete-board", "Board", "--yes"]).error(2);
    assert!(refused["message"].as_str().unwrap().contains("only board"), "{refused}");
    assert_eq!(scene.run(&["task", "unarchive", &id(&task["task"])]).code, 0);
    assert_eq!(scene.run(&["workspace", "list"]).json().as_array().unwrap().len(), 2);
}
