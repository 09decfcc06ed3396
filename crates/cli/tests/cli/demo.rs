//! `freehold demo`.

use freehold_testkit::database::TestDatabase;
use serde_json::json;

use crate::scene::Scene;

#[test]
fn the_whole_story_is_verified_on_both_engines() {
    TestDatabase::each("demo", |url| {
        let scene = Scene::new();
        let report = scene.run(&["demo", "--files", "60", "--database", url]).json();
        assert_eq!(report["verified"], json!(true));
        let steps = report["steps"].as_array().unwrap();
        assert!(steps.len() >= 18, "{report}");
        assert!(steps.iter().all(|step| step["verified"] == json!(true)), "{report}");
        assert!(!scene.home().exists(), "the demo has a home folder of its own");
    });
}

#[test]
fn a_repository_that_is_named_is_only_read() {
    let scene = Scene::new();
    scene.repo.write("docs/a.txt", "one\n");
    scene.repo.commit("Add a file");
    scene.repo.write("untracked.txt", "mine\n");
    let refs = scene.repo.git(&["for-each-ref"]);
    let index = std::fs::read(scene.repo.path().join(".git/index")).unwrap();
    let answer = scene.read(&["demo", "--repo", scene.repo.path().to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    assert!(
        answer.out.contains("✓ the only session is deleted") && answer.out.contains(" ms"),
        "{}",
        answer.out
    );
    assert_eq!(scene.repo.git(&["for-each-ref"]), refs);
    assert_eq!(std::fs::read(scene.repo.path().join(".git/index")).unwrap(), index);
    assert_eq!(scene.repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_is_no_repository_makes_the_demo_fail() {
    let scene = Scene::new();
    let error = scene.run(&["demo", "--repo", "missing"]).error(3);
    assert!(error["message"].as_str().unwrap().contains("missing"), "{error}");
}
