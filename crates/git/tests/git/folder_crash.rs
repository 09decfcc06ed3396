//! The removal or the restoration of a folder that died is finished, or undone, by the next.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use freehold_git::{FolderRestoreRequest, FolderSealRequest, FolderTarget, Git, Remover};
use freehold_testkit::repo::tree;

use crate::folder::FolderBench;
use crate::seal_bench::NOW;
use crate::world::{open_git, start_part};

/// Runs a part in a process of its own with a failpoint at which it dies.
fn die_at(bench: &FolderBench, failpoint: &str, part: &str) {
    let setting = format!("{failpoint}=return");
    let variables = [("PART_HOME", bench.world.repo.home().as_os_str()), ("FAILPOINTS", setting.as_ref())];
    let status = start_part(part, &variables).wait().unwrap();
    assert!(status.signal().is_some(), "{failpoint} was not reached: {status}");
}

fn filled() -> FolderBench {
    let bench = FolderBench::new();
    bench.write("report.md", "# Findings\n");
    bench.write("deep/er/file", "x");
    bench
}

#[test]
fn a_removal_that_died_is_undone_or_finished() {
    for failpoint in ["git.folder.before_rename", "git.folder.moved", "git.folder.after_rename"] {
        let bench = filled();
        let before = tree(&bench.path);
        die_at(&bench, failpoint, "folder_crash::part_removes");
        assert_eq!(bench.path.exists(), failpoint == "git.folder.before_rename", "{failpoint}");
        let target = bench.target();
        let is_back = bench.world.git.put_back_folder(&target).unwrap();
        assert_eq!(is_back, failpoint == "git.folder.moved", "{failpoint}");
        if failpoint == "git.folder.after_rename" {
            Remover::new(bench.world.git.clone()).finish_folder(&target).unwrap();
            assert_eq!(bench.world.root().read_dir().unwrap().count(), 0, "the trash is empty");
        } else {
            assert_eq!(tree(&bench.path), before, "{failpoint}");
            bench.remove(&bench.seal()).unwrap();
        }
        bench.restore().unwrap();
        assert_eq!(tree(&bench.path), before, "{failpoint}");
    }
}

#[test]
fn a_restoration_that_died_is_done_by_the_next() {
    for failpoint in [
        "git.folder.restore.before_staging",
        "git.folder.restore.after_staging",
        "git.folder.restore.after_files",
        "git.folder.restore.before_rename",
        "git.folder.restore.after_rename",
    ] {
        let bench = filled();
        let before = tree(&bench.path);
        bench.remove(&bench.seal()).unwrap();
        die_at(&bench, failpoint, "folder_crash::part_restores");
        assert_eq!(bench.path.exists(), failpoint == "git.folder.restore.after_rename", "{failpoint}");
        bench.restore().unwrap();
        assert_eq!(tree(&bench.path), before, "{failpoint}");
        assert_eq!(bench.world.root().read_dir().unwrap().count(), 1, "{failpoint}");
    }
}

struct Part {
    git: Git,
    vault: PathBuf,
    root: PathBuf,
}

fn part() -> Part {
    let home = PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    let git = open_git(&home.join("scratch"), [] as [(&'static str, &str); 0]);
    Part { git, vault: home.join("vault"), root: home.join("workspaces") }
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_removes() {
    let _scenario = fail::FailScenario::setup();
    let Part { git, vault, root } = part();
    let path = root.join("folder");
    let sealed = git.seal_folder(&FolderSealRequest::new(&vault, &path, "one", NOW)).unwrap();
    let target = FolderTarget { vault, path, managed_root: root, apart: Vec::new(), accepted: Vec::new() };
    Remover::new(git).remove_folder(&target, &sealed).unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_restores() {
    let _scenario = fail::FailScenario::setup();
    let Part { git, vault, root } = part();
    git.restore_folder(&FolderRestoreRequest { vault, id: "one".into(), path: root.join("folder") }).unwrap();
}
