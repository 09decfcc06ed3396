//! `freehold cleanup`: decisions.

use std::path::Path;

use serde_json::{Value, json};

use crate::scene::{Scene, id};

#[test]
fn a_cleanup_that_is_called_off_brings_the_task_back() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve it"]).json();
    let task_id = id(&detail["task"]);
    nest(&scene, &detail);
    let error = scene.run(&["task", "archive", &task_id, "--yes"]).error(4);
    assert_eq!(error["code"], "needs_decision");
    assert_eq!(error["stakes"][0]["kind"], "nested_repository");
    let job_id = error["subject"].as_str().unwrap();
    let waiting = scene.run(&["cleanup", "list", "--waiting"]).json();
    assert_eq!((waiting[0]["id"].as_str().unwrap(), waiting.as_array().unwrap().len()), (job_id, 1));
    let error = scene.run(&["session", "start", &task_id]).error(5);
    assert_eq!(error["code"], "task_closing");

    let job = scene.run(&["cleanup", "keep", &job_id[..8]]).json();
    assert_eq!(job["state"], "cancelled");
    let detail = scene.run(&["task", "show", &task_id]).json();
    assert_eq!(detail["task"]["archived_at"], json!(null));
    assert!(Path::new(detail["environment"]["workspace_path"].as_str().unwrap()).is_dir());
    assert_eq!(scene.run(&["cleanup", "list", "--waiting"]).json(), json!([]));
}

/// Leaves a repository in a task's workspace, which no seal holds.
fn nest(scene: &Scene, detail: &Value) {
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    scene.repo.git_in(workspace, &["init", "-q", "inner"]);
}

#[test]
fn what_no_seal_holds_is_lost_only_to_who_says_exactly_how_much() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve it"]).json();
    nest(&scene, &detail);
    let task_id = id(&detail["task"]);
    let answer = scene.read(&["task", "delete", &task_id, "--yes"]);
    assert_eq!(answer.code, 4);
    for part in ["nothing was removed", "inner", "cleanup keep", "--confirm 'discard 1'"] {
        assert!(answer.err.contains(part), "{part} is missing: {}", answer.err);
    }
    for phrase in [&["--confirm", "discard 2"][..], &["--confirm", "yes"], &[]] {
        let words = [&["cleanup", "discard", &task_id[..]][..], phrase].concat();
        assert_eq!(scene.run(&words).error(5)["code"], "decision_refused", "{phrase:?}");
    }
    let job = scene.run(&["cleanup", "discard", &task_id, "--confirm", "discard 1"]).json();
    assert_eq!(job["state"], "succeeded");
    assert!(!Path::new(detail["environment"]["workspace_path"].as_str().unwrap()).exists());
}

#[test]
fn a_decision_about_nothing_is_refused() {
    let scene = Scene::with_repository();
    let error = scene.run(&["cleanup", "keep", "nothing"]).error(3);
    assert_eq!(error["code"], "not_found");
}
