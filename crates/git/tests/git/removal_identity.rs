//! A directory is removed only when it is the one that was made.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use freehold_git::{FindingKind, GitError, Presence, RemovalError, RemovalOutcome, RemovalTarget, Remover};
use freehold_testkit::repo::write_file;

use crate::world::{World, snapshot};

/// Demands that the target is recognised as something else and that a removal changes nothing.
fn assert_occupied(world: &World, target: &RemovalTarget, words: &str) {
    let state = || (snapshot(&world.root()), world.refs(), world.registrations());
    let before = state();
    let assessment = Remover::assess(&world.git, target).unwrap();
    assert!(
        matches!(&assessment.presence, Presence::Occupied { by } if by.contains(words)),
        "{assessment:?}"
    );
    assert_eq!(assessment.findings.len(), 1);
    assert_eq!(assessment.findings[0].kind, FindingKind::Occupied);
    let refused = Remover::new(world.git.clone()).remove(target).unwrap_err();
    assert!(matches!(refused, RemovalError::AtStake(again) if again == assessment));
    assert!(state() == before, "something changed");
}

fn move_away(world: &World, path: &Path) -> PathBuf {
    let away = world.root().join("away");
    std::fs::rename(path, &away).unwrap();
    away
}

#[test]
fn a_clone_that_came_to_sit_at_the_path_is_safe() {
    let world = World::new();
    let identity = world.add("a");
    move_away(&world, &identity.path);
    world.repo.git(&["clone", "--quiet", ".", identity.path.to_str().unwrap()]);
    assert_occupied(&world, &world.target("a", &identity), "repository of its own");
}

#[test]
fn a_sibling_that_was_moved_to_the_path_is_safe() {
    let world = World::new();
    let (a, b) = (world.add("a"), world.add("b"));
    move_away(&world, &a.path);
    std::fs::rename(&b.path, &a.path).unwrap();
    assert_occupied(&world, &world.target("a", &a), "belongs at");
    // Also when Git was told about the move.
    world.repo.git(&["worktree", "repair", a.path.to_str().unwrap()]);
    assert_occupied(&world, &world.target("a", &a), "\"repo1\"");
    let unknown = RemovalTarget { expected: None, ..world.target("a", &b) };
    let assessment = Remover::assess(&world.git, &unknown).unwrap();
    assert_eq!(assessment.presence, Presence::Present);
}

#[test]
fn a_worktree_of_another_repository_at_the_path_is_safe() {
    let (world, other) = (World::new(), World::new());
    let (a, foreign) = (world.add("a"), other.add("a"));
    move_away(&world, &a.path);
    std::fs::rename(&foreign.path, &a.path).unwrap();
    assert_occupied(&world, &world.target("a", &a), "another repository");
}

#[test]
fn a_link_a_file_and_a_plain_folder_at_the_path_are_safe() {
    let world = World::new();
    let (a, b) = (world.add("a"), world.add("b"));
    let target = world.target("a", &a);
    let away = move_away(&world, &a.path);
    symlink(&b.path, &a.path).unwrap();
    assert_occupied(&world, &target, "symbolic link");
    std::fs::remove_file(&a.path).unwrap();
    symlink(&away, &a.path).unwrap();
    assert_occupied(&world, &target, "symbolic link");
    std::fs::remove_file(&a.path).unwrap();
    std::fs::write(&a.path, "x").unwrap();
    assert_occupied(&world, &target, "a file");
    std::fs::remove_file(&a.path).unwrap();
    write_file(&a.path.join("mine"), "x");
    assert_occupied(&world, &target, "another directory");
    let unknown = RemovalTarget { expected: None, ..target };
    assert_occupied(&world, &unknown, "without a registration");
}

#[test]
fn a_link_on_the_way_to_the_path_is_not_followed() {
    let world = World::new();
    let a = world.add("a");
    let (folder, elsewhere) = (world.root().join("a"), world.repo.home().join("elsewhere"));
    std::fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    assert_occupied(&world, &world.target("a", &a), "symbolic link");
}

#[test]
fn a_copy_in_place_of_the_directory_is_another_directory() {
    let world = World::new();
    let a = world.add("a");
    let away = move_away(&world, &a.path);
    std::fs::create_dir(&a.path).unwrap();
    std::fs::copy(away.join(".git"), a.path.join(".git")).unwrap();
    assert_occupied(&world, &world.target("a", &a), "another directory");
}

#[test]
fn a_worktree_that_git_moved_away_is_not_touched() {
    let world = World::new();
    let a = world.add("a");
    let moved = world.root().join("moved");
    world.repo.git(&["worktree", "move", a.path.to_str().unwrap(), moved.to_str().unwrap()]);
    let outcome = Remover::new(world.git.clone()).remove(&world.target("a", &a)).unwrap();
    assert_eq!(outcome, RemovalOutcome::AlreadyGone);
    assert_eq!(world.registrations(), ["repo"]);
    assert_eq!(world.repo.git_in(&moved, &["status", "--porcelain"]), "");
}

#[test]
fn repositories_and_folders_around_them_are_never_removed() {
    let world = World::new();
    let a = world.add("a");
    let home = world.repo.home().to_owned();
    let inside = world.repo.path().join(".git");
    for path in [world.repo.path(), &home, &inside, Path::new("/"), &world.root(), Path::new("relative")] {
        for managed_root in [&home, home.parent().unwrap(), &world.root()] {
            let target = RemovalTarget {
                path: path.to_owned(),
                managed_root: managed_root.to_owned(),
                expected: None,
                never_exposed: true,
                accepted: Vec::new(),
                planted: Vec::new(),
                pushed: Vec::new(),
                sealed: Vec::new(),
                ..world.target("a", &a)
            };
            let before = (snapshot(world.repo.path()), snapshot(&world.root()));
            let removed = Remover::new(world.git.clone()).remove(&target);
            let is_root_of_workspaces = path == world.root();
            match removed {
                Err(RemovalError::Git(GitError::Protected { .. })) => {}
                // A folder that is no worktree is recognised as one that nobody recorded.
                Err(RemovalError::AtStake(_)) if is_root_of_workspaces => {}
                other => panic!("{}: {other:?}", path.display()),
            }
            assert!((snapshot(world.repo.path()), snapshot(&world.root())) == before, "{}", path.display());
        }
    }
}

#[test]
fn a_path_that_leaves_the_managed_root_is_never_removed() {
    let world = World::new();
    let a = world.add("a");
    let outside = world.repo.home().join("outside");
    world.repo.git(&["worktree", "move", a.path.to_str().unwrap(), outside.to_str().unwrap()]);
    for path in [outside.clone(), world.root().join("a/../../outside")] {
        let target = RemovalTarget { path, ..world.target("a", &a) };
        let error = Remover::new(world.git.clone()).remove(&target).unwrap_err();
        assert!(matches!(error, RemovalError::Git(GitError::Protected { .. })), "{error:?}");
    }
    assert!(outside.join("README.md").exists());
}
