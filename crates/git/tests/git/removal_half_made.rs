//! What a creation that failed or was interrupted leaves, in every state that Git goes through.

use std::path::PathBuf;

use freehold_git::{
    BranchPolicy, FindingKind, Presence, RemovalError, RemovalOutcome, RemovalTarget, Remover,
};
use freehold_testkit::repo::write_file;

use crate::world::World;

struct Attempt {
    world: World,
    path: PathBuf,
    target: RemovalTarget,
}

impl Attempt {
    /// A complete worktree that nobody got to know.
    fn new() -> Self {
        let world = World::new();
        let identity = world.add("a");
        let target = RemovalTarget {
            expected: None,
            never_exposed: true,
            accepted: Vec::new(),
            planted: Vec::new(),
            pushed: Vec::new(),
            sealed: Vec::new(),
            branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
            ..world.target("a", &identity)
        };
        Self { path: identity.path, target, world }
    }

    fn registration(&self) -> PathBuf {
        self.world.repo.path().join(".git/worktrees/repo")
    }

    fn remove(&self) -> Result<RemovalOutcome, RemovalError> {
        Remover::new(self.world.git.clone()).remove(&self.target)
    }

    fn assert_removed(&self) {
        assert_eq!(self.remove().unwrap(), RemovalOutcome::Removed { branch_removed: true });
        assert!(!self.path.exists());
        assert!(self.world.registrations().is_empty());
        assert_eq!(self.world.branches(), ["main"]);
        assert_eq!(self.remove().unwrap(), RemovalOutcome::AlreadyGone);
    }

    fn assert_at_stake(&self, kind: FindingKind, item: &str) {
        match self.remove().unwrap_err() {
            RemovalError::AtStake(assessment) => {
                let [finding] = &assessment.findings[..] else { panic!("{assessment:?}") };
                assert_eq!((finding.kind, finding.items.join(" ")), (kind, item.to_owned()));
            }
            other => panic!("{other:?}"),
        }
        assert!(self.path.exists());
    }
}

#[test]
fn only_a_branch() {
    let attempt = Attempt::new();
    attempt.world.repo.git(&["worktree", "remove", attempt.path.to_str().unwrap()]);
    attempt.assert_removed();
}

#[test]
fn only_a_registration_and_a_branch() {
    let attempt = Attempt::new();
    std::fs::rename(&attempt.path, attempt.world.repo.home().join("away")).unwrap();
    std::fs::write(attempt.registration().join("locked"), "initializing").unwrap();
    std::fs::remove_file(attempt.registration().join("index")).unwrap();
    attempt.assert_removed();
}

#[test]
fn a_registration_without_a_head() {
    let attempt = Attempt::new();
    std::fs::write(attempt.registration().join("locked"), "initializing").unwrap();
    for file in ["HEAD", "index", "ORIG_HEAD", "commondir"] {
        _ = std::fs::remove_file(attempt.registration().join(file));
    }
    attempt.assert_removed();
}

#[test]
fn a_partial_checkout_without_an_index_and_with_a_file_that_was_begun() {
    let attempt = Attempt::new();
    std::fs::write(attempt.registration().join("locked"), "initializing").unwrap();
    std::fs::remove_file(attempt.registration().join("index")).unwrap();
    std::fs::write(attempt.registration().join("index.lock"), "partial").unwrap();
    std::fs::remove_file(attempt.path.join("README.md")).unwrap();
    std::fs::write(attempt.path.join("src/lib.rs"), "pub fn answer() -> u").unwrap();
    std::fs::write(attempt.path.join(".gitignore"), "").unwrap();
    attempt.assert_removed();
}

#[test]
fn a_directory_whose_registration_is_gone_or_that_has_no_git_file() {
    let attempt = Attempt::new();
    std::fs::rename(attempt.registration(), attempt.world.repo.home().join("away")).unwrap();
    attempt.assert_removed();
    let attempt = Attempt::new();
    std::fs::remove_file(attempt.path.join(".git")).unwrap();
    attempt.assert_removed();
    let attempt = Attempt::new();
    std::fs::write(attempt.path.join(".git"), "").unwrap();
    attempt.assert_removed();
}

#[test]
fn a_complete_worktree() {
    Attempt::new().assert_removed();
}

#[test]
fn nothing_at_all() {
    let attempt = Attempt::new();
    attempt.assert_removed();
    let assessment = Remover::assess(&attempt.world.git, &attempt.target).unwrap();
    assert_eq!((assessment.presence, assessment.findings), (Presence::Missing, vec![]));
}

#[test]
fn files_that_differ_from_the_start_are_at_stake() {
    let attempt = Attempt::new();
    write_file(&attempt.path.join("README.md"), "written by somebody\n");
    attempt.assert_at_stake(FindingKind::Uncommitted, "README.md");
    let attempt = Attempt::new();
    write_file(&attempt.path.join("new.txt"), "written by somebody\n");
    attempt.assert_at_stake(FindingKind::Untracked, "new.txt");
    let attempt = Attempt::new();
    write_file(&attempt.path.join(".env"), "written by a hook\n");
    attempt.assert_at_stake(FindingKind::Ignored, ".env");
    let attempt = Attempt::new();
    attempt.world.repo.git_in(&attempt.path, &["init", "--quiet", "target/inner"]);
    attempt.assert_at_stake(FindingKind::NestedRepository, "target/inner");
}

#[test]
fn commits_on_the_branch_are_at_stake() {
    let attempt = Attempt::new();
    write_file(&attempt.path.join("README.md"), "work\n");
    let commit = attempt.world.repo.commit_in(&attempt.path, "Work");
    attempt.world.repo.git_in(&attempt.path, &["checkout", "--quiet", "HEAD~1", "--", "."]);
    attempt.assert_at_stake(FindingKind::Commits, &format!("{} Work", &commit[..10]));
}

#[test]
fn a_start_that_no_branch_has_is_no_loss() {
    let attempt = Attempt::new();
    // Like a start at a commit that only a detached HEAD or a reflog remembers.
    attempt.world.repo.git(&["commit", "--quiet", "--amend", "--message=Another"]);
    let tip = attempt.world.repo.git(&["rev-parse", "freehold/a"]);
    assert_eq!(
        attempt.world.repo.git(&["branch", "--contains", &tip, "--format=%(refname:short)"]),
        "freehold/a"
    );
    attempt.assert_removed();
}

#[test]
fn the_lock_of_a_person_holds_also_here() {
    let attempt = Attempt::new();
    attempt.world.repo.git(&["worktree", "lock", attempt.path.to_str().unwrap()]);
    attempt.assert_at_stake(FindingKind::Locked, "");
}

#[test]
fn a_bare_main_repository_and_a_sparse_main_checkout_change_nothing() {
    let attempt = Attempt::new();
    attempt.world.repo.git(&["sparse-checkout", "set", "--no-cone", "README.md"]);
    write_file(&attempt.path.join("src/lib.rs"), "written by somebody\n");
    attempt.assert_at_stake(FindingKind::Uncommitted, "src/lib.rs");
    attempt.world.repo.git_in(&attempt.path, &["checkout", "--quiet", "--", "src/lib.rs"]);
    attempt.world.repo.git(&["config", "core.bare", "true"]);
    assert!(Remover::assess(&attempt.world.git, &attempt.target).unwrap().is_safe());
}
