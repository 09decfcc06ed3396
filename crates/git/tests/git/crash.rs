//! A process that dies between two steps leaves what the next one recognises and finishes.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use freehold_git::{BranchPolicy, RemovalOutcome, RemovalTarget, Remover, SealRequest};

use crate::world::{World, open_git, start_part};

/// Dies in a process of its own at the failpoint, while it does what the part does.
fn die_at(world: &World, failpoint: &str, part: &str) {
    let setting = format!("{failpoint}=return");
    let variables = [("PART_HOME", world.repo.home().as_os_str()), ("FAILPOINTS", setting.as_ref())];
    let status = start_part(part, &variables).wait().unwrap();
    assert!(status.signal().is_some(), "{failpoint} was not reached: {status}");
}

#[test]
fn a_creation_that_died_is_taken_back_whole() {
    for failpoint in ["git.worktree.before_add", "git.worktree.after_branch", "git.worktree.after_add"] {
        let world = World::new();
        std::fs::create_dir(world.root()).unwrap();
        die_at(&world, failpoint, "crash::part_adds");
        let remover = Remover::new(world.git.clone());
        remover.remove(&world.attempted("a")).unwrap();
        assert!(!world.plan("a").path.exists() && world.registrations().is_empty(), "{failpoint}");
        assert_eq!(world.branches(), ["main"], "{failpoint}");
        // The name and the path are free again.
        world.add("a");
    }
}

#[test]
fn what_a_removal_only_moved_away_is_put_back_with_what_came_into_it() {
    for failpoint in ["git.removal.moved", "git.removal.hidden"] {
        comes_back(failpoint);
    }
}

fn comes_back(failpoint: &str) {
    let world = World::new();
    let identity = world.add("a");
    let target = world.target("a", &identity);
    die_at(&world, failpoint, "crash::part_removes");
    assert!(!target.path.exists());
    // A person who tidies up meanwhile takes away what Git lists as missing, and what it cannot read.
    if failpoint == "git.removal.hidden" {
        assert!(!world.repo.git(&["worktree", "list"]).contains("workspaces"));
        world.repo.git(&["worktree", "prune", "--expire=now"]);
    }
    assert_eq!(world.registrations(), ["repo"]);
    let entry = world.root().join(".trash").read_dir().unwrap().next().unwrap().unwrap().path();
    std::fs::write(entry.join("late.txt"), "written by a program that was still there").unwrap();
    let remover = Remover::new(world.git.clone());
    match remover.remove(&target) {
        Err(freehold_git::RemovalError::AtStake(assessment)) => {
            assert_eq!(assessment.findings[0].items, ["late.txt"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(target.path.join("late.txt").exists() && !world.root().join(".trash").exists());
    assert!(world.repo.git(&["worktree", "list"]).contains("workspaces"));
    let registration = world.repo.path().join(".git/worktrees/repo");
    assert!(!registration.join("locked").exists() && registration.join("gitdir").exists());
    assert!(!world.git.put_back_worktree(&target).unwrap(), "there is nothing to put back any more");
    std::fs::remove_file(target.path.join("late.txt")).unwrap();
    remover.remove(&target).unwrap();
    assert!(!target.path.exists() && world.registrations().is_empty());
}

#[test]
fn a_removal_that_died_is_finished_by_the_next() {
    for failpoint in
        ["git.removal.after_rename", "git.removal.after_registration", "git.removal.after_branch"]
    {
        let world = World::new();
        let identity = world.add("a");
        let branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
        let target = RemovalTarget { branch_policy, ..world.target("a", &identity) };
        die_at(&world, failpoint, "crash::part_removes");
        assert!(!target.path.exists(), "{failpoint}");
        let outcome = Remover::new(world.git.clone()).remove(&target).unwrap();
        let branch_removed = failpoint != "git.removal.after_branch";
        let expected = RemovalOutcome::Removed { branch_removed };
        assert_eq!(outcome, expected, "{failpoint}");
        assert!(world.registrations().is_empty(), "{failpoint}");
        assert_eq!(world.branches(), ["main"], "{failpoint}");
        assert!(!world.root().join(".trash").exists(), "{failpoint}");
    }
}

#[test]
fn a_removal_without_a_recorded_identity_goes_on_after_a_crash_too() {
    for failpoint in ["git.removal.after_rename", "git.removal.after_registration"] {
        let world = World::new();
        world.add("a");
        die_at(&world, failpoint, "crash::part_removes_inherited");
        let target = inherited(world.repo.path().to_owned(), &world.root());
        Remover::new(world.git.clone()).remove(&target).unwrap();
        assert!(world.registrations().is_empty(), "{failpoint}");
        assert_eq!(world.branches(), ["freehold/a", "main"], "{failpoint}");
        let around: Vec<_> = world.root().join("a").read_dir().unwrap().collect();
        assert!(around.is_empty(), "{failpoint}: {around:?}");
    }
}

/// A worktree as another program made it: nothing is recorded but where it is.
fn inherited(repo: PathBuf, root: &Path) -> RemovalTarget {
    RemovalTarget {
        repo,
        path: root.join("a/repo"),
        branch: "freehold/a".to_owned(),
        base: None,
        expected: None,
        managed_root: root.join("a"),
        branch_policy: BranchPolicy::Keep,
        never_exposed: false,
        accepted: Vec::new(),
        planted: Vec::new(),
        pushed: Vec::new(),
        sealed: Vec::new(),
    }
}

#[test]
fn a_half_removed_registration_is_still_recognised() {
    let world = World::new();
    let identity = world.add("a");
    let target = world.target("a", &identity);
    die_at(&world, "git.removal.after_rename", "crash::part_removes");
    let registration = world.repo.path().join(".git/worktrees/repo");
    for file in ["commondir", "HEAD", "index", "locked", "freehold-gitdir"] {
        std::fs::remove_file(registration.join(file)).unwrap();
        let assessment = Remover::assess(&world.git, &target).unwrap();
        assert!(assessment.is_safe(), "without {file}: {assessment:?}");
    }
    Remover::new(world.git.clone()).remove(&target).unwrap();
    assert!(world.registrations().is_empty());
}

#[test]
fn what_comes_into_a_worktree_that_was_moved_away_brings_it_back_with_its_registration() {
    let world = World::new();
    world.add("a");
    let variables = [("PART_HOME", world.repo.home().as_os_str())];
    assert!(start_part("crash::part_finds_a_change", &variables).wait().unwrap().success());
    let path = world.plan("a").path;
    assert_eq!(std::fs::read_to_string(path.join("late.txt")).unwrap(), "late");
    let listed = world.repo.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("workspaces/a/repo") && !listed.contains("locked"), "{listed}");
    assert!(world.repo.git_in(&path, &["status", "--porcelain"]).contains("late.txt"));
    assert!(!world.root().join(".trash").exists());
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_finds_a_change() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    let (repo, path) = (home.join("repo"), home.join("workspaces/a/repo"));
    let trash = home.join("workspaces/.trash");
    fail::cfg_callback("git.removal.hidden", move || {
        let moved = trash.read_dir().unwrap().next().unwrap().unwrap().path();
        std::fs::write(moved.join("late.txt"), "late").unwrap();
    })
    .unwrap();
    let identity = git.inspect_worktree(&repo, &path).unwrap().unwrap();
    let sealed = git.seal_for_removal(&SealRequest::new(&repo, &path, "one", 1_800_000_000)).unwrap();
    let target = RemovalTarget {
        expected: Some(freehold_git::ExpectedIdentity {
            registration: identity.registration,
            device: identity.device,
            inode: identity.inode,
        }),
        base: Some(identity.head),
        managed_root: home.join("workspaces"),
        path,
        ..inherited(repo, &home.join("workspaces"))
    };
    match Remover::new(git).remove_sealed(&target, &sealed) {
        Err(freehold_git::RemovalError::Changed { path }) => assert_eq!(path, Path::new("late.txt")),
        other => panic!("{other:?}"),
    }
}

fn part_world() -> (freehold_git::Git, PathBuf) {
    let home = PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    let config = home.join("gitconfig");
    let git = open_git(&home.join("scratch"), [("HOME", home.clone()), ("GIT_CONFIG_GLOBAL", config)]);
    (git, home)
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_adds() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    let repo = home.join("repo");
    let start = git.resolve_start(&repo, "main").unwrap().commit;
    let (path, branch) = (home.join("workspaces/a/repo"), "freehold/a".to_owned());
    git.add_worktree(&freehold_git::WorktreePlan {
        repo,
        path,
        branch,
        branch_use: freehold_git::BranchUse::Make,
        start,
    })
    .unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_removes() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    let (repo, path) = (home.join("repo"), home.join("workspaces/a/repo"));
    let identity = git.inspect_worktree(&repo, &path).unwrap().unwrap();
    let target = RemovalTarget {
        repo,
        path,
        branch: "freehold/a".to_owned(),
        base: Some(identity.head),
        expected: Some(freehold_git::ExpectedIdentity {
            registration: identity.registration,
            device: identity.device,
            inode: identity.inode,
        }),
        managed_root: home.join("workspaces"),
        branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
        never_exposed: false,
        accepted: Vec::new(),
        planted: Vec::new(),
        pushed: Vec::new(),
        sealed: Vec::new(),
    };
    Remover::new(git).remove(&target).unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_removes_inherited() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    Remover::new(git).remove(&inherited(home.join("repo"), &home.join("workspaces"))).unwrap();
}
