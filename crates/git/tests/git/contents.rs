//! Worktrees of repositories with submodules, large files, sparse and encrypted checkouts.

use std::path::Path;

use freehold_testkit::repo::{TempRepo, write_file};

use crate::world::World;

/// A program that stands for a filter of Git: it writes down that it was run.
fn write_filter(world: &World) -> String {
    let program = world.repo.home().join("filter.sh");
    let log = world.repo.home().join("filter.log");
    write_file(&program, format!("#!/bin/sh\necho run >> '{}'\necho whole content\n", log.display()));
    format!("sh {}", program.display())
}

fn pointer(world: &World) {
    world.repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    world.repo.write("small.bin", "not a pointer\n");
    world
        .repo
        .write("large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12345678\n");
    world.repo.commit("Large files");
}

#[test]
fn large_files_stay_pointers_and_only_real_pointers_are_told() {
    let world = World::new();
    pointer(&world);
    let filter = write_filter(&world);
    world.repo.git(&["config", "filter.lfs.smudge", &filter]);
    world.repo.git(&["config", "filter.lfs.required", "true"]);
    let worktree = world.add("a").path;
    assert!(!world.repo.home().join("filter.log").exists(), "nothing is fetched");
    let notes = world.git.describe_contents(&worktree).unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("large.bin") && !notes[0].contains("small.bin"), "{notes:?}");
}

#[test]
fn a_filter_that_is_not_for_large_files_runs_as_always() {
    let world = World::new();
    world.repo.write(".gitattributes", "*.txt filter=other\n");
    world.repo.write("a.txt", "raw\n");
    world.repo.commit("A filtered file");
    world.repo.git(&["config", "filter.other.smudge", &write_filter(&world)]);
    let worktree = world.add("a").path;
    assert_eq!(std::fs::read_to_string(worktree.join("a.txt")).unwrap(), "whole content\n");
    assert_eq!(world.git.describe_contents(&worktree).unwrap(), [] as [&str; 0]);
}

#[test]
fn files_that_are_still_encrypted_are_told_and_a_failing_key_leaves_nothing() {
    let world = World::new();
    world.repo.write(".gitattributes", "secret.txt filter=git-crypt\n");
    world.repo.write("secret.txt", b"\0GITCRYPT\0\x01\x02\x03".as_slice());
    world.repo.commit("A secret");
    let worktree = world.add("a").path;
    let notes = world.git.describe_contents(&worktree).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("secret.txt"), "{notes:?}");
    world.repo.git(&["config", "filter.git-crypt.smudge", "false"]);
    world.repo.git(&["config", "filter.git-crypt.required", "true"]);
    let plan = world.plan("b");
    let error = world.git.add_worktree(&plan).unwrap_err().to_string();
    assert!(error.contains("secret.txt"), "{error}");
    assert!(!plan.path.exists());
}

#[test]
fn a_sparse_checkout_is_told_and_counts_as_complete() {
    let world = World::of(TempRepo::with_files(300));
    world.repo.git(&["sparse-checkout", "set", "folder-0001"]);
    let worktree = world.add("a").path;
    let notes = world.git.describe_contents(&worktree).unwrap();
    let is_sparse = !worktree.join("folder-0002").exists();
    assert_eq!(notes.len(), usize::from(is_sparse), "{notes:?}");
    assert!(notes.iter().all(|note| note.contains("sparse-checkout disable")), "{notes:?}");
    assert_eq!(world.repo.git_in(&worktree, &["status", "--porcelain"]), "");
}

fn with_submodule() -> (World, TempRepo) {
    let (world, library) = (World::new(), TempRepo::new());
    library.write("lib.txt", "library\n");
    library.commit("A library");
    let url = library.path().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "deps/lib"];
    world.repo.git(&add);
    world.repo.commit("Use the library");
    (world, library)
}

fn shared_settings(world: &World) -> Vec<u8> {
    std::fs::read(world.repo.path().join(".git/config")).unwrap()
}

#[test]
fn an_empty_submodule_is_told() {
    let (world, _library) = with_submodule();
    let worktree = world.add("a").path;
    let notes = world.git.describe_contents(&worktree).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("deps/lib"), "{notes:?}");
}

#[test]
fn a_submodule_comes_from_the_main_checkout_without_its_remote() {
    let (world, library) = with_submodule();
    let url = library.path().to_str().unwrap().to_owned();
    let settings = shared_settings(&world);
    drop(library);
    assert!(!Path::new(&url).exists(), "there is nothing to fetch from");
    let worktree = world.add("a").path;
    assert_eq!(world.git.check_out_submodules(&worktree).unwrap(), [] as [&str; 0]);
    let inner = worktree.join("deps/lib");
    assert_eq!(std::fs::read_to_string(inner.join("lib.txt")).unwrap(), "library\n");
    assert_eq!(world.repo.git_in(&inner, &["remote", "get-url", "origin"]), url);
    assert_eq!(world.git.describe_contents(&worktree).unwrap(), [] as [&str; 0]);
    assert_eq!(world.repo.git_in(&worktree, &["status", "--porcelain"]), "");
    assert_eq!(shared_settings(&world), settings, "the settings that all worktrees share stay");
}

#[test]
fn a_submodule_that_the_main_checkout_lacks_stays_empty_and_a_broken_one_is_told() {
    let (world, _library) = with_submodule();
    let settings = shared_settings(&world);
    let modules = world.repo.path().join(".git/modules");
    let worktree = world.add("a").path;
    let head = modules.join("deps/lib/HEAD");
    std::fs::write(&head, "broken").unwrap();
    let notes = world.git.check_out_submodules(&worktree).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("deps/lib"), "{notes:?}");
    std::fs::rename(&modules, world.repo.home().join("elsewhere")).unwrap();
    assert_eq!(world.git.check_out_submodules(&worktree).unwrap(), [] as [&str; 0]);
    assert_eq!(shared_settings(&world), settings);
}
