//! A seal or a restoration that died, and a workspace that changes while it is sealed.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use freehold_git::{RestoreBranch, RestoreRequest, SealError, SealRequest};

use crate::seal_bench::{NOW, SealBench, assert_same};
use crate::world::{open_git, start_part};

/// Runs a part in a process of its own with a failpoint at which it dies.
fn die_at(bench: &SealBench, failpoint: &str, part: &str) {
    let setting = format!("{failpoint}=return");
    let variables = [("PART_HOME", bench.world.repo.home().as_os_str()), ("FAILPOINTS", setting.as_ref())];
    let status = start_part(part, &variables).wait().unwrap();
    assert!(status.signal().is_some(), "{failpoint} was not reached: {status}");
}

fn run_part(bench: &SealBench, part: &str) {
    let variables = [("PART_HOME", bench.world.repo.home().as_os_str())];
    let status = start_part(part, &variables).wait().unwrap();
    assert!(status.success(), "{part}: {status}");
}

fn dirty() -> SealBench {
    let bench = SealBench::new();
    bench.write("README.md", "staged\n");
    bench.git(&["add", "README.md"]);
    bench.write("README.md", "changed\n");
    bench.write("new/file.txt", "untracked\n");
    bench
}

#[test]
fn a_seal_that_died_is_taken_by_the_next() {
    for failpoint in
        ["git.seal.after_objects", "git.seal.before_second_look", "git.seal.before_ref", "git.seal.after_ref"]
    {
        let bench = dirty();
        let before = bench.whole();
        die_at(&bench, failpoint, "seal_crash::part_seals");
        let listed = bench.world.git.list_seals(bench.world.repo.path()).unwrap();
        assert_eq!(listed.len(), usize::from(failpoint == "git.seal.after_ref"), "{failpoint}");
        assert_same(&bench.whole(), &before, failpoint);
        bench.round_trip();
    }
}

const RESTORATION: [&str; 8] = [
    "git.restore.before_add",
    "git.restore.after_staging",
    "git.restore.after_add",
    "git.restore.after_files",
    "git.restore.after_branch",
    "git.restore.after_record",
    "git.restore.before_rename",
    "git.restore.after_rename",
];

#[test]
fn a_restoration_that_died_is_done_by_the_next() {
    for failpoint in RESTORATION {
        let bench = dirty();
        let before = bench.whole();
        bench.seal();
        bench.destroy();
        die_at(&bench, failpoint, "seal_crash::part_restores");
        assert_eq!(bench.path.exists(), failpoint == "git.restore.after_rename", "{failpoint}");
        bench.restore();
        assert_same(&bench.whole(), &before, failpoint);
        assert_eq!(bench.left_beside(), Vec::<String>::new(), "{failpoint}");
        assert_eq!(bench.world.registrations(), ["repo"], "{failpoint}");
    }
}

#[test]
fn a_restoration_that_died_does_not_stand_in_the_way_of_one_elsewhere() {
    for failpoint in RESTORATION.into_iter().take(7) {
        let bench = dirty();
        let before = bench.whole();
        bench.seal();
        bench.destroy();
        die_at(&bench, failpoint, "seal_crash::part_restores");
        let path = bench.world.root().join("b/repo");
        let request = RestoreRequest { path: path.clone(), ..bench.restore_request() };
        bench.world.git.restore_seal(&request).unwrap();
        assert_same(&bench.whole_at(&path), &before, failpoint);
        assert_eq!(bench.world.registrations().len(), 1, "{failpoint}");
    }
}

#[test]
fn what_comes_to_the_place_meanwhile_is_kept() {
    let bench = dirty();
    bench.seal();
    bench.destroy();
    run_part(&bench, "seal_crash::part_restores_beside_a_rival");
    assert_eq!(std::fs::read_to_string(bench.path.join("rival.txt")).unwrap(), "mine\n");
    assert_eq!(bench.path.read_dir().unwrap().count(), 1);
    assert!(bench.left_beside().is_empty() && bench.world.registrations().is_empty());
}

#[test]
fn an_edit_meanwhile_is_in_the_seal() {
    let bench = dirty();
    run_part(&bench, "seal_crash::part_seals_beside_one_edit");
    bench.destroy();
    bench.restore();
    assert_eq!(std::fs::read_to_string(bench.path.join("new/file.txt")).unwrap(), "edit 1___\n");
}

#[test]
fn edits_without_end_are_an_error_and_no_seal() {
    let bench = dirty();
    run_part(&bench, "seal_crash::part_seals_beside_many_edits");
    assert_eq!(bench.world.git.list_seals(bench.world.repo.path()).unwrap(), []);
}

struct Part {
    git: freehold_git::Git,
    repo: PathBuf,
    path: PathBuf,
}

impl Part {
    fn new() -> Self {
        let home = PathBuf::from(std::env::var_os("PART_HOME").unwrap());
        let config = home.join("gitconfig");
        let git = open_git(&home.join("scratch"), [("HOME", home.clone()), ("GIT_CONFIG_GLOBAL", config)]);
        Self { git, repo: home.join("repo"), path: home.join("workspaces/a/repo") }
    }

    fn seal(&self) -> Result<freehold_git::Seal, SealError> {
        self.git.seal(&SealRequest::new(&self.repo, &self.path, "one", NOW))
    }

    fn restore(&self) -> Result<freehold_git::Restored, freehold_git::RestoreError> {
        let (repo, path, id) = (self.repo.clone(), self.path.clone(), "one".to_owned());
        self.git.restore_seal(&RestoreRequest { repo, id, path, branch: RestoreBranch::Sealed })
    }
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_seals() {
    let _scenario = fail::FailScenario::setup();
    Part::new().seal().unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_restores() {
    let _scenario = fail::FailScenario::setup();
    Part::new().restore().unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_restores_beside_a_rival() {
    let _scenario = fail::FailScenario::setup();
    let part = Part::new();
    let path = part.path.clone();
    let rival = move || freehold_testkit::repo::write_file(&path.join("rival.txt"), "mine\n");
    fail::cfg_callback("git.restore.before_rename", rival).unwrap();
    let error = part.restore().unwrap_err();
    assert!(matches!(error, freehold_git::RestoreError::PathTaken { .. }), "{error:?}");
}

/// Edits a file each time that a seal is about to look again; the size stays as it is.
fn edit_each_time(path: &Path, times: usize) {
    let (file, done) = (path.join("new/file.txt"), std::sync::atomic::AtomicUsize::new(0));
    let edit = move || {
        let number = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        if number <= times {
            std::fs::write(&file, format!("edit {number}___\n")).unwrap();
        }
    };
    fail::cfg_callback("git.seal.before_second_look", edit).unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_seals_beside_one_edit() {
    let _scenario = fail::FailScenario::setup();
    let part = Part::new();
    edit_each_time(&part.path, 1);
    part.seal().unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_seals_beside_many_edits() {
    let _scenario = fail::FailScenario::setup();
    let part = Part::new();
    edit_each_time(&part.path, usize::MAX);
    match part.seal() {
        Err(SealError::Changing { path, .. }) => assert_eq!(path, Path::new("new/file.txt")),
        other => panic!("{other:?}"),
    }
}
