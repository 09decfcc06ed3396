//! Work that is found elsewhere although its commits are not.

use std::path::PathBuf;

use freehold_git::{
    BranchPolicy, FindingKind, RemovalError, RemovalOutcome, RemovalTarget, Remover, WorktreeIdentity,
};

use crate::world::World;

const GONE_WITH_BRANCH: RemovalOutcome = RemovalOutcome::Removed { branch_removed: true };

struct Bench {
    world: World,
    identity: WorktreeIdentity,
    target: RemovalTarget,
}

impl Bench {
    fn new() -> Self {
        let world = World::new();
        let identity = world.add("a");
        let target = RemovalTarget {
            branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
            ..world.target("a", &identity)
        };
        Self { world, identity, target }
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.world.repo.git_in(&self.identity.path, arguments)
    }

    fn main(&self, arguments: &[&str]) -> String {
        self.world.repo.git(arguments)
    }

    fn write(&self, path: &str, content: &str) {
        freehold_testkit::repo::write_file(&self.identity.path.join(path), content);
    }

    fn commit(&self, path: &str, content: &str) {
        self.write(path, content);
        self.world.repo.commit_in(&self.identity.path, path);
    }

    /// Two commits, of which the second changes what the first made.
    fn work(&self) {
        self.commit("src/lib.rs", "pub fn answer() -> u32 {\n    43\n}\n");
        self.commit("notes/new file.txt", "first\n");
        self.commit("notes/new file.txt", "first\nsecond\n");
    }

    fn remove(&self) -> Result<RemovalOutcome, RemovalError> {
        Remover::new(self.world.git.clone()).remove(&self.target)
    }

    /// Why it is no loss; fails unless nothing is at stake.
    fn reasons(&self) -> Vec<String> {
        let assessment = Remover::assess(&self.world.git, &self.target).unwrap();
        assert_eq!(assessment.findings, []);
        assessment.found_elsewhere
    }

    fn assert_at_stake(&self, commits: u64) {
        let assessment = Remover::assess(&self.world.git, &self.target).unwrap();
        let kinds: Vec<_> = assessment.findings.iter().map(|it| (it.kind, it.total)).collect();
        assert_eq!(kinds, [(FindingKind::Commits, commits)], "{assessment:#?}");
        assert!(assessment.found_elsewhere.is_empty(), "{assessment:#?}");
        assert!(matches!(self.remove(), Err(RemovalError::AtStake(_))));
        assert!(self.identity.path.is_dir());
    }
}

#[test]
fn a_branch_that_was_merged_as_one_commit_is_found_elsewhere_and_the_reason_names_where() {
    let bench = Bench::new();
    bench.work();
    bench.assert_at_stake(3);
    bench.main(&["merge", "--quiet", "--squash", "freehold/a"]);
    bench.main(&["commit", "--quiet", "--message", "All of it"]);
    let merged = bench.main(&["rev-parse", "HEAD"]);
    // What happens afterwards takes nothing back.
    bench.world.repo.write("src/lib.rs", "pub fn answer() -> u32 {\n    44\n}\n");
    bench.world.repo.commit("Later");
    let expected = format!(
        "The branch freehold/a is found elsewhere. Its changes were merged: main has them since {}.",
        &merged[..10]
    );
    assert_eq!(bench.reasons(), [expected]);
    assert_eq!(bench.remove().unwrap(), GONE_WITH_BRANCH);
}

#[test]
fn a_squash_onto_files_that_went_on_meanwhile_is_found_by_its_change() {
    let bench = Bench::new();
    let lines = |changed: &[(usize, &str)]| {
        let line = |number| {
            let changed = changed.iter().find(|(at, _)| *at == number).map(|(_, text)| *text);
            changed.map_or_else(|| format!("line {number}\n"), |text| format!("{text}\n"))
        };
        (0..60).map(line).collect::<String>()
    };
    bench.world.repo.write("long.txt", lines(&[]));
    bench.world.repo.commit("A long file");
    bench.git(&["merge", "--quiet", "--ff-only", "main"]);
    bench.commit("long.txt", &lines(&[(40, "ours")]));
    bench.commit("long.txt", &lines(&[(40, "ours"), (50, "ours too")]));
    bench.world.repo.write("long.txt", lines(&[(3, "theirs")]));
    bench.world.repo.commit("Theirs");
    bench.assert_at_stake(2);
    bench.main(&["merge", "--quiet", "--squash", "freehold/a"]);
    bench.main(&["commit", "--quiet", "--message", "Ours"]);
    assert_eq!(bench.reasons().len(), 1);
    assert_eq!(bench.remove().unwrap(), GONE_WITH_BRANCH);
}

#[test]
fn a_branch_that_was_merged_commit_by_commit_or_that_took_main_in_before_is_found_elsewhere() {
    let rebased = Bench::new();
    rebased.work();
    rebased.world.repo.write("other.txt", "theirs\n");
    rebased.world.repo.commit("Theirs");
    rebased.main(&["cherry-pick", "main..freehold/a"]);
    assert_eq!(rebased.reasons().len(), 1);

    let merging = Bench::new();
    merging.commit("mine.txt", "mine\n");
    merging.world.repo.write("other.txt", "theirs\n");
    merging.world.repo.commit("Theirs");
    merging.git(&["merge", "--quiet", "--no-edit", "main"]);
    merging.commit("mine.txt", "mine\nand more\n");
    merging.assert_at_stake(3);
    merging.main(&["merge", "--quiet", "--squash", "freehold/a"]);
    merging.main(&["commit", "--quiet", "--message", "Mine"]);
    assert_eq!(merging.reasons().len(), 1);
    assert_eq!(merging.remove().unwrap(), GONE_WITH_BRANCH);
}

#[test]
fn work_that_is_only_nearly_elsewhere_is_at_stake() {
    // A part of it, other white space, other bytes in a binary file, another mode, no change at all: each is not it.
    type Deed = fn(&Bench);
    let nearly: [(&str, Deed, Deed); 5] = [
        ("a part", Bench::work, |bench| {
            bench.main(&["cherry-pick", "--quiet", "freehold/a~2"]);
        }),
        (
            "white space",
            |bench| bench.commit("a.py", "if x:\n    y()\nz()\n"),
            |bench| {
                bench.world.repo.write("a.py", "if x:\n    y()\n    z()\n");
                bench.world.repo.commit("a.py");
            },
        ),
        (
            "binary",
            |bench| bench.commit("a.bin", "\0one"),
            |bench| {
                bench.world.repo.write("a.bin", "\0two");
                bench.world.repo.commit("a.bin");
            },
        ),
        (
            "mode",
            |bench| {
                bench.git(&["update-index", "--chmod=+x", "README.md"]);
                bench.git(&["commit", "--quiet", "--message", "mode"]);
                bench.git(&["checkout", "--quiet", "--", "."]);
            },
            |bench| {
                bench.world.repo.write("README.md", "# Other\n");
                bench.world.repo.commit("other");
                bench.world.repo.write("README.md", "# A sample\n");
                bench.world.repo.commit("back");
            },
        ),
        (
            "no change",
            |bench| {
                bench.git(&["commit", "--quiet", "--allow-empty", "--message", "words only"]);
            },
            |bench| {
                bench.main(&["commit", "--quiet", "--allow-empty", "--message", "words only, too"]);
            },
        ),
    ];
    for (name, work, elsewhere) in nearly {
        let bench = Bench::new();
        work(&bench);
        elsewhere(&bench);
        let assessment = Remover::assess(&bench.world.git, &bench.target).unwrap();
        assert_eq!(assessment.findings.len(), 1, "{name}: {assessment:#?}");
        assert!(assessment.found_elsewhere.is_empty(), "{name}: {assessment:#?}");
    }
}

#[test]
fn commits_on_no_branch_that_were_merged_are_found_elsewhere_too() {
    let mut bench = Bench::new();
    bench.target.branch_policy = BranchPolicy::Keep;
    bench.git(&["switch", "--quiet", "--detach"]);
    bench.work();
    bench.assert_at_stake(3);
    let tip = bench.git(&["rev-parse", "HEAD"]);
    bench.main(&["merge", "--quiet", "--squash", &tip]);
    bench.main(&["commit", "--quiet", "--message", "All of it"]);
    assert_eq!(bench.reasons().len(), 1);
    // What another ref of the worktree has is judged by itself.
    let lost = bench.git(&["commit-tree", "-p", "HEAD", "-m", "aside", "HEAD^{tree}"]);
    bench.git(&["update-ref", "refs/worktree/aside", &lost]);
    let findings = Remover::assess(&bench.world.git, &bench.target).unwrap().findings;
    assert_eq!((findings.len(), findings[0].total), (1, 1), "{findings:#?}");
}

/// A repository whose `origin` is only followed at one branch.
fn single_branch() -> (Bench, PathBuf) {
    let bench = Bench::new();
    let remote = bench.world.repo.home().join("remote.git");
    bench.main(&["init", "--quiet", "--bare", &remote.display().to_string()]);
    bench.main(&["remote", "add", "-t", "main", "origin", &remote.display().to_string()]);
    bench.main(&["push", "--quiet", "origin", "main"]);
    bench.work();
    (bench, remote)
}

#[test]
fn what_was_pushed_past_a_narrow_refspec_is_found_at_the_remote() {
    let (mut bench, remote) = single_branch();
    let before = bench.world.refs();
    bench.git(&["push", "--quiet", "origin", "HEAD:refs/heads/feature"]);
    assert_eq!(bench.world.refs(), before, "Git forgets what it pushed");
    bench.assert_at_stake(3);
    bench.target.pushed = Remover::pushed(&bench.world.git, &bench.target).unwrap();
    let reason = "The branch freehold/a is found elsewhere. The remote origin has its commits as feature.";
    assert_eq!(bench.reasons(), [reason]);
    // Commits that came after the push are on no remote.
    bench.commit("later.txt", "later\n");
    bench.target.pushed = Remover::pushed(&bench.world.git, &bench.target).unwrap();
    bench.assert_at_stake(4);
    // A remote that is gone says nothing; what would be lost is as it was.
    std::fs::rename(&remote, remote.with_extension("away")).unwrap();
    let error = Remover::pushed(&bench.world.git, &bench.target).unwrap_err().to_string();
    assert!(error.contains("remote"), "{error}");
    std::fs::rename(remote.with_extension("away"), &remote).unwrap();
    bench.git(&["push", "--quiet", "origin", "HEAD:refs/heads/feature"]);
    bench.target.pushed = Remover::pushed(&bench.world.git, &bench.target).unwrap();
    assert_eq!(bench.remove().unwrap(), GONE_WITH_BRANCH);
}
