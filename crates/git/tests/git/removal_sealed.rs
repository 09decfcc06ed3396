//! A worktree with work in it goes once a seal holds the work, and only then.

use std::process::{Command, Stdio};

use freehold_git::{
    BranchPolicy, FindingKind, RemovalError, RemovalOutcome, RemovalTarget, Remover, SealedWorktree,
};
use freehold_testkit::repo::TempRepo;

use crate::seal_bench::SealBench;
use crate::world::World;

/// What a person does after the seal, with a name.
type Change = (&'static str, fn(&SealBench));

/// A worktree to be sealed, and the target that its removal names.
struct Closing {
    bench: SealBench,
    target: RemovalTarget,
}

impl Closing {
    fn new() -> Self {
        let bench = SealBench::new();
        let repo = bench.world.repo.path();
        let identity = bench.world.git.inspect_worktree(repo, &bench.path).unwrap().unwrap();
        let branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
        let target = RemovalTarget { branch_policy, ..bench.world.target("a", &identity) };
        Self { bench, target }
    }

    fn seal(&self) -> SealedWorktree {
        self.bench.world.git.seal_for_removal(&self.bench.request()).unwrap()
    }

    fn remove(&self, sealed: &SealedWorktree) -> Result<RemovalOutcome, RemovalError> {
        Remover::new(self.bench.world.git.clone()).remove_sealed(&self.target, sealed)
    }

    fn at_stake(&self, sealed: &SealedWorktree) -> FindingKind {
        match self.remove(sealed) {
            Err(RemovalError::AtStake(assessment)) => {
                let [finding] = &assessment.findings[..] else { panic!("{assessment:#?}") };
                finding.kind
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn work_of_every_kind_goes_with_its_seal_and_comes_back() {
    let closing = Closing::new();
    let bench = &closing.bench;
    bench.write("src/lib.rs", "staged\n");
    bench.git(&["add", "."]);
    bench.write("src/lib.rs", "changed again\n");
    bench.write("new.txt", "untracked\n");
    bench.write(".env", "SECRET=1\n");
    bench.write("committed.txt", "only here\n");
    bench.git(&["add", "committed.txt"]);
    bench.git(&["commit", "-q", "-m", "Only here", "--", "committed.txt"]);
    let before = bench.whole();
    let sealed = closing.seal();
    let outcome = closing.remove(&sealed).unwrap();
    assert_eq!(outcome, RemovalOutcome::Removed { branch_removed: true });
    assert!(!bench.path.exists() && bench.world.registrations().is_empty());
    assert_eq!(bench.world.branches(), ["main"]);
    bench.world.repo.git(&["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    bench.restore();
    assert_eq!(bench.whole(), before);
    assert_eq!(bench.world.branches(), ["freehold/a", "main"]);
}

#[test]
fn commits_of_a_detached_head_are_in_the_seal() {
    let closing = Closing::new();
    let bench = &closing.bench;
    bench.git(&["switch", "-q", "--detach"]);
    bench.write("detached.txt", "x");
    bench.world.repo.commit_in(&bench.path, "Detached work");
    let before = bench.whole();
    closing.remove(&closing.seal()).unwrap();
    bench.world.repo.git(&["-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"]);
    bench.restore();
    assert_eq!(bench.whole(), before);
}

#[test]
fn a_branch_that_the_seal_does_not_hold_stays() {
    let closing = Closing::new();
    let bench = &closing.bench;
    bench.write("one.txt", "x");
    bench.world.repo.commit_in(&bench.path, "Work on the task's branch");
    bench.git(&["switch", "-q", "-c", "other", "main"]);
    let outcome = closing.remove(&closing.seal()).unwrap();
    assert_eq!(outcome, RemovalOutcome::Removed { branch_removed: false });
    assert_eq!(bench.world.branches(), ["freehold/a", "main", "other"]);
}

#[test]
fn what_changes_after_the_seal_stops_the_removal() {
    let changes: [Change; 7] = [
        ("a changed file", |bench| bench.write("src/lib.rs", "later\n")),
        ("a new file", |bench| bench.write("later.txt", "")),
        ("an ignored file", |bench| bench.write(".env", "LATER=1")),
        ("a lost file", |bench| std::fs::remove_file(bench.path.join("src/lib.rs")).unwrap()),
        ("a commit", |bench| drop(bench.git(&["commit", "-q", "--allow-empty", "-m", "Later"]))),
        ("another branch", |bench| drop(bench.git(&["switch", "-q", "-c", "later"]))),
        ("a staged change", |bench| drop(bench.git(&["rm", "-q", "--cached", "src/lib.rs"]))),
    ];
    for (what, change) in changes {
        let closing = Closing::new();
        closing.bench.write("work.txt", "before");
        let sealed = closing.seal();
        change(&closing.bench);
        let before = closing.bench.whole();
        match closing.remove(&sealed) {
            Err(RemovalError::Changed { .. }) => {}
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(closing.bench.whole(), before, "{what}");
        assert!(!closing.bench.world.root().join(".trash").exists(), "{what}");
    }
}

#[test]
fn a_repository_inside_stops_the_removal_until_a_person_agrees_to_exactly_it() {
    let mut closing = Closing::new();
    let inner = TempRepo::new();
    let place = closing.bench.path.join("target/inner");
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::rename(inner.path(), &place).unwrap();
    let sealed = closing.seal();
    assert_eq!(closing.at_stake(&sealed), FindingKind::NestedRepository);
    let agreed = Remover::assess(&closing.bench.world.git, &closing.target).unwrap().findings;
    assert_eq!(agreed.len(), 1, "{agreed:?}");
    closing.target.accepted = agreed;
    std::fs::create_dir_all(closing.bench.path.join("target/second/.git")).unwrap();
    assert_eq!(closing.at_stake(&sealed), FindingKind::NestedRepository, "a second one was not agreed to");
    std::fs::remove_dir(closing.bench.path.join("target/second/.git")).unwrap();
    std::fs::remove_dir(closing.bench.path.join("target/second")).unwrap();
    closing.remove(&sealed).unwrap();
    assert!(!closing.bench.path.exists());
}

#[test]
fn a_file_too_large_for_the_seal_stops_the_removal() {
    let closing = Closing::new();
    closing.bench.write("data.sqlite", "0123456789");
    let mut request = closing.bench.request();
    request.limits.ignored_file_bytes = 5;
    let sealed = closing.bench.world.git.seal_for_removal(&request).unwrap();
    assert_eq!(closing.at_stake(&sealed), FindingKind::Unsealed);
    assert!(closing.bench.path.join("data.sqlite").exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a foreign program is what the test is about")]
fn a_program_that_works_inside_stops_the_removal() {
    let closing = Closing::new();
    let sealed = closing.seal();
    let mut command = Command::new("sleep");
    let mut sleeper =
        command.arg("60").current_dir(&closing.bench.path).stdin(Stdio::null()).spawn().unwrap();
    assert_eq!(closing.at_stake(&sealed), FindingKind::InUse);
    assert!(closing.bench.path.exists());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let held = std::fs::File::open(closing.bench.path.join("src/lib.rs")).unwrap();
    let mut command = Command::new("sleep");
    let mut holder = command.arg("60").stdin(held).spawn().unwrap();
    assert_eq!(closing.at_stake(&sealed), FindingKind::InUse);
    holder.kill().unwrap();
    holder.wait().unwrap();
    closing.remove(&sealed).unwrap();
}

#[test]
fn a_missing_directory_counts_as_given_back() {
    let closing = Closing::new();
    let sealed = closing.seal();
    std::fs::rename(&closing.bench.path, closing.bench.world.repo.home().join("away")).unwrap();
    closing.remove(&sealed).unwrap();
    assert!(closing.bench.world.registrations().is_empty());
    assert_eq!(World::branches(&closing.bench.world), ["main"]);
}
