//! A repository, the git program and a folder for worktrees.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use freehold_git::{
    BranchPolicy, BranchUse, ExpectedIdentity, Git, Oid, RemovalTarget, WorktreeIdentity, WorktreePlan,
};
use freehold_testkit::repo::TempRepo;

/// How long anything may take before a test gives up.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) repo: TempRepo,
    pub(crate) git: Git,
}

impl World {
    /// A repository with a source file, an ignore file and nothing else.
    pub(crate) fn new() -> Self {
        let world = Self::of(TempRepo::new());
        world.repo.write(".gitignore", "target/\n.env\n*.sqlite\n.wt/\nnode_modules/\n");
        world.repo.write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n");
        world.repo.commit("Add sources");
        world
    }

    pub(crate) fn of(repo: TempRepo) -> Self {
        let git = open_git(&repo.home().join("scratch"), repo.environment());
        Self { repo, git }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.repo.home().join("workspaces")
    }

    pub(crate) fn head(&self) -> Oid {
        self.repo.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn plan(&self, name: &str) -> WorktreePlan {
        WorktreePlan {
            repo: self.repo.path().to_owned(),
            path: self.root().join(name).join("repo"),
            branch: format!("freehold/{name}"),
            branch_use: BranchUse::Make,
            start: self.head(),
        }
    }

    pub(crate) fn add(&self, name: &str) -> WorktreeIdentity {
        self.git.add_worktree(&self.plan(name)).unwrap().identity
    }

    /// The target of the worktree that `add` made under this name, with its branch kept.
    pub(crate) fn target(&self, name: &str, identity: &WorktreeIdentity) -> RemovalTarget {
        let plan = self.plan(name);
        RemovalTarget {
            repo: plan.repo,
            path: plan.path,
            branch: plan.branch,
            base: Some(plan.start),
            expected: Some(ExpectedIdentity {
                registration: identity.registration.clone(),
                device: identity.device,
                inode: identity.inode,
            }),
            managed_root: self.root(),
            branch_policy: BranchPolicy::Keep,
            never_exposed: false,
            accepted: Vec::new(),
            planted: Vec::new(),
            pushed: Vec::new(),
            sealed: Vec::new(),
        }
    }

    /// What the creation journal knows of an attempt under this name that died.
    pub(crate) fn attempted(&self, name: &str) -> RemovalTarget {
        let plan = self.plan(name);
        RemovalTarget {
            repo: plan.repo,
            path: plan.path,
            branch: plan.branch,
            base: Some(plan.start),
            expected: None,
            managed_root: self.root(),
            branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
            never_exposed: true,
            accepted: Vec::new(),
            planted: Vec::new(),
            pushed: Vec::new(),
            sealed: Vec::new(),
        }
    }

    /// All refs with their commits.
    pub(crate) fn refs(&self) -> Vec<String> {
        self.repo.git(&["for-each-ref"]).lines().map(str::to_owned).collect()
    }

    pub(crate) fn branches(&self) -> Vec<String> {
        let listed = self.repo.git(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// The names of the registrations on disk.
    pub(crate) fn registrations(&self) -> Vec<String> {
        let Ok(entries) = self.repo.path().join(".git/worktrees").read_dir() else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn open_git<V: Into<std::ffi::OsString>>(
    locks: &Path,
    environment: impl IntoIterator<Item = (&'static str, V)>,
) -> Git {
    let git = Git::open(locks).unwrap();
    environment.into_iter().fold(git, |git, (name, value)| git.with_env(name, value))
}

/// Every file below a folder with its content, links as their targets; the state that must not change. The lock
/// file is left out: it tells who held the lock last.
pub(crate) fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git/freehold.lock") {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                files.push((path.clone(), Vec::new()));
                open.push(path);
            } else if metadata.is_symlink() {
                let target = path.read_link().unwrap().into_os_string().into_encoded_bytes();
                files.push((path, target));
            } else {
                let content = std::fs::read(&path).unwrap();
                files.push((path, content));
            }
        }
    }
    files.sort();
    files
}

pub(crate) fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_met() {
        assert!(started.elapsed() < LIMIT, "waited too long until {what}");
        std::thread::yield_now();
    }
}

/// Runs one ignored test of this program in a process of its own, with these variables.
#[expect(clippy::disallowed_methods, reason = "a second process is what the test is about")]
pub(crate) fn start_part(part: &str, variables: &[(&str, &std::ffi::OsStr)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", part, "--ignored", "--quiet"]).stdout(std::process::Stdio::null());
    command.envs(variables.iter().copied()).spawn().unwrap()
}

/// Writes an executable hook of the repository.
pub(crate) fn write_hook(repo: &TempRepo, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let hook = repo.path().join(".git/hooks").join(name);
    freehold_testkit::repo::write_file(&hook, format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}
