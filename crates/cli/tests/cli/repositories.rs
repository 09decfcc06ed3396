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
