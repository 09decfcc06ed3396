//! `freehold task new`: where a task starts and works.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, id};

#[test]
fn a_branch_a_pull_request_and_a_name_are_given_as_options() {
    let scene = Scene::with_repository();
    let hub = scene.repo.home().join("hub.git");
    scene.repo.git(&["clone", "--quiet", "--bare", ".", hub.to_str().unwrap()]);
    scene.repo.git(&["remote", "add", "hub", hub.to_str().unwrap()]);
    scene.repo.git_in(&hub, &["update-ref", "refs/pull/42/head", "main"]);
    scene.repo.branch("feat");
    let _server = scene.serve(&[]);
    let checkout = scene.run(&["task", "new", "Improve it", "--checkout", "feat", "--wait"]).json();
    let repo = &checkout["environment"]["repositories"][0];
    assert_eq!((&repo["worktree_branch"], &repo["branch_made"]), (&json!("feat"), &json!(false)));
    let shown = scene.read(&["task", "show", &id(&checkout["task"])]).out;
    assert!(shown.contains("branch feat as it was at "), "{shown}");
    let pull =
        scene.run(&["task", "new", "Review it", "--pull", "42", "--branch", "review-42", "--wait"]).json();
    let repo = &pull["environment"]["repositories"][0];
    assert_eq!((&repo["worktree_branch"], &repo["branch_made"]), (&json!("review-42"), &json!(true)));
    assert_eq!(repo["base_branch"], "hub/pull/42/head");
    let refused = scene.run(&["task", "new", "Again", "--checkout", "feat"]);
    let error = refused.error(5);
    assert_eq!((&error["code"], &error["subject"]), (&json!("branch_in_use"), &json!("feat")));
    assert_eq!(error["offer"]["new_branch"], "feat-2");
    assert_eq!(error["offer"]["task_id"], checkout["task"]["id"]);
    assert_eq!(scene.run(&["task", "new", "x", "--pull", "42", "--from", "main"]).code, 2);
}

#[test]
fn a_task_in_place_says_that_it_removes_nothing() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve it", "--in-place", "--wait"]).json();
    let (task_id, path) = (id(&detail["task"]), scene.repo.path().display().to_string());
    assert_eq!(detail["environment"]["kind"], "in_place");
    assert_eq!(detail["environment"]["workspace_path"], path);
    let shown = scene.read(&["task", "show", &task_id]).out;
    assert!(shown.contains("the main checkout itself; never removed"), "{shown}");
    let closed = scene.read(&["task", "delete", "--yes", &task_id]);
    assert_eq!(closed.code, 0, "{}", closed.err);
    assert!(closed.out.contains(&format!("{path} is yours and stays as it is")), "{}", closed.out);
    assert!(scene.repo.path().join("freehold-demo.md").exists(), "what the agent made stays too");
}

#[test]
fn a_worktree_is_adopted_by_its_path_and_a_scratch_folder_needs_no_repository() {
    let scene = Scene::with_repository();
    let by_hand = scene.repo.home().join("by-hand");
    scene.repo.git(&["worktree", "add", "--quiet", "-b", "hand", by_hand.to_str().unwrap()]);
    let adopted = scene.run(&["task", "new", "Go on", "--adopt", by_hand.to_str().unwrap(), "--wait"]).json();
    assert_eq!(adopted["environment"]["kind"], "adopted");
    assert_eq!(scene.run(&["task", "delete", "--yes", &id(&adopted["task"])]).code, 0);
    assert!(by_hand.join("freehold-demo.md").exists());
    let scratch = scene.run(&["task", "new", "--title", "Think", "--scratch"]).json();
    assert_eq!(scratch["environment"]["kind"], "scratch");
    let folder = scratch["environment"]["workspace_path"].as_str().unwrap();
    assert!(Path::new(folder).is_dir());
    let closed = scene.read(&["task", "delete", "--yes", &id(&scratch["task"])]);
    assert!(closed.out.contains(folder) && !Path::new(folder).exists(), "{} {}", closed.out, closed.err);
}
