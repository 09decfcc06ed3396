//! A process that dies while it makes or takes an idle worktree leaves one that is whole, or the attempt's.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use freehold_git::{
    BranchPolicy, BranchUse, IdleUse, IdleWorktree, RemovalTarget, Remover, WorktreeIdentity, WorktreePlan,
};

use crate::pool_bench::{idle_plan, idle_target, prepare, take};
use crate::world::{World, open_git, start_part};

/// Brings files along: some change, some go, some come, and a folder becomes a file.
fn move_on(world: &World) {
    for number in 0..40 {
        world.repo.write(&format!("stays/{number}"), format!("{number}\n"));
        world.repo.write(&format!("changed/{number}"), format!("after {number}\n"));
        world.repo.write(&format!("new/{number}"), format!("new {number}\n"));
    }
    world.repo.git(&["rm", "-r", "--quiet", "gone", "turns"]);
    world.repo.write("turns", "into a file\n");
    world.repo.commit("Move on");
}

fn begin(world: &World) -> IdleWorktree {
    for number in 0..40 {
        world.repo.write(&format!("stays/{number}"), format!("{number}\n"));
        world.repo.write(&format!("changed/{number}"), format!("before {number}\n"));
        world.repo.write(&format!("gone/{number}"), format!("gone {number}\n"));
    }
    world.repo.write("turns/inner", "folder\n");
    world.repo.commit("Before");
    let idle = prepare(world, "one", &world.head());
    move_on(world);
    idle
}

fn die_at(world: &World, failpoint: &str, part: &str, idle: Option<&IdleWorktree>) {
    let setting = format!("{failpoint}=return");
    let idle_text = idle.map(text_of).unwrap_or_default();
    let variables = [
        ("PART_HOME", world.repo.home().as_os_str()),
        ("FAILPOINTS", setting.as_ref()),
        ("PART_IDLE", idle_text.as_ref()),
    ];
    let status = start_part(part, &variables).wait().unwrap();
    assert!(status.signal().is_some(), "{failpoint} was not reached: {status}");
}

fn text_of(idle: &IdleWorktree) -> String {
    let WorktreeIdentity { registration, device, inode, head, .. } = &idle.identity;
    format!("{registration}\n{device}\n{inode}\n{head}\n{}", idle.evidence)
}

const TAKING: [&str; 7] = [
    "git.pool.after_branch",
    "git.pool.after_note",
    "git.pool.after_checkout",
    "git.pool.after_link",
    "git.pool.after_rename",
    "git.pool.after_head",
    "git.pool.before_end",
];

#[test]
fn a_taking_that_died_leaves_nothing_behind_once_both_were_given_back() {
    for failpoint in TAKING {
        let world = World::new();
        let idle = begin(&world);
        die_at(&world, failpoint, "pool_crash::part_takes", Some(&idle));
        let moved =
            matches!(failpoint, "git.pool.after_rename" | "git.pool.after_head" | "git.pool.before_end");
        assert_eq!(world.plan("a").path.exists(), moved, "{failpoint}");
        assert_eq!(world.git.settle_idle(&idle).unwrap(), !moved, "{failpoint}");
        let remover = Remover::new(world.git.clone());
        remover.remove(&idle_target(&world, &idle)).unwrap();
        assert_eq!(world.plan("a").path.exists(), moved, "{failpoint}: the attempt's is not touched");
        remover.remove(&world.attempted("a")).unwrap();
        assert!(!world.plan("a").path.exists() && !idle.identity.path.exists(), "{failpoint}");
        assert!(world.registrations().is_empty(), "{failpoint}");
        assert_eq!(world.branches(), ["main"], "{failpoint}");
        world.add("a");
    }
}

#[test]
fn the_attempt_may_be_given_back_before_the_idle_one() {
    for failpoint in TAKING {
        let world = World::new();
        let idle = begin(&world);
        die_at(&world, failpoint, "pool_crash::part_takes", Some(&idle));
        world.git.settle_idle(&idle).unwrap();
        let remover = Remover::new(world.git.clone());
        remover.remove(&world.attempted("a")).unwrap();
        remover.remove(&idle_target(&world, &idle)).unwrap();
        assert!(world.registrations().is_empty() && !idle.identity.path.exists(), "{failpoint}");
        assert_eq!(world.branches(), ["main"], "{failpoint}");
    }
}

#[test]
fn work_that_was_added_after_the_crash_is_not_taken_for_half_a_checkout() {
    let world = World::new();
    let idle = begin(&world);
    die_at(&world, "git.pool.after_checkout", "pool_crash::part_takes", Some(&idle));
    let notes = idle.identity.path.join("changed/1");
    std::fs::write(&notes, "mine\n").unwrap();
    Remover::new(world.git.clone()).remove(&idle_target(&world, &idle)).unwrap_err();
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "mine\n");
}

#[test]
fn files_of_either_commit_are_no_work_while_it_is_taken() {
    let world = World::new();
    let idle = begin(&world);
    die_at(&world, "git.pool.after_note", "pool_crash::part_takes", Some(&idle));
    // As a checkout leaves it that was killed half-way: some files of each commit, one begun.
    let path = &idle.identity.path;
    std::fs::write(path.join("changed/1"), "after 1\n").unwrap();
    std::fs::write(path.join("changed/2"), "aft").unwrap();
    std::fs::remove_file(path.join("gone/3")).unwrap();
    std::fs::remove_file(path.join("turns/inner")).unwrap();
    std::fs::remove_dir(path.join("turns")).unwrap();
    std::fs::write(path.join("turns"), "into a file\n").unwrap();
    std::fs::create_dir(path.join("new")).unwrap();
    std::fs::write(path.join("new/1"), "new 1\n").unwrap();
    Remover::new(world.git.clone()).remove(&idle_target(&world, &idle)).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_preparation_that_died_is_taken_back_whole() {
    for failpoint in ["git.pool.before_add", "git.pool.after_add"] {
        let world = World::new();
        die_at(&world, failpoint, "pool_crash::part_prepares", None);
        let plan = idle_plan(&world, "one", &world.head());
        let target = RemovalTarget { path: plan.path.clone(), branch: String::new(), ..world.attempted("a") };
        let target = RemovalTarget { branch_policy: BranchPolicy::Keep, ..target };
        Remover::new(world.git.clone()).remove(&target).unwrap();
        assert!(!plan.path.exists() && world.registrations().is_empty(), "{failpoint}");
        let idle = prepare(&world, "two", &world.head());
        assert!(matches!(take(&world, &idle, &world.plan("a")), IdleUse::Taken(_)), "{failpoint}");
    }
}

fn part_world() -> (freehold_git::Git, PathBuf) {
    let home = PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    let config = home.join("gitconfig");
    let git = open_git(&home.join("scratch"), [("HOME", home.clone()), ("GIT_CONFIG_GLOBAL", config)]);
    // As the world's own, so that the settings are the same.
    (git.with_env("GIT_CONFIG_NOSYSTEM", "1"), home)
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_prepares() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    let commit = git.resolve_start(&home.join("repo"), "main").unwrap().commit;
    let path = freehold_git::idle_path(&home.join("workspaces"), "one");
    git.prepare_idle(&freehold_git::IdlePlan { repo: home.join("repo"), path, commit }).unwrap();
}

#[test]
#[ignore = "a part of the tests of this module"]
fn part_takes() {
    let _scenario = fail::FailScenario::setup();
    let (git, home) = part_world();
    let text = std::env::var("PART_IDLE").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let idle = IdleWorktree {
        identity: WorktreeIdentity {
            path: freehold_git::idle_path(&home.join("workspaces"), "one"),
            registration: lines[0].to_owned(),
            common_dir: home.join("repo/.git"),
            device: lines[1].parse().unwrap(),
            inode: lines[2].parse().unwrap(),
            head: lines[3].parse().unwrap(),
        },
        evidence: lines[4].to_owned(),
    };
    let repo = home.join("repo");
    let start = git.resolve_start(&repo, "main").unwrap().commit;
    let (path, branch) = (home.join("workspaces/a/repo"), "freehold/a".to_owned());
    let used = git
        .take_idle(&idle, &WorktreePlan { repo, path, branch, branch_use: BranchUse::Make, start })
        .unwrap();
    panic!("it went on: {used:?}");
}
