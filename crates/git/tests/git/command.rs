//! The git program: where it comes from and what reaches it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use freehold_git::{Git, GitError};
use freehold_testkit::repo::TempRepo;

use crate::world::{World, open_git, start_part};

#[test]
fn variables_that_point_git_elsewhere_do_not_reach_it() {
    let (world, decoy) = (World::new(), TempRepo::new());
    let decoy_git = decoy.path().join(".git");
    let before = crate::world::snapshot(decoy.path());
    let (home, config) = (world.repo.home().as_os_str(), world.repo.config());
    let variables: [(&str, &OsStr); 13] = [
        ("PART_HOME", home),
        ("GIT_CONFIG_GLOBAL", config.as_os_str()),
        ("GIT_DIR", decoy_git.as_os_str()),
        ("GIT_WORK_TREE", decoy.path().as_os_str()),
        ("GIT_COMMON_DIR", decoy_git.as_os_str()),
        ("GIT_INDEX_FILE", decoy_git.as_os_str()),
        ("GIT_OBJECT_DIRECTORY", home),
        ("GIT_NAMESPACE", OsStr::new("decoy")),
        ("GIT_CEILING_DIRECTORIES", home),
        ("GIT_PREFIX", OsStr::new("decoy/")),
        ("GIT_CONFIG_COUNT", OsStr::new("1")),
        ("GIT_CONFIG_KEY_0", OsStr::new("core.bare")),
        ("GIT_CONFIG_VALUE_0", OsStr::new("true")),
    ];
    let status = start_part("command::part_works_in_a_poisoned_environment", &variables).wait().unwrap();
    assert!(status.success());
    assert_eq!(world.registrations(), ["repo"]);
    assert!(world.branches().contains(&"freehold/poisoned".to_owned()));
    assert_eq!(crate::world::snapshot(decoy.path()), before);
}

#[test]
#[ignore = "a part of variables_that_point_git_elsewhere_do_not_reach_it"]
fn part_works_in_a_poisoned_environment() {
    let home = std::path::PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    let git = open_git(&home.join("scratch"), [("HOME", home.clone())]);
    let repo = home.join("repo");
    let info = git.inspect_repository(&repo).unwrap();
    assert_eq!((info.path.as_path(), info.is_bare), (repo.as_path(), false));
    let path = home.join("workspaces/poisoned/repo");
    let (branch, start) = ("freehold/poisoned".to_owned(), info.head.clone());
    git.add_worktree(&freehold_git::WorktreePlan {
        repo,
        path: path.clone(),
        branch,
        branch_use: freehold_git::BranchUse::Make,
        start,
    })
    .unwrap();
    assert!(git.changes(&path, &info.head).unwrap().is_empty());
}

#[test]
fn a_git_that_is_missing_or_too_old_is_refused_by_name_and_version() {
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join("bin");
    freehold_testkit::repo::write_file(&bin.join("git"), "#!/bin/sh\necho git version 2.25.1\n");
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = |folder: &std::path::Path| folder.as_os_str().to_owned();
    for (part, folder) in [("old", &bin), ("missing", &home.path().join("nowhere"))] {
        let part = format!("command::part_meets_a_git_that_is_{part}");
        let variables = [("PATH", path(folder)), ("PART_HOME", path(home.path()))];
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, &**value)).collect();
        assert!(start_part(&part, &variables).wait().unwrap().success(), "{part}");
    }
}

fn open_in_part() -> GitError {
    let home = std::path::PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    Git::open(&home.join("scratch")).unwrap_err()
}

#[test]
#[ignore = "a part of a_git_that_is_missing_or_too_old_is_refused_by_name_and_version"]
fn part_meets_a_git_that_is_old() {
    let error = open_in_part();
    assert!(matches!(error, GitError::GitTooOld { .. }), "{error}");
    assert!(error.to_string().contains("2.25.1") && error.to_string().contains("2.34"), "{error}");
}

#[test]
#[ignore = "a part of a_git_that_is_missing_or_too_old_is_refused_by_name_and_version"]
fn part_meets_a_git_that_is_missing() {
    assert!(matches!(open_in_part(), GitError::GitMissing { .. }));
}

#[test]
fn the_version_is_the_one_that_git_says() {
    let world = World::new();
    assert_eq!(format!("git version {}", world.git.version()), world.repo.git(&["version"]));
}
