//! What a removal would lose, and what it takes away when nothing would be lost.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use freehold_git::{
    Assessment, BranchPolicy, Finding, FindingKind, GitError, HeadState, Presence, RemovalError,
    RemovalOutcome, RemovalTarget, Remover,
};
use freehold_testkit::repo::write_file;

use crate::world::{World, snapshot, write_hook};

/// One worktree that somebody worked in.
struct Bench {
    world: World,
    path: PathBuf,
    target: RemovalTarget,
}

impl Bench {
    fn new() -> Self {
        let world = World::new();
        let identity = world.add("a");
        let target = world.target("a", &identity);
        Self { path: identity.path, target, world }
    }

    fn write(&self, name: &str, content: &str) {
        write_file(&self.path.join(name), content);
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.world.repo.git_in(&self.path, arguments)
    }

    fn commit(&self, message: &str) -> String {
        self.write("work.txt", message);
        self.world.repo.commit_in(&self.path, message)
    }

    fn assess(&self) -> Assessment {
        Remover::assess(&self.world.git, &self.target).unwrap()
    }

    fn remove(&self) -> Result<RemovalOutcome, RemovalError> {
        Remover::new(self.world.git.clone()).remove(&self.target)
    }

    /// Demands one finding of this kind, and that nothing at all is changed by a removal that meets it.
    fn at_stake(&self, kind: FindingKind) -> Finding {
        let state = || (snapshot(self.world.repo.home()), self.world.refs());
        let before = state();
        let assessment = self.assess();
        let [finding] = &assessment.findings[..] else { panic!("{assessment:#?}") };
        assert_eq!(finding.kind, kind, "{finding:?}");
        match self.remove() {
            Err(RemovalError::AtStake(again)) => assert_eq!(again, assessment),
            other => panic!("{other:?}"),
        }
        // What git printed is the only trace besides the lock.
        let after = state();
        let is_ours = |path: &std::path::Path| path.starts_with(self.world.repo.home().join("scratch"));
        let kept = |state: (Vec<(PathBuf, Vec<u8>)>, Vec<String>)| {
            let files: Vec<_> = state.0.into_iter().filter(|(path, _)| !is_ours(path)).collect();
            (files, state.1)
        };
        assert!(kept(after) == kept(before), "something changed");
        finding.clone()
    }

    fn assert_gone(&self) {
        assert!(!self.path.exists());
        assert!(self.world.registrations().is_empty());
        assert!(!self.world.root().join(".trash").exists());
        assert_eq!(self.world.repo.git(&["worktree", "list"]).lines().count(), 1);
    }
}

const GONE: RemovalOutcome = RemovalOutcome::Removed { branch_removed: false };
const GONE_WITH_BRANCH: RemovalOutcome = RemovalOutcome::Removed { branch_removed: true };

#[test]
fn a_clean_worktree_goes_with_its_registration_and_nothing_else_changes() {
    let bench = Bench::new();
    bench.commit("Work");
    let other = bench.world.add("b");
    let (refs, main) = (bench.world.refs(), snapshot(bench.world.repo.path()));
    let assessment = bench.assess();
    assert!(assessment.is_safe());
    assert_eq!(assessment.presence, Presence::Present);
    assert_eq!(assessment.head.unwrap().branch(), Some("freehold/a"));
    assert_eq!(bench.remove().unwrap(), GONE);
    assert!(!bench.path.exists());
    assert_eq!(bench.world.registrations(), ["repo1"]);
    assert_eq!(bench.world.refs(), refs);
    let registration = bench.world.repo.path().join(".git/worktrees/repo");
    let kept: Vec<_> = main.into_iter().filter(|(path, _)| !path.starts_with(&registration)).collect();
    assert!(snapshot(bench.world.repo.path()) == kept);
    assert_eq!(bench.world.repo.git_in(&other.path, &["status", "--porcelain"]), "");
    assert_eq!(bench.remove().unwrap(), RemovalOutcome::AlreadyGone);
    bench.world.repo.git(&["fsck"]);
}

#[test]
fn changes_of_tracked_files_are_at_stake() {
    let bench = Bench::new();
    bench.write("README.md", "changed\n");
    let finding = bench.at_stake(FindingKind::Uncommitted);
    assert_eq!((finding.items, finding.total), (vec!["README.md".into()], 1));
    bench.git(&["add", "README.md"]);
    bench.at_stake(FindingKind::Uncommitted);
    bench.git(&["reset", "--quiet", "--hard"]);
    std::fs::remove_file(bench.path.join("README.md")).unwrap();
    bench.at_stake(FindingKind::Uncommitted);
}

#[test]
fn changes_that_git_was_told_not_to_see_are_at_stake() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let bench = Bench::new();
        bench.git(&["update-index", flag, "README.md"]);
        assert!(bench.assess().is_safe(), "{flag}");
        bench.write("README.md", "hidden\n");
        assert_eq!(bench.git(&["status", "--porcelain"]), "", "{flag}");
        assert_eq!(bench.at_stake(FindingKind::Uncommitted).items, ["README.md"], "{flag}");
    }
}

#[test]
fn a_sparse_checkout_is_clean_although_files_are_absent() {
    let bench = Bench::new();
    bench.git(&["sparse-checkout", "set", "--no-cone", "README.md"]);
    assert!(!bench.path.join("src/lib.rs").exists());
    assert!(bench.assess().is_safe(), "{:?}", bench.assess());
    bench.write("README.md", "changed\n");
    bench.at_stake(FindingKind::Uncommitted);
}

#[test]
fn untracked_files_are_at_stake_whatever_the_settings_say() {
    let bench = Bench::new();
    bench.world.repo.git(&["config", "status.showUntrackedFiles", "no"]);
    bench.write("notes/a: b\nc.md", "idea\n");
    assert_eq!(bench.at_stake(FindingKind::Untracked).items, ["notes/a: b\nc.md"]);
    std::fs::remove_file(bench.path.join("notes/a: b\nc.md")).unwrap();
    for number in 0..120 {
        bench.write(&format!("many/{number:03}"), "x");
    }
    let finding = bench.at_stake(FindingKind::Untracked);
    assert_eq!((finding.items.len(), finding.total), (50, 120));
    assert_eq!(finding.items[0], "many/000");
}

#[test]
fn ignored_files_are_at_stake_unless_a_build_makes_them_again() {
    let bench = Bench::new();
    bench.write("target/debug/app", "binary");
    bench.write("web/node_modules/left/index.js", "x");
    assert!(bench.assess().is_safe(), "{:?}", bench.assess());
    bench.write(".env", "SECRET=1\n");
    bench.write("data/results.sqlite", "rows");
    bench.write(".wt/notes.txt", "x");
    bench.write(".wt/node_modules/x.js", "x");
    let finding = bench.at_stake(FindingKind::Ignored);
    assert_eq!(finding.items, [".env", ".wt/notes.txt", "data/results.sqlite"]);
    for file in [".env", ".wt/notes.txt", "data/results.sqlite"] {
        std::fs::remove_file(bench.path.join(file)).unwrap();
    }
    assert_eq!(bench.remove().unwrap(), GONE);
    bench.assert_gone();
}

#[test]
fn a_file_named_like_a_disposable_directory_is_none() {
    let bench = Bench::new();
    bench.world.repo.write(".git/info/exclude", "target\n");
    bench.write("target", "a file\n");
    assert_eq!(bench.at_stake(FindingKind::Ignored).items, ["target"]);
}

#[test]
fn repositories_inside_are_at_stake_also_in_disposable_directories() {
    let bench = Bench::new();
    bench.git(&["worktree", "add", "--quiet", "-b", "inner", "target/inner"]);
    assert_eq!(bench.at_stake(FindingKind::NestedRepository).items, ["target/inner"]);
    bench.git(&["worktree", "remove", "target/inner"]);
    bench.git(&["init", "--quiet", "node_modules/x/clone"]);
    assert_eq!(bench.at_stake(FindingKind::NestedRepository).items, ["node_modules/x/clone"]);
    std::fs::rename(bench.path.join("node_modules/x"), bench.world.repo.home().join("away")).unwrap();
    bench.git(&["init", "--quiet", "--bare", "target/mirror"]);
    assert_eq!(bench.at_stake(FindingKind::NestedRepository).items, ["target/mirror"]);
}

#[test]
fn a_bare_repository_that_is_tracked_as_plain_files_is_none() {
    let bench = Bench::new();
    for file in ["HEAD", "objects/x", "refs/x"] {
        bench.write(&format!("tests/fixture.git/{file}"), "ref: refs/heads/main\n");
    }
    bench.world.repo.commit_in(&bench.path, "Add a fixture");
    assert!(bench.assess().is_safe(), "{:?}", bench.assess());
}

#[test]
fn unfinished_operations_are_at_stake() {
    let bench = Bench::new();
    bench.git(&["bisect", "start"]);
    assert_eq!(bench.at_stake(FindingKind::OperationInProgress).items, ["bisect"]);
}

#[test]
fn commits_of_a_detached_head_are_at_stake_under_every_policy() {
    let mut bench = Bench::new();
    bench.git(&["switch", "--quiet", "--detach"]);
    assert!(bench.assess().is_safe());
    let commit = bench.commit("Only here");
    for policy in [BranchPolicy::Keep, BranchPolicy::RemoveIfFoundElsewhere] {
        bench.target.branch_policy = policy;
        let finding = bench.at_stake(FindingKind::Commits);
        assert_eq!(finding.items, [format!("{} Only here", &commit[..10])]);
    }
    assert_eq!(bench.assess().head, Some(HeadState::Detached { tip: commit.parse().unwrap() }));
    // Also when the directory is gone and only the registration remembers them.
    std::fs::rename(&bench.path, bench.world.repo.home().join("away")).unwrap();
    bench.at_stake(FindingKind::Commits);
    bench.world.repo.git(&["tag", "kept", &commit]);
    assert!(bench.assess().is_safe());
}

#[test]
fn refs_that_only_the_worktree_has_are_at_stake() {
    let bench = Bench::new();
    bench.git(&["switch", "--quiet", "--detach"]);
    bench.commit("Only here");
    bench.git(&["update-ref", "refs/worktree/saved", "HEAD"]);
    bench.git(&["switch", "--quiet", "freehold/a"]);
    bench.at_stake(FindingKind::Commits);
}

#[test]
fn a_kept_branch_keeps_its_commits_also_after_a_switch() {
    let bench = Bench::new();
    bench.commit("On the branch");
    bench.git(&["switch", "--quiet", "--create", "other"]);
    bench.commit("On another");
    let refs = bench.world.refs();
    assert_eq!(bench.remove().unwrap(), GONE);
    bench.assert_gone();
    assert_eq!(bench.world.refs(), refs);
}

#[test]
fn a_branch_goes_only_when_its_commits_are_found_elsewhere() {
    for elsewhere in ["refs/heads/merged", "refs/tags/v1", "refs/remotes/origin/feature"] {
        let mut bench = Bench::new();
        bench.target.branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
        let commit = bench.commit("Work");
        let finding = bench.at_stake(FindingKind::Commits);
        assert_eq!((finding.total, finding.items), (1, vec![format!("{} Work", &commit[..10])]));
        bench.world.repo.git(&["update-ref", elsewhere, &commit]);
        assert_eq!(bench.remove().unwrap(), GONE_WITH_BRANCH, "{elsewhere}");
        bench.assert_gone();
        assert!(!bench.world.branches().contains(&"freehold/a".to_owned()));
    }
}

#[test]
fn a_branch_without_commits_of_its_own_goes() {
    let mut bench = Bench::new();
    bench.target.branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
    assert_eq!(bench.remove().unwrap(), GONE_WITH_BRANCH);
    assert_eq!(bench.world.branches(), ["main"]);
    assert_eq!(bench.remove().unwrap(), RemovalOutcome::AlreadyGone);
}

#[test]
fn a_branch_that_another_worktree_has_checked_out_stays() {
    let mut bench = Bench::new();
    bench.target.branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
    bench.commit("Work");
    bench.git(&["switch", "--quiet", "--detach", "main"]);
    let other = bench.world.root().join("other");
    bench.world.repo.git(&["worktree", "add", "--quiet", other.to_str().unwrap(), "freehold/a"]);
    assert_eq!(bench.remove().unwrap(), GONE);
    assert_eq!(bench.world.repo.git_in(&other, &["log", "-1", "--format=%s"]), "Work");
}

#[test]
fn a_branch_that_gains_a_commit_during_the_removal_stays() {
    let mut bench = Bench::new();
    bench.target.branch_policy = BranchPolicy::RemoveIfFoundElsewhere;
    // The hook stands for a person: it runs when Git is about to delete, moves the branch once and lets go.
    let moved = bench.world.repo.home().join("moved");
    let repo = bench.world.repo.path().display();
    write_hook(
        &bench.world.repo,
        "reference-transaction",
        &format!(
            "[ \"$1\" = prepared ] || exit 0\n[ -e '{0}' ] && exit 0\ngrep -q refs/heads/freehold/a || exit 0\n\
             touch '{0}'\ncd '{repo}' && tree=$(git rev-parse HEAD^{{tree}})\n\
             commit=$(git commit-tree -p HEAD -m Late $tree)\n\
             printf '%s\\n' $commit > .git/refs/heads/freehold/a\nexit 1",
            moved.display(),
        ),
    );
    match bench.remove().unwrap_err() {
        RemovalError::AtStake(assessment) => {
            assert_eq!(assessment.findings[0].kind, FindingKind::Commits, "{assessment:?}");
        }
        other => panic!("{other:?}"),
    }
    assert!(moved.exists());
    assert_eq!(bench.world.repo.git(&["log", "-1", "--format=%s", "freehold/a"]), "Late");
}

#[test]
fn a_worktree_that_a_person_locked_stays() {
    let bench = Bench::new();
    bench.world.repo.git(&["worktree", "lock", "--reason", "on a stick", bench.path.to_str().unwrap()]);
    assert!(bench.at_stake(FindingKind::Locked).detail.contains("on a stick"));
}

#[test]
fn what_cannot_be_read_is_never_taken_for_clean() {
    let bench = Bench::new();
    std::fs::write(bench.world.repo.path().join(".git/worktrees/repo/index"), "no index").unwrap();
    bench.at_stake(FindingKind::Unknown);
}

#[test]
fn a_missing_directory_is_clean_and_only_its_own_registration_goes() {
    let bench = Bench::new();
    let other = bench.world.add("b");
    let away = bench.world.repo.home().join("unmounted");
    for path in [&bench.path, &other.path] {
        std::fs::create_dir_all(&away).unwrap();
        std::fs::rename(path, away.join(path.parent().unwrap().file_name().unwrap())).unwrap();
    }
    assert_eq!(bench.assess().presence, Presence::Missing);
    assert_eq!(bench.remove().unwrap(), GONE);
    assert_eq!(bench.world.registrations(), ["repo1"]);
    // The other one was only away for a moment.
    std::fs::rename(away.join("b"), &other.path).unwrap();
    assert_eq!(bench.world.repo.git_in(&other.path, &["status", "--porcelain"]), "");
    assert_eq!(bench.remove().unwrap(), RemovalOutcome::AlreadyGone);
}

#[test]
fn a_managed_root_that_is_not_there_is_no_proof_of_anything() {
    let bench = Bench::new();
    std::fs::rename(bench.world.root(), bench.world.repo.home().join("unmounted")).unwrap();
    bench.at_stake(FindingKind::Unknown);
    assert_eq!(bench.world.registrations(), ["repo"]);
}

#[test]
fn links_inside_go_and_their_targets_stay() {
    let bench = Bench::new();
    let main = snapshot(&bench.world.repo.path().join("src"));
    symlink(bench.world.repo.path().join("src"), bench.path.join("linked")).unwrap();
    bench.world.repo.commit_in(&bench.path, "Link");
    std::fs::create_dir(bench.path.join("target")).unwrap();
    symlink(bench.world.repo.path(), bench.path.join("target/link")).unwrap();
    assert_eq!(bench.remove().unwrap(), GONE);
    bench.assert_gone();
    assert_eq!(snapshot(&bench.world.repo.path().join("src")), main);
}

#[test]
fn a_worktree_with_a_set_up_submodule_is_at_stake_and_one_without_is_not() {
    let world = World::new();
    let url = world.repo.path().to_str().unwrap().to_owned();
    world.repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "module"]);
    world.repo.commit("Add a module");
    let identity = world.add("a");
    let target = world.target("a", &identity);
    let bench = Bench { path: identity.path, target, world };
    assert!(bench.assess().is_safe(), "{:?}", bench.assess());
    bench.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    assert_eq!(bench.at_stake(FindingKind::NestedRepository).items, ["module"]);
}

#[test]
fn a_directory_that_cannot_be_moved_stops_the_removal_before_anything_is_gone() {
    let bench = Bench::new();
    // A file where the trash folder would be.
    std::fs::write(bench.world.root().join(".trash"), "").unwrap();
    let error = bench.remove().unwrap_err();
    assert!(matches!(error, RemovalError::Git(GitError::Io { .. })), "{error:?}");
    assert_eq!(bench.world.repo.git_in(&bench.path, &["status", "--porcelain"]), "");
    std::fs::remove_file(bench.world.root().join(".trash")).unwrap();
    assert_eq!(bench.remove().unwrap(), GONE);
}

#[test]
fn many_removals_at_once_do_not_disturb_one_another() {
    let world = World::new();
    let targets: Vec<RemovalTarget> = (0..12)
        .map(|number| format!("t{number}"))
        .map(|name| RemovalTarget {
            branch_policy: BranchPolicy::RemoveIfFoundElsewhere,
            ..world.target(&name, &world.add(&name))
        })
        .collect();
    let remover = Remover::new(world.git.clone());
    std::thread::scope(|scope| {
        for target in &targets {
            scope.spawn(|| assert_eq!(remover.remove(target).unwrap(), GONE_WITH_BRANCH));
        }
    });
    assert!(world.registrations().is_empty());
    assert_eq!(world.branches(), ["main"]);
}
