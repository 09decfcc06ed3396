//! Reading the state of a worktree.

use freehold_git::HeadState;

use crate::world::World;

#[test]
fn staged_unstaged_untracked_and_conflicting_files_are_told_apart() {
    let world = World::new();
    let path = world.add("a").path;
    let write = |name: &str, text: &str| freehold_testkit::repo::write_file(&path.join(name), text);
    write("README.md", "staged\n");
    world.repo.git_in(&path, &["add", "README.md"]);
    write("README.md", "staged and changed\n");
    write("src/lib.rs", "changed\n");
    write("new folder/a:b\nc", "untracked\n");
    write(".env", "ignored\n");
    let status = world.git.status(&path).unwrap();
    assert_eq!(status.head, HeadState::Branch { name: "freehold/a".into(), tip: Some(world.head()) });
    assert_eq!(status.staged, ["README.md"]);
    assert_eq!(status.unstaged, ["README.md", "src/lib.rs"]);
    assert_eq!(status.untracked, ["new folder/a:b\nc"]);
    assert!(status.unmerged.is_empty() && status.operation_in_progress.is_none());
}

#[test]
fn head_is_read_each_time_and_not_remembered() {
    let world = World::new();
    let path = world.add("a").path;
    world.repo.git_in(&path, &["switch", "--quiet", "--create", "other"]);
    let head = || world.git.status(&path).unwrap().head;
    assert_eq!(head().branch(), Some("other"));
    world.repo.git_in(&path, &["switch", "--quiet", "--detach"]);
    assert_eq!(head(), HeadState::Detached { tip: world.head() });
    world.repo.git_in(&path, &["switch", "--quiet", "--orphan", "empty"]);
    assert_eq!(head(), HeadState::Branch { name: "empty".into(), tip: None });
}

#[test]
fn an_unfinished_operation_is_named() {
    let world = World::new();
    let path = world.add("a").path;
    let commit = |name: &str, text: &str| {
        std::fs::write(path.join("README.md"), text).unwrap();
        world.repo.commit_in(&path, name)
    };
    world.repo.git_in(&path, &["branch", "theirs"]);
    let ours = commit("ours", "ours\n");
    world.repo.git_in(&path, &["switch", "--quiet", "theirs"]);
    commit("theirs", "theirs\n");
    let operation = |arguments: &[&str]| {
        assert!(!world.repo.try_git_in(&path, arguments).status.success(), "{arguments:?} met no conflict");
        let status = world.git.status(&path).unwrap();
        assert_eq!(status.unmerged, ["README.md"], "{arguments:?}");
        world.repo.git_in(&path, &[arguments[0], "--abort"]);
        status.operation_in_progress.unwrap()
    };
    assert_eq!(operation(&["merge", "freehold/a"]), "merge");
    assert_eq!(operation(&["rebase", "freehold/a"]), "rebase");
    assert_eq!(operation(&["cherry-pick", &ours]), "cherry-pick");
    world.repo.git_in(&path, &["bisect", "start"]);
    assert_eq!(world.git.status(&path).unwrap().operation_in_progress.as_deref(), Some("bisect"));
}

#[test]
fn looking_takes_no_lock_of_git() {
    let world = World::new();
    let path = world.add("a").path;
    let git_dir = world.repo.path().join(".git/worktrees/repo");
    // As a person's slow commit would hold it.
    std::fs::write(git_dir.join("index.lock"), "").unwrap();
    std::fs::write(path.join("README.md"), "changed\n").unwrap();
    let index = std::fs::read(git_dir.join("index")).unwrap();
    assert_eq!(world.git.status(&path).unwrap().unstaged, ["README.md"]);
    assert_eq!(world.git.changes(&path, &world.head()).unwrap().len(), 1);
    assert_eq!(std::fs::read(git_dir.join("index")).unwrap(), index);
    assert!(git_dir.join("index.lock").exists());
}
