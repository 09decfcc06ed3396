//! `freehold cleanup`: decisions.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, id};

#[test]
fn a_cleanup_that_is_called_off_brings_the_task_back() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve it"]).json();
    let task_id = id(&detail["task"]);
    let error = scene.run(&["task", "archive", &task_id]).error(4);
    assert_eq!(error["code"], "needs_decision");
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

#[test]
fn a_branch_with_the_only_commits_can_be_kept_when_the_task_is_deleted() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve it"]).json();
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    let commit = scene.repo.commit_in(workspace, "Only here");
    let error = scene.run(&["task", "delete", &id(&detail["task"]), "--yes"]).error(4);
    assert!(error["hint"].as_str().unwrap().contains("keep-branch"), "{error}");
    let job = scene.run(&["cleanup", "keep-branch", error["subject"].as_str().unwrap()]).json();
    assert_eq!(job["state"], "succeeded");
    assert!(!workspace.exists());
    let branch = detail["environment"]["repositories"][0]["worktree_branch"].as_str().unwrap();
    assert_eq!(scene.repo.git(&["rev-parse", branch]), commit);
}

#[test]
fn a_decision_about_nothing_is_refused() {
    let scene = Scene::with_repository();
    let error = scene.run(&["cleanup", "keep", "nothing"]).error(3);
    assert_eq!(error["code"], "not_found");
}
