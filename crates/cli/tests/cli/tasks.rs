//! `freehold task`.

use std::path::Path;

use serde_json::{Value, json};

use crate::scene::{Scene, id, wait_until};

/// Creates a task that is done at once, and gives it.
fn done_task(scene: &Scene) -> Value {
    scene.run(&["task", "new", "Improve the documentation", "--wait"]).json()
}

#[test]
fn a_command_alone_waits_until_the_agent_is_done_and_leaves_nothing_running() {
    let scene = Scene::with_repository();
    let detail = scene.run(&["task", "new", "Improve the documentation"]).json();
    assert_eq!(
        (&detail["task"]["state"], &detail["sessions"][0]["state"]),
        (&json!("REVIEW"), &json!("IDLE"))
    );
    let workspace = detail["environment"]["workspace_path"].as_str().unwrap();
    assert!(Path::new(workspace).join("freehold-demo.md").is_file());
    assert_eq!(crate::scene::processes_in(Path::new(workspace)), [0_u32; 0]);
    assert_eq!(scene.repo.git(&["status", "--porcelain"]), "", "the main checkout is untouched");
}

#[test]
fn the_conversation_is_shown_while_it_happens() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let answer = scene.read(&["task", "new", "Improve the documentation", "--wait"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    for part in ["(thinking) I first look around", "✓ Edit README.md", "Done. I edited", "freehold task diff"]
    {
        assert!(answer.out.contains(part), "{part} is missing: {}", answer.out);
    }
    assert!(answer.err.contains("is stored: Improve the documentation"), "{}", answer.err);
}

#[test]
fn a_task_is_stored_listed_shown_and_started() {
    let scene = Scene::with_repository();
    let stored = scene.run(&["task", "new", "--title", "Later", "--prompt", "list", "--no-start"]).json();
    let task_id = id(&stored["task"]);
    assert_eq!((&stored["task"]["state"], &stored["environment"]), (&json!("TODO"), &Value::Null));
    let listed = scene.run(&["task", "list", "--query", "later"]).json();
    assert_eq!(listed, json!([stored["task"]]));
    assert_eq!(scene.run(&["task", "list", "--archived"]).json(), json!([]));
    assert_eq!(scene.run(&["task", "show", &task_id[..6]]).json(), stored);
    let started = scene.run(&["task", "start", &task_id[..6]]).json();
    assert_eq!(started["sessions"][0]["state"], "IDLE");
    assert_eq!(started["environment"]["status"], "ready");
}

#[test]
fn the_diff_names_the_files_and_shows_their_lines() {
    let scene = Scene::with_repository();
    scene.repo.write("a.txt", "one\n");
    scene.repo.commit("Add a file");
    let task_id = id(&done_task(&scene)["task"]);
    let diff = scene.run(&["task", "diff", &task_id]).json();
    let files = diff[0]["files"].as_array().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["README.md", "a.txt", "freehold-demo.md"]);
    assert_eq!(diff[0]["diffs"].as_array().unwrap().len(), 3);
    let text = scene.read(&["task", "diff", &task_id, "a.txt"]).out;
    assert!(text.starts_with("M  +1 -0") && text.contains("\n+Edited by the Freehold demo agent."), "{text}");
    let stat = scene.read(&["task", "diff", &task_id, "--stat"]).out;
    assert!(stat.lines().count() == 3 && stat.contains("?  +1 -0      freehold-demo.md"), "{stat}");
    assert_eq!(scene.run(&["task", "diff", &task_id, "b.txt"]).error(3)["code"], "not_changed");
}

#[test]
fn a_committed_task_is_archived_and_its_branch_stays() {
    let scene = Scene::with_repository();
    let detail = done_task(&scene);
    let task_id = id(&detail["task"]);
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    let commit = scene.repo.commit_in(workspace, "Keep it");
    let job = scene.run(&["task", "archive", &task_id]).json();
    assert_eq!(job["state"], "succeeded");
    assert!(!workspace.exists());
    let branch = detail["environment"]["repositories"][0]["worktree_branch"].as_str().unwrap();
    assert_eq!(scene.repo.git(&["rev-parse", branch]), commit);
    let archived = scene.run(&["task", "list", "--archived"]).json();
    assert_eq!(archived[0]["id"], json!(task_id));
    let error = scene.run(&["session", "start", &task_id, "--prompt", "list"]).error(5);
    assert_eq!(error["code"], "task_closed");
}

#[test]
fn work_that_exists_nowhere_else_is_sealed_only_with_consent() {
    let scene = Scene::with_repository();
    let detail = done_task(&scene);
    let task_id = id(&detail["task"]);
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    let answer = scene.read(&["task", "delete", &task_id]);
    assert_eq!((answer.code, answer.out.as_str()), (4, ""));
    for part in ["nothing was changed", "README.md", "freehold-demo.md", "--yes"] {
        assert!(answer.err.contains(part), "{part} is missing: {}", answer.err);
    }
    assert!(workspace.join("freehold-demo.md").is_file());
    assert_eq!(scene.run(&["cleanup", "list"]).json(), json!([]));
    let before = std::fs::read(workspace.join("freehold-demo.md")).unwrap();

    let answer = scene.read(&["task", "delete", &task_id, "--yes"]);
    assert!(answer.code == 0 && answer.out.contains("freehold trash restore"), "{answer:?}");
    assert!(!workspace.exists());
    assert_eq!(scene.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main");
    assert_eq!(scene.run(&["task", "show", &task_id]).error(3)["code"], "not_found");

    let trash = scene.run(&["trash", "list"]).json();
    assert_eq!((&trash[0]["task"]["id"], trash.as_array().unwrap().len()), (&json!(task_id), 1));
    let listed = scene.read(&["trash", "list"]).out;
    assert!(listed.starts_with("ID") && listed.contains("KEPT UNTIL"), "{listed}");
    let diff = scene.read(&["trash", "diff", &task_id[..6], "README.md"]).out;
    assert!(diff.contains("+Edited by the Freehold demo agent."), "{diff}");
    assert!(scene.read(&["trash", "show", &task_id]).out.contains("2 changed"));
    let back = scene.run(&["trash", "restore", &task_id[..6]]).json();
    assert_eq!(back["environment"]["status"], "ready");
    assert_eq!(std::fs::read(workspace.join("freehold-demo.md")).unwrap(), before);
    assert_eq!(scene.run(&["trash", "list"]).json(), json!([]));
}

#[test]
fn an_archived_task_comes_back_and_a_taken_place_is_left_alone() {
    let scene = Scene::with_repository();
    let detail = done_task(&scene);
    let task_id = id(&detail["task"]);
    let workspace = Path::new(detail["environment"]["workspace_path"].as_str().unwrap());
    scene.run(&["task", "archive", &task_id, "--yes"]).json();
    std::fs::create_dir_all(workspace).unwrap();
    let error = scene.run(&["task", "unarchive", &task_id]).error(5);
    assert_eq!(error["code"], "path_taken");
    assert!(error["hint"].as_str().unwrap().ends_with("--elsewhere"), "{error}");
    let back = scene.run(&["task", "unarchive", &task_id, "--elsewhere"]).json();
    let place = Path::new(back["environment"]["workspace_path"].as_str().unwrap());
    assert!(place != workspace && place.join("freehold-demo.md").is_file());
    assert!(workspace.read_dir().unwrap().next().is_none());
    assert_eq!(scene.run(&["task", "unarchive", &task_id]).error(5)["code"], "task_open");
}

#[test]
fn what_is_purged_from_the_trash_is_gone_for_good() {
    let scene = Scene::with_repository();
    let task_id = id(&done_task(&scene)["task"]);
    scene.run(&["task", "delete", &task_id, "--yes"]).json();
    assert_eq!(scene.run(&["trash", "purge", &task_id]).error(4)["code"], "not_confirmed");
    assert_eq!(scene.run(&["trash", "purge", "nothing", "--yes"]).error(3)["code"], "not_found");
    let job = scene.run(&["trash", "purge", &task_id, "--yes"]).json();
    assert_eq!((&job["trigger"], &job["state"]), (&json!("trash_purge"), &json!("succeeded")));
    assert_eq!(scene.repo.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(scene.run(&["trash", "restore", &task_id]).error(3)["code"], "not_found");
}

#[test]
fn a_title_becomes_a_workspace_whatever_it_says() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let titles = ["..", "-x", "a.lock", "🦊 🚀", "$(touch X)", "a/../../b", "@{-1}", "HEAD", "con"];
    for title in titles {
        let stored = scene.run(&["task", "new", "--title", title, "--prompt", "list"]).json();
        assert_eq!(stored["task"]["title"], json!(title));
    }
    wait_until("every task has its workspace", || {
        let tasks = scene.run(&["task", "list"]).json();
        let tasks = tasks.as_array().unwrap();
        let failed: Vec<&Value> = tasks.iter().filter(|task| task["state"] == "FAILED").collect();
        assert_eq!(failed, [] as [&Value; 0]);
        tasks.iter().all(|task| task["environment_status"] == "ready")
    });
    let listed = scene.repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.lines().filter(|line| line.starts_with("worktree ")).count(), titles.len() + 1);
    scene.repo.git(&["for-each-ref"]).lines().for_each(|line| assert!(!line.contains('$'), "{line}"));
    assert!(!scene.repo.path().join("X").exists() && !scene.repo.home().join("X").exists());
}

#[test]
fn a_request_that_cannot_be_carried_out_is_refused_and_changes_nothing() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let long = "x".repeat(10_000);
    let refused: [(&[&str], i32, &str); 9] = [
        (&["task", "new", "--title", "", "--prompt", "list"], 2, "empty_title"),
        (&["task", "new", "--title", "  ", "--prompt", "list"], 2, "empty_title"),
        (&["task", "new", "--title", &long, "--prompt", "list"], 2, "title_too_long"),
        (&["task", "new"], 2, "empty_prompt"),
        (&["task", "new", "list", "--repo", "nothing"], 3, "not_found"),
        (&["task", "new", "list", "--repo", "/"], 3, "not_registered"),
        (&["task", "new", "list", "--agent", "nobody"], 3, "not_found"),
        (&["task", "show", "nothing"], 3, "not_found"),
        (&["task", "archive", "00000000-0000-4000-8000-000000000000"], 3, "not_found"),
    ];
    for (words, code, word) in refused {
        let error = scene.run(words).error(code);
        assert_eq!(error["code"], word, "{words:?}: {error}");
    }
    let error = scene.run(&["task", "new", "list", "--base", "no-such-branch"]).error(2);
    assert!(error["message"].as_str().unwrap().contains("no-such-branch"), "{error}");
    let error = scene.run(&["task", "new", "list", "--base", "--upload-pack=touch X"]).error(2);
    assert!(error["message"].as_str().unwrap().contains("--upload-pack"), "{error}");

    assert_eq!(scene.run(&["task", "list"]).json(), json!([]));
    assert_eq!(scene.run(&["cleanup", "list"]).json(), json!([]));
    assert_eq!(scene.repo.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(std::fs::read_dir(scene.home().join("workspaces")).unwrap().count(), 0);
}

#[test]
fn an_unregistered_path_says_how_to_register_it() {
    let scene = Scene::new();
    let error = scene.run(&["task", "new", "list"]).error(2);
    assert_eq!(error["code"], "no_repository");
    let path = scene.repo.path().to_str().unwrap();
    let error = scene.run(&["task", "new", "list", "--repo", path]).error(3);
    assert_eq!(error["hint"], json!(format!("register it first: freehold repo add {path}")));
}

#[test]
fn a_permission_that_nobody_can_be_asked_for_is_left_open_and_said() {
    let scene = Scene::with_repository();
    let _server = scene.serve(&[]);
    let error = scene.run(&["task", "new", "Improve it, with permission", "--wait"]).error(4);
    assert_eq!(error["code"], "permission_pending");
    let tasks = scene.run(&["task", "list"]).json();
    assert_eq!(tasks[0]["session_state"], "WAITING_FOR_INPUT", "the request stays open");
}

#[test]
fn many_commands_at_once_lose_nothing_of_one_another() {
    let scene = Scene::with_repository();
    let server = scene.serve(&[]);
    let titles: Vec<String> = (0..12).map(|number| format!("Task {number}")).collect();
    let started: Vec<_> = titles
        .iter()
        .map(|title| {
            let words = ["--json", "task", "new", "--title", title, "--prompt", "list", "--no-start"];
            let mut command = scene.command(&words);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut command in started {
        assert!(command.wait().unwrap().success());
    }
    let listed = scene.run(&["task", "list"]).json();
    let mut found: Vec<&str> =
        listed.as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut expected: Vec<&str> = titles.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    // Each changes another thing of one task at the same time.
    let task_id = id(&listed[0]);
    let mut starting = scene.command(&["--json", "task", "start", &task_id]);
    let starting = starting.stdout(std::process::Stdio::null()).spawn().unwrap();
    let repository = scene.command(&["repo", "list"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    for mut command in [starting, repository] {
        assert!(command.wait().unwrap().success());
    }
    assert_eq!(scene.run(&["task", "list"]).json().as_array().unwrap().len(), 12);
    server.stop();
}
