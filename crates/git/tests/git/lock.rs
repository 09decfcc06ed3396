//! One lock per repository, across threads and processes.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use freehold_git::GitError;

use crate::world::{World, open_git, start_part, wait_until, write_hook};

#[test]
fn a_held_lock_is_waited_for_up_to_a_limit_and_the_holder_is_named() {
    let world = World::new();
    let common_dir = world.repo.path().join(".git");
    let held = world.git.lock_repository(&common_dir).unwrap();
    assert_eq!(held.common_dir(), common_dir);
    let hasty = world.git.clone().with_lock_wait(Duration::from_millis(50));
    let error = hasty.lock_repository(&common_dir).unwrap_err();
    assert!(matches!(error, GitError::LockBusy { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    let other = World::new();
    hasty.lock_repository(&other.repo.path().join(".git")).unwrap();
    drop(held);
    hasty.lock_repository(&common_dir).unwrap();
}

#[test]
fn every_path_to_a_repository_leads_to_the_same_lock() {
    let world = World::new();
    let link = world.repo.home().join("link");
    std::os::unix::fs::symlink(world.repo.path(), &link).unwrap();
    let _held = world.git.lock_repository(&world.repo.path().join(".git")).unwrap();
    let hasty = world.git.clone().with_lock_wait(Duration::from_millis(20));
    assert!(hasty.lock_repository(&link.join(".git")).is_err());
}

#[test]
fn servers_of_different_homes_take_turns_on_one_repository() {
    let world = World::new();
    let elsewhere = world.repo.home().join("another-home");
    let other = open_git(&elsewhere, world.repo.environment()).with_lock_wait(Duration::from_millis(20));
    let common_dir = world.repo.path().join(".git");
    let held = world.git.lock_repository(&common_dir).unwrap();
    assert!(matches!(other.lock_repository(&common_dir), Err(GitError::LockBusy { .. })));
    drop(held);
    other.lock_repository(&common_dir).unwrap();
}

#[test]
fn a_long_queue_of_short_holders_is_no_fault() {
    let world = World::new();
    let patient = world.git.clone().with_lock_wait(Duration::from_millis(300));
    let common_dir = world.repo.path().join(".git");
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..12)
            .map(|_| {
                scope.spawn(|| {
                    let lock = patient.lock_repository(&common_dir)?;
                    std::thread::sleep(Duration::from_millis(60));
                    drop(lock);
                    Ok::<_, GitError>(())
                })
            })
            .collect();
        for waiting in waiting {
            waiting.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_git_that_outlives_its_killed_parent_keeps_the_lock() {
    let world = World::new();
    let (started, release) = (world.repo.home().join("started"), world.repo.home().join("release"));
    let script =
        format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.02; done", started.display(), release.display());
    write_hook(&world.repo, "post-checkout", &script);
    let mut server = start_part("lock::part_adds_worktrees", &part_variables(&world, "slow", "1"));
    wait_until("the hook runs", || started.exists());
    let server_id = server.id();
    server.kill().unwrap();
    server.wait().unwrap();
    let common_dir = world.repo.path().join(".git");
    let hasty = world.git.clone().with_lock_wait(Duration::from_millis(200));
    let error = hasty.lock_repository(&common_dir).unwrap_err();
    assert!(error.to_string().contains(&format!("process {server_id} or by a git it started")), "{error}");
    std::fs::write(&release, "").unwrap();
    drop(world.git.lock_repository(&common_dir).unwrap());
    let path = world.root().join("slow-0/repo");
    let identity = world.git.inspect_worktree(world.repo.path(), &path).unwrap().unwrap();
    assert_eq!(identity.head, world.head());
}

#[test]
fn a_program_that_a_hook_leaves_behind_delays_nothing_and_keeps_no_lock() {
    let world = World::new();
    let release = world.repo.home().join("release");
    // It ends with the test's folder too: the test does not wait for it.
    let home = world.repo.home().display();
    let script =
        format!("(while [ -d '{home}' ] && [ ! -e '{}' ]; do sleep 0.05; done) &", release.display());
    write_hook(&world.repo, "post-checkout", &script);
    let hasty = world.git.clone().with_lock_wait(Duration::from_secs(5));
    hasty.add_worktree(&world.plan("a")).unwrap();
    hasty.add_worktree(&world.plan("b")).unwrap();
    std::fs::write(&release, "").unwrap();
}

#[test]
fn processes_that_add_worktrees_at_once_do_not_disturb_one_another() {
    let world = World::new();
    let mut parts: Vec<_> = ["left", "right"]
        .iter()
        .map(|name| start_part("lock::part_adds_worktrees", &part_variables(&world, name, "5")))
        .collect();
    for number in 0..5 {
        world.add(&format!("own-{number}"));
    }
    for part in &mut parts {
        assert!(part.wait().unwrap().success());
    }
    assert_eq!(world.registrations().len(), 15);
    assert_eq!(world.branches().len(), 16);
}

fn part_variables<'a>(world: &'a World, name: &'a str, count: &'a str) -> Vec<(&'a str, &'a OsStr)> {
    vec![
        ("PART_HOME", world.repo.home().as_os_str()),
        ("PART_NAME", OsStr::new(name)),
        ("PART_COUNT", OsStr::new(count)),
    ]
}

#[test]
#[ignore = "a part of the tests with several processes"]
fn part_adds_worktrees() {
    let home = PathBuf::from(std::env::var_os("PART_HOME").unwrap());
    let name = std::env::var("PART_NAME").unwrap();
    let count: usize = std::env::var("PART_COUNT").unwrap().parse().unwrap();
    let config = home.join("gitconfig");
    let git = open_git(&home.join("scratch"), [("HOME", home.clone()), ("GIT_CONFIG_GLOBAL", config)]);
    let start = git.resolve_start(&home.join("repo"), "main").unwrap().commit;
    for number in 0..count {
        let plan = freehold_git::WorktreePlan {
            repo: home.join("repo"),
            path: home.join(format!("workspaces/{name}-{number}/repo")),
            branch: format!("freehold/{name}-{number}"),
            branch_use: freehold_git::BranchUse::Make,
            start: start.clone(),
        };
        git.add_worktree(&plan).unwrap();
    }
}
