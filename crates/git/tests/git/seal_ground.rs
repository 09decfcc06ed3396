//! A restoration on an idle worktree: what differs is written, and nobody's work is used up.
//!
//! That the result is the same byte for byte is asked by every round trip of a seal (`seal_bench.rs`).

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use freehold_git::{FindingKind, GroundUse, RemovalError, Remover};
use freehold_testkit::repo::write_file;

use crate::pool_bench::{idle_target, prepare};
use crate::seal_bench::{SealBench, assert_same};

#[test]
fn files_that_are_the_same_are_not_written_again() {
    let bench = SealBench::new();
    bench.write("README.md", "changed\n");
    let before = bench.whole();
    bench.seal();
    bench.destroy();
    let idle = prepare(&bench.world, "ground", &bench.world.head());
    let inode = |top: &std::path::Path, name: &str| top.join(name).symlink_metadata().unwrap().ino();
    let same = inode(&idle.identity.path, "src/lib.rs");
    let (_, used) = bench.world.git.restore_seal_on(&idle, &bench.restore_request()).unwrap();
    assert_eq!(used, GroundUse::Used);
    assert_eq!(inode(&bench.path, "src/lib.rs"), same);
    assert_same(&bench.whole(), &before, "on a ground");
}

#[test]
fn folders_that_became_files_and_files_that_became_folders_or_links_come_back() {
    let bench = SealBench::new();
    bench.world.repo.write("folder/inner/file", "x");
    bench.world.repo.write("file", "y");
    bench.world.repo.write("other", "z");
    bench.world.repo.write("run.sh", "#!/bin/sh\n");
    bench.world.repo.commit("More");
    std::fs::write(bench.path.join("folder"), "a file now").unwrap();
    bench.write("file/inner", "a folder now");
    symlink("file/inner", bench.path.join("other")).unwrap();
    bench.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(bench.path.join("run.sh"), PermissionsExt::from_mode(0o741)).unwrap();
    std::fs::create_dir(bench.path.join("empty")).unwrap();
    std::fs::set_permissions(bench.path.join("src"), PermissionsExt::from_mode(0o700)).unwrap();
    bench.round_trip();
}

#[test]
fn files_that_a_checkout_writes_with_other_line_ends_come_back_as_they_were_sealed() {
    let by_attributes = |bench: &SealBench| bench.world.repo.write(".gitattributes", "*.txt text eol=crlf\n");
    let by_a_file_of_its_own = |bench: &SealBench| {
        write_file(&bench.world.repo.path().join(".git/info/attributes"), "*.txt text eol=crlf\n");
    };
    let by_a_setting = |bench: &SealBench| _ = bench.world.repo.git(&["config", "core.autocrlf", "true"]);
    let ways: [&dyn Fn(&SealBench); 3] = [&by_attributes, &by_a_file_of_its_own, &by_a_setting];
    for (number, way) in ways.into_iter().enumerate() {
        let bench = SealBench::new();
        way(&bench);
        bench.world.repo.write("lines.txt", "one\ntwo\n");
        bench.world.repo.commit("Lines");
        bench.git(&["merge", "--quiet", "--ff-only", "main"]);
        // The blob is that of the commit, and the bytes are not those of a checkout.
        bench.write("lines.txt", "one\ntwo\n");
        bench.round_trip();
        assert_eq!(std::fs::read(bench.path.join("lines.txt")).unwrap(), b"one\ntwo\n", "way {number}");
    }
}

#[test]
fn an_idle_worktree_that_somebody_worked_in_is_no_ground() {
    let bench = SealBench::new();
    bench.write("README.md", "changed\n");
    let before = bench.whole();
    bench.seal();
    bench.destroy();
    let idle = prepare(&bench.world, "ground", &bench.world.head());
    write_file(&idle.identity.path.join("notes.txt"), "mine");
    let (_, used) = bench.world.git.restore_seal_on(&idle, &bench.restore_request()).unwrap();
    assert_eq!(used, GroundUse::Doubtful);
    assert_same(&bench.whole(), &before, "without a ground");
    match Remover::new(bench.world.git.clone()).remove(&idle_target(&bench.world, &idle)) {
        Err(RemovalError::AtStake(found)) => assert_eq!(found.findings[0].kind, FindingKind::Untracked),
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(idle.identity.path.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn what_stands_in_the_way_leaves_the_idle_worktree_as_it_was() {
    let bench = SealBench::new();
    bench.seal();
    let idle = prepare(&bench.world, "ground", &bench.world.head());
    bench.world.git.restore_seal_on(&idle, &bench.restore_request()).unwrap_err();
    let plan = bench.world.plan("later");
    let used = bench.world.git.take_idle(&idle, &plan).unwrap();
    assert!(matches!(used, freehold_git::IdleUse::Taken(_)), "{used:?}");
}
