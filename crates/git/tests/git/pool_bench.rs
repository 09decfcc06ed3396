//! An idle worktree, a plan to take it, and everything in which the result may differ from a fresh one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use freehold_git::{
    BranchPolicy, ExpectedIdentity, IdlePlan, IdleUse, IdleWorktree, Oid, Prepared, RemovalTarget,
    WorktreePlan, idle_path,
};
use freehold_testkit::repo::tree;

use crate::world::World;

/// Everything in which two worktrees of one repository may differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Mode, size and content of everything but `.git`; links with their targets.
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    /// What Git says about it.
    said: Vec<String>,
    /// What is in the registration, and the content of its small files.
    registration: BTreeMap<PathBuf, String>,
}

pub(crate) fn idle_plan(world: &World, id: &str, commit: &Oid) -> IdlePlan {
    IdlePlan {
        repo: world.repo.path().to_owned(),
        path: idle_path(&world.root(), id),
        commit: commit.clone(),
    }
}

pub(crate) fn prepare(world: &World, id: &str, commit: &Oid) -> IdleWorktree {
    match world.git.prepare_idle(&idle_plan(world, id, commit)).unwrap() {
        Prepared::Ready(idle) => idle,
        Prepared::Unsuited(reason) => panic!("not prepared: {reason}"),
    }
}

pub(crate) fn take(world: &World, idle: &IdleWorktree, plan: &WorktreePlan) -> IdleUse {
    world.git.take_idle(idle, plan).unwrap()
}

/// What the record of an idle worktree knows when it is to be given back.
pub(crate) fn idle_target(world: &World, idle: &IdleWorktree) -> RemovalTarget {
    RemovalTarget {
        repo: world.repo.path().to_owned(),
        path: idle.identity.path.clone(),
        branch: String::new(),
        base: Some(idle.identity.head.clone()),
        expected: Some(ExpectedIdentity {
            registration: idle.identity.registration.clone(),
            device: idle.identity.device,
            inode: idle.identity.inode,
        }),
        managed_root: world.root(),
        branch_policy: BranchPolicy::Keep,
        never_exposed: true,
        accepted: Vec::new(),
        planted: Vec::new(),
        pushed: Vec::new(),
        sealed: Vec::new(),
    }
}

/// Makes a plain worktree with git alone.
pub(crate) fn make_fresh(world: &World, name: &str, start: &Oid) -> PathBuf {
    let path = world.repo.home().join("fresh").join(name);
    let branch = format!("fresh/{name}");
    world.repo.git(&["worktree", "add", "--quiet", "-b", &branch, path.to_str().unwrap(), start.as_str()]);
    path
}

/// Looks at a worktree; names that must differ are taken out.
pub(crate) fn look_at(world: &World, path: &Path, branch: &str) -> Look {
    let mut look = Look::default();
    let git_dir = PathBuf::from(world.repo.git_in(path, &["rev-parse", "--absolute-git-dir"]));
    for name in ["HEAD", "ORIG_HEAD", "commondir", "gitdir", "logs/HEAD"] {
        let text = std::fs::read_to_string(git_dir.join(name)).unwrap_or_default();
        let text = text.replace(path.to_str().unwrap(), "PATH").replace(branch, "BRANCH");
        // The times of the log differ.
        let words = text
            .split_inclusive([' ', '\n'])
            .filter(|word| !word.starts_with("17") && !word.starts_with("18"));
        look.registration.insert(name.into(), words.collect());
    }
    for (name, _) in tree(&git_dir) {
        look.registration.entry(name).or_default();
    }
    let ask = |arguments: &[&str]| {
        let arguments = [&["--no-optional-locks", "-c", "core.quotePath=true"], arguments].concat();
        let output = world.repo.try_git_in(path, &arguments);
        String::from_utf8_lossy(&output.stdout).replace(branch, "BRANCH")
    };
    look.said = vec![
        ask(&["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"]),
        ask(&["ls-files", "-s", "-t"]),
        ask(&["ls-files", "-v"]),
        ask(&["diff", "--raw"]),
        ask(&["diff", "--cached", "--raw"]),
        ask(&["symbolic-ref", "HEAD"]),
        ask(&["rev-parse", "HEAD"]),
        ask(&["reflog", "--format=%H %gs"]),
        ask(&["reflog", "--format=%H %gs", branch]),
        ask(&["config", "--list", "--show-scope"]),
        ask(&["rev-parse", "--abbrev-ref", "@{upstream}"]),
        ask(&["fsck", "--no-dangling"]),
    ];
    look.files = tree(path);
    look.files.remove(Path::new(".git"));
    look
}

/// Compares part by part, so that a difference can be read.
pub(crate) fn assert_alike(taken: &Look, fresh: &Look) {
    let names = |look: &Look| look.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(taken), names(fresh));
    for (path, entry) in &fresh.files {
        assert_eq!(taken.files.get(path), Some(entry), "{}", path.display());
    }
    assert_eq!(taken.said, fresh.said);
    assert_eq!(taken.registration, fresh.registration);
}
