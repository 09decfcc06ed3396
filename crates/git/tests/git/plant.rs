//! What is planted in a worktree, and what is not.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use freehold_git::{PlantLimits, PlantRequest, Planting};
use freehold_testkit::repo::write_file;

use crate::world::World;

fn request(world: &World, worktree: &Path, patterns: &[&str]) -> PlantRequest {
    PlantRequest {
        source: world.repo.path().to_owned(),
        worktree: worktree.to_owned(),
        patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
        links: Vec::new(),
        limits: PlantLimits::default(),
    }
}

fn ignoring(patterns: &str) -> World {
    let world = World::new();
    world.repo.write(".gitignore", patterns);
    world.repo.commit("Ignore some files");
    world
}

fn paths(planting: &Planting) -> Vec<&str> {
    planting.planted.iter().map(|planted| planted.path.to_str().unwrap()).collect()
}

fn reason<'p>(planting: &'p Planting, path: &str) -> &'p str {
    let found = planting.skipped.iter().find(|(skipped, _)| skipped == Path::new(path));
    &found.unwrap_or_else(|| panic!("{path} is not in {:?}", planting.skipped)).1
}

#[test]
fn only_what_git_ignores_is_copied_and_nothing_is_overwritten() {
    let world = ignoring(".env*\n");
    world.repo.write("tracked.env", "tracked\n");
    world.repo.commit("A tracked file");
    world.repo.write(".env", "one\n");
    world.repo.write("app/.env.local", "two\n");
    world.repo.write(".env.mine", "theirs\n");
    world.repo.write("untracked.env", "not ignored\n");
    world.repo.write("tracked.env", "changed in the main checkout\n");
    let worktree = world.add("a").path;
    std::fs::write(worktree.join(".env.mine"), "mine\n").unwrap();
    let planting = world.git.plant(&request(&world, &worktree, &["*.env", ".env*"])).unwrap();
    assert_eq!(paths(&planting), [".env", "app/.env.local"]);
    assert_eq!(planting.copied_bytes, 8);
    assert_eq!(reason(&planting, ".env.mine"), "something is there already");
    assert_eq!(std::fs::read_to_string(worktree.join(".env.mine")).unwrap(), "mine\n");
    assert_eq!(std::fs::read_to_string(worktree.join("tracked.env")).unwrap(), "tracked\n");
    assert!(!worktree.join("untracked.env").exists());
    let again = world.git.plant(&request(&world, &worktree, &["*.env", ".env*"])).unwrap();
    assert_eq!(again, planting, "a second run finds what the first one made");
}

#[test]
fn what_the_branch_does_not_ignore_or_tracks_is_not_copied() {
    let world = World::new();
    let before = world.repo.git(&["rev-parse", "HEAD"]);
    world.repo.write("secret.key", "tracked on the branch\n");
    world.repo.git(&["checkout", "--quiet", "-b", "tracking"]);
    let tracking = world.repo.commit("Track it");
    world.repo.git(&["checkout", "--quiet", "main"]);
    world.repo.write(".gitignore", "*.key\n");
    world.repo.commit("Ignore it");
    world.repo.write("secret.key", "secret\n");
    for (name, start) in [("a", before), ("b", tracking)] {
        let plan = freehold_git::WorktreePlan { start: start.parse().unwrap(), ..world.plan(name) };
        let worktree = world.git.add_worktree(&plan).unwrap().identity.path;
        let planting = world.git.plant(&request(&world, &worktree, &["*.key"])).unwrap();
        assert_eq!(reason(&planting, "secret.key"), "Git does not ignore it on this branch");
        assert_eq!(world.repo.git_in(&worktree, &["status", "--porcelain"]), "");
    }
}

#[test]
fn no_link_is_followed_in_either_checkout() {
    let world = ignoring("ignored/\nblocked/\nout\nin\n");
    let outside = world.repo.home().join("outside");
    write_file(&outside.join("a.txt"), "outside\n");
    symlink(&outside, world.repo.path().join("out")).unwrap();
    symlink("README.md", world.repo.path().join("in")).unwrap();
    world.repo.write("ignored/deep/a.txt", "inside\n");
    symlink("/etc/passwd", world.repo.path().join("ignored/passwd")).unwrap();
    symlink("../../../outside", world.repo.path().join("ignored/deep/up")).unwrap();
    world.repo.write("blocked/b.txt", "inside\n");
    let worktree = world.add("a").path;
    symlink(&outside, worktree.join("blocked")).unwrap();
    let patterns = ["ignored/", "blocked/", "out", "in"];
    let planting = world.git.plant(&request(&world, &worktree, &patterns)).unwrap();
    assert_eq!(paths(&planting), ["ignored/deep/a.txt", "in"]);
    assert!(reason(&planting, "blocked/b.txt").contains("a link is on the way"));
    assert_eq!(std::fs::read_link(worktree.join("in")).unwrap(), PathBuf::from("README.md"));
    assert!(reason(&planting, "out").contains("leads out"));
    assert!(reason(&planting, "ignored/passwd").contains("leads out"));
    assert!(reason(&planting, "ignored/deep/up").contains("leads out"));
    assert_eq!(outside.read_dir().unwrap().count(), 1, "nothing was written behind the link");
}

#[test]
fn limits_modes_and_odd_names_are_kept_and_told() {
    let world = ignoring("*.bin\npipe\n");
    for name in ["a.bin", "b.bin", "line\nbreak.bin", "-x.bin"] {
        world.repo.write(name, "12345");
    }
    world.repo.write("large.bin", vec![0; 5_000]);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.repo.path().join("a.bin"), executable).unwrap();
    let worktree = world.add("a").path;
    let limits = PlantLimits { files: 3, bytes: 1_000 };
    let planting =
        world.git.plant(&PlantRequest { limits, ..request(&world, &worktree, &["*.bin"]) }).unwrap();
    assert_eq!(paths(&planting), ["-x.bin", "a.bin", "b.bin"]);
    assert_eq!(planting.skipped_total, 2);
    assert!(reason(&planting, "line\nbreak.bin").contains("more than 3"));
    assert_eq!(worktree.join("a.bin").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    let limits = PlantLimits { files: 100, bytes: 1_000 };
    let planting =
        world.git.plant(&PlantRequest { limits, ..request(&world, &worktree, &["*.bin"]) }).unwrap();
    assert!(reason(&planting, "large.bin").contains("too large"));
    assert!(worktree.join("line\nbreak.bin").is_file());
}

#[test]
fn a_copy_that_a_crash_cut_short_is_made_whole() {
    let world = ignoring(".env*\n");
    world.repo.write(".env", "whole\n");
    let worktree = world.add("a").path;
    std::fs::write(worktree.join(".env.freehold-part"), "wh").unwrap();
    let planting = world.git.plant(&request(&world, &worktree, &["/.env"])).unwrap();
    assert_eq!(paths(&planting), [".env"]);
    assert_eq!(std::fs::read_to_string(worktree.join(".env")).unwrap(), "whole\n");
    assert!(!worktree.join(".env.freehold-part").exists());
}

#[test]
fn a_link_never_takes_the_place_of_tracked_files_and_names_only_what_is_inside() {
    let world = ignoring("cache/\n");
    world.repo.write("cache/x", "x\n");
    let worktree = world.add("a").path;
    let links = ["cache", "README.md", "../up", ".git", "absent"].map(PathBuf::from).to_vec();
    let planting = world.git.plant(&PlantRequest { links, ..request(&world, &worktree, &[]) }).unwrap();
    assert_eq!(paths(&planting), ["cache"]);
    assert_eq!(reason(&planting, "README.md"), "Git tracks files there");
    assert!(reason(&planting, "../up").contains("inside") && reason(&planting, ".git").contains("inside"));
    assert!(reason(&planting, "absent").contains("nothing"));
    let note = world.git.describe_link(&worktree, Path::new("cache")).unwrap().unwrap();
    assert!(note.contains("ends with a slash"), "{note}");
}
