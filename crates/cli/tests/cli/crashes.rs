//! A server that dies between any two steps: the next one loses nothing and leaves nothing over.

use std::path::Path;

use serde_json::{Value, json};

use crate::scene::{Scene, id, wait_until};

/// Every boundary between two steps of making a workspace and of starting the first session.
const CREATION: [&str; 8] = [
    "engine.creation.planned",
    "engine.creation.materialising",
    "git.worktree.before_add",
    "git.worktree.after_branch",
    "git.worktree.after_add",
    "engine.creation.added",
    "engine.creation.persisted",
    "engine.launch.ready",
];
/// Every boundary between two steps of giving a workspace back.
const CLOSING: [&str; 8] = [
    "engine.close.reserved",
    "engine.close.snapshot",
    "engine.close.activated",
    "engine.cleanup.stopped",
    "git.removal.after_rename",
    "git.removal.after_registration",
    "engine.cleanup.removed",
    "engine.cleanup.verified",
];

fn worktrees(scene: &Scene) -> usize {
    let listed = scene.repo.git(&["worktree", "list", "--porcelain"]);
    listed.lines().filter(|line| line.starts_with("worktree ")).count()
}

fn branches(scene: &Scene) -> usize {
    scene.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]).lines().count()
}

/// What is in the folder of workspaces, besides what is just being unlinked.
fn folders(scene: &Scene) -> usize {
    let entries = std::fs::read_dir(scene.home().join("workspaces")).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().file_name() != ".trash").count()
}

fn unfinished_jobs(scene: &Scene) -> Vec<Value> {
    let jobs = scene.run(&["cleanup", "list"]).json();
    let is_unfinished = |job: &&Value| !["succeeded", "cancelled"].contains(&job["state"].as_str().unwrap());
    jobs.as_array().unwrap().iter().filter(is_unfinished).cloned().collect()
}

#[test]
fn a_task_whose_creation_was_cut_short_anywhere_gets_its_workspace_at_the_next_start() {
    for failpoint in CREATION {
        let scene = Scene::with_repository();
        let mut server = scene.serve_until(failpoint);
        let stored = scene.run(&["task", "new", "list the files"]).json();
        wait_until(failpoint, || server.has_died());

        let _server = scene.serve(&[]);
        let show = || scene.run(&["task", "show", &id(&stored["task"])]).json();
        wait_until(failpoint, || show()["sessions"][0]["state"] == "IDLE");
        wait_until(failpoint, || unfinished_jobs(&scene).is_empty());
        let detail = show();
        assert_eq!(detail["prompt"], "list the files", "{failpoint}");
        let workspace = detail["environment"]["workspace_path"].as_str().unwrap();
        assert!(Path::new(workspace).join("README.md").is_file(), "{failpoint}");
        let found = (worktrees(&scene), branches(&scene), folders(&scene));
        assert_eq!(found, (2, 2, 1), "{failpoint}: nothing is left over");
    }
}

#[test]
fn a_task_whose_closing_was_cut_short_anywhere_is_open_or_closed_but_never_between() {
    for failpoint in CLOSING {
        let scene = Scene::with_repository();
        let stored = scene.run(&["task", "new", "list the files"]).json();
        let task_id = id(&stored["task"]);
        let mut server = scene.serve_until(failpoint);
        // The answer may be lost with the server.
        scene.run(&["task", "archive", &task_id]);
        wait_until(failpoint, || server.has_died());

        let _server = scene.serve(&[]);
        wait_until(failpoint, || unfinished_jobs(&scene).is_empty());
        let detail = scene.run(&["task", "show", &task_id]).json();
        let is_open = detail["task"]["archived_at"] == json!(null);
        let expected = if is_open { (2, 2, 1) } else { (1, 2, 0) };
        let found = (worktrees(&scene), branches(&scene), folders(&scene));
        assert_eq!(found, expected, "{failpoint}, open: {is_open}");
        if is_open {
            assert_eq!(scene.run(&["task", "archive", &task_id]).json()["state"], "succeeded", "{failpoint}");
        }
    }
}
