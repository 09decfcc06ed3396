//! Where a worktree starts: at branches, tags and commits, on branches that were there before, at refs of a remote.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use freehold_git::{BranchUse, Git, GitError, RemoteRef, WorktreePlan};
use freehold_testkit::repo::TempRepo;

use crate::world::{World, snapshot};

/// A world whose repository has a remote named `upstream` with a branch of another person, a tag and a pull request.
struct Remote {
    world: World,
    hub: TempRepo,
}

impl Remote {
    fn new() -> Self {
        let world = World::new();
        let hub = TempRepo::new();
        let url = hub.path().to_str().unwrap();
        world.repo.git(&["remote", "add", "upstream", url]);
        world.repo.git(&["push", "--quiet", "upstream", "main:refs/heads/trunk"]);
        hub.git(&["checkout", "--quiet", "-b", "work", "trunk"]);
        hub.write("theirs.txt", "theirs\n");
        hub.commit("Work of another person");
        hub.git(&["update-ref", "refs/pull/42/head", "work"]);
        hub.git(&["tag", "hub-tag"]);
        Self { world, hub }
    }

    fn repo(&self) -> &Path {
        self.world.repo.path()
    }

    fn git(&self) -> &Git {
        &self.world.git
    }

    fn wanted(&self, name: &str) -> RemoteRef {
        self.git().remote_ref(self.repo(), None, name).unwrap()
    }

    /// Everything of the repository that a fetch must leave as it is.
    fn untouched(&self) -> (Vec<String>, Vec<u8>, bool) {
        let refs = self.world.refs().into_iter().filter(|line| !line.contains("refs/freehold/")).collect();
        let config = std::fs::read(self.repo().join(".git/config")).unwrap();
        (refs, config, self.repo().join(".git/FETCH_HEAD").exists())
    }
}

#[test]
fn a_branch_a_remote_branch_a_tag_and_a_commit_each_name_their_commit() {
    let world = World::new();
    let (repo, git) = (world.repo.path(), &world.git);
    world.repo.git(&["branch", "local", "HEAD~1"]);
    world.repo.git(&["update-ref", "refs/remotes/upstream/far", "HEAD~1"]);
    world.repo.git(&["tag", "-a", "-m", "annotated", "v1", "HEAD~1"]);
    let commit = world.repo.git(&["rev-parse", "HEAD~1"]);
    for name in ["local", "upstream/far", "v1", &commit, &commit[..8]] {
        assert_eq!(git.resolve_start(repo, name).unwrap().commit.as_str(), commit, "{name}");
    }
}

#[test]
fn an_existing_branch_is_checked_out_as_it_is_and_stays_when_the_creation_fails() {
    let world = World::new();
    world.repo.branch("feat");
    let found = world.git.resolve_branch(world.repo.path(), "feat").unwrap();
    assert_eq!((found.branch.as_str(), &found.remote_branch), ("feat", &None));
    let plan = WorktreePlan {
        branch: found.branch,
        branch_use: BranchUse::CheckOut,
        start: found.commit,
        ..world.plan("a")
    };
    // A creation that fails after the branch was looked at leaves it where it was.
    world.repo.write(".gitattributes", "*.txt filter=broken\n");
    world.repo.write("a.txt", "x\n");
    world.repo.commit("Add a filter");
    world.repo.git(&["branch", "--force", "feat", "main"]);
    world.repo.git(&["config", "filter.broken.smudge", "false"]);
    world.repo.git(&["config", "filter.broken.required", "true"]);
    let moved = world.git.add_worktree(&plan).unwrap_err();
    assert!(matches!(moved, GitError::BranchMoved { .. }), "{moved}");
    let before = world.refs();
    let plan = WorktreePlan { start: world.head(), ..plan };
    world.git.add_worktree(&plan).unwrap_err();
    assert_eq!(world.refs(), before);
    assert!(world.registrations().is_empty() && !plan.path.exists());
    world.repo.git(&["config", "--unset", "filter.broken.required"]);
    let made = world.git.add_worktree(&plan).unwrap();
    assert_eq!(world.repo.git_in(&made.identity.path, &["branch", "--show-current"]), "feat");
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused_with_the_place_and_a_free_name() {
    let world = World::new();
    world.repo.branch("feat");
    world.repo.branch("feat-2");
    let by_hand = world.root().join("by hand");
    world.repo.git(&["worktree", "add", "--quiet", by_hand.to_str().unwrap(), "feat"]);
    let before = (snapshot(&world.root()), world.refs(), world.registrations());
    for (branch, place, main) in [("feat", by_hand.as_path(), false), ("main", world.repo.path(), true)] {
        let plan = WorktreePlan { branch: branch.into(), branch_use: BranchUse::CheckOut, ..world.plan("a") };
        for error in [
            world.git.require_unused_branch(world.repo.path(), branch).unwrap_err(),
            world.git.add_worktree(&plan).unwrap_err(),
        ] {
            let GitError::BranchInUse { checkout, is_main, free, .. } = &error else { panic!("{error}") };
            assert_eq!((checkout.as_path(), *is_main), (place, main));
            assert_eq!(free, if main { "main-2" } else { "feat-3" });
        }
    }
    assert_eq!((snapshot(&world.root()), world.refs(), world.registrations()), before);
}

#[test]
fn a_branch_that_is_being_rebased_elsewhere_is_refused_with_the_place() {
    let world = World::new();
    let by_hand = world.root().join("by-hand");
    world.repo.git(&["worktree", "add", "--quiet", "-b", "feat", by_hand.to_str().unwrap(), "HEAD~1"]);
    std::fs::write(by_hand.join("README.md"), "theirs\n").unwrap();
    world.repo.commit_in(&by_hand, "Theirs");
    world.repo.write("README.md", "ours\n");
    world.repo.commit("Ours");
    assert!(!world.repo.try_git_in(&by_hand, &["rebase", "main"]).status.success());
    let start = world.repo.git(&["rev-parse", "feat"]).parse().unwrap();
    let plan =
        WorktreePlan { branch: "feat".into(), branch_use: BranchUse::CheckOut, start, ..world.plan("a") };
    let before = (world.refs(), world.registrations());
    let error = world.git.add_worktree(&plan).unwrap_err();
    assert!(matches!(&error, GitError::BranchInUse { checkout, .. } if *checkout == by_hand), "{error}");
    assert_eq!((world.refs(), world.registrations()), before);
    assert!(!plan.path.exists());
}

#[test]
fn a_remote_branch_becomes_a_local_one_at_exactly_its_commit_without_an_upstream() {
    let remote = Remote::new();
    let world = &remote.world;
    world.repo.git(&["fetch", "--quiet", "upstream"]);
    world.repo.git(&["config", "branch.autoSetupMerge", "always"]);
    let config = remote.untouched().1;
    for (number, name) in ["upstream/work", "work"].into_iter().enumerate() {
        let found = world.git.resolve_branch(remote.repo(), name).unwrap();
        assert_eq!((found.branch.as_str(), found.remote_branch.as_deref()), ("work", Some("upstream/work")));
        let plan =
            WorktreePlan { branch: found.branch, start: found.commit, ..world.plan(&number.to_string()) };
        let made = world.git.add_worktree(&plan).unwrap().identity;
        assert_eq!(made.head.as_str(), remote.hub.git(&["rev-parse", "work"]));
        assert_eq!(world.repo.git_in(&made.path, &["branch", "--show-current"]), "work");
        assert_eq!(remote.untouched().1, config, "nothing is written about the branch");
        world.repo.git(&["worktree", "remove", made.path.to_str().unwrap()]);
        world.repo.git(&["branch", "--quiet", "-D", "work"]);
    }
}

#[test]
fn a_name_that_means_no_branch_or_several_is_refused_with_the_names() {
    let remote = Remote::new();
    let (repo, git) = (remote.repo(), remote.git());
    remote.world.repo.git(&["fetch", "--quiet", "upstream"]);
    remote.world.repo.git(&["tag", "v1"]);
    for name in ["wrk", "v1", "HEAD", "upstream/HEAD", "--help", "", "a..b", "main~1"] {
        let error = git.resolve_branch(repo, name).unwrap_err();
        assert!(matches!(error, GitError::UnknownBranch { .. }), "{name:?}: {error}");
    }
    assert!(git.resolve_branch(repo, "wrk").unwrap_err().to_string().contains("work"));
    remote.world.repo.git(&["remote", "add", "fork", "/nowhere"]);
    remote.world.repo.git(&["update-ref", "refs/remotes/fork/work", "HEAD"]);
    let error = git.resolve_branch(repo, "work").unwrap_err();
    assert!(error.to_string().contains("fork/work, upstream/work"), "{error}");
    remote.world.repo.git(&["branch", "work", "main"]);
    assert_eq!(git.resolve_branch(repo, "work").unwrap().remote_branch, None, "a local branch comes first");
    let error = git.resolve_branch(repo, "upstream/work").unwrap_err();
    assert!(matches!(error, GitError::LocalBranchDiffers { .. }), "{error}");
}

#[test]
fn a_pull_request_is_fetched_into_a_private_place_and_nothing_else_changes() {
    let remote = Remote::new();
    let before = remote.untouched();
    let expected = remote.hub.git(&["rev-parse", "refs/pull/42/head"]);
    for name in ["pull/42/head", "refs/pull/42/head"] {
        let wanted = remote.wanted(name);
        assert_eq!(remote.git().fetch(remote.repo(), &wanted).unwrap().as_str(), expected);
        assert_eq!(
            remote.world.repo.git(&["rev-parse", "refs/freehold/fetched/upstream/pull/42/head"]),
            expected
        );
    }
    assert_eq!(remote.untouched(), before, "no branch, tag, remote branch, setting or FETCH_HEAD");
    assert_eq!(remote.world.repo.git(&["tag"]), "");
}

#[test]
fn a_fetch_moves_no_local_branch_however_far_ahead_the_remote_was_rewritten() {
    let remote = Remote::new();
    let world = &remote.world;
    world.repo.git(&["fetch", "--quiet", "upstream"]);
    world.repo.git(&["branch", "work", "upstream/work"]);
    world.repo.git(&["config", "--add", "remote.upstream.fetch", "+refs/heads/*:refs/heads/*"]);
    world.repo.git(&["config", "fetch.prune", "true"]);
    world.repo.git(&["branch", "only-here"]);
    remote.hub.git(&["commit", "--quiet", "--amend", "--message", "Rewritten"]);
    let before = remote.untouched();
    let wanted = world.git.remembered_ref(remote.repo(), "upstream/work").unwrap().unwrap();
    let commit = world.git.fetch(remote.repo(), &wanted).unwrap();
    assert_eq!(commit.as_str(), remote.hub.git(&["rev-parse", "work"]));
    assert_eq!(remote.untouched(), before);
    // Again, after it was rewritten once more: what is private follows.
    remote.hub.git(&["commit", "--quiet", "--amend", "--message", "Rewritten twice"]);
    assert_ne!(world.git.fetch(remote.repo(), &wanted).unwrap(), commit);
    assert_eq!(remote.untouched(), before);
}

#[test]
fn what_cannot_be_fetched_is_refused_by_its_name_and_leaves_nothing() {
    let remote = Remote::new();
    let (repo, git) = (remote.repo(), remote.git());
    let before = (remote.untouched(), remote.world.refs());
    for name in
        ["pull/42/head:refs/heads/main", "+pull/42/head", "42", "refs/heads", "", "pull/*/head", "a..b/c"]
    {
        let error = git.remote_ref(repo, None, name).unwrap_err();
        assert!(matches!(error, GitError::InvalidRemoteRef { .. }), "{name:?}: {error}");
    }
    let missing = git.fetch(repo, &remote.wanted("pull/43/head")).unwrap_err();
    assert!(missing.to_string().contains("has no refs/pull/43/head"), "{missing}");
    let unknown = git.remote_ref(repo, Some("origin"), "pull/42/head").unwrap_err();
    assert!(unknown.to_string().contains("no remote \"origin\"; it has: upstream"), "{unknown}");
    remote.world.repo.git(&["remote", "add", "fork", "/nowhere/at/all"]);
    let several = git.remote_ref(repo, None, "pull/42/head").unwrap_err();
    assert!(several.to_string().contains("name one of: fork, upstream"), "{several}");
    let wanted = git.remote_ref(repo, Some("fork"), "pull/42/head").unwrap();
    assert!(git.fetch(repo, &wanted).unwrap_err().to_string().contains("/nowhere/at/all"));
    remote.world.repo.git(&["remote", "remove", "fork"]);
    assert_eq!((remote.untouched(), remote.world.refs()), before);
}

#[test]
fn a_remote_that_does_not_answer_is_given_up_after_the_limit_without_keeping_the_lock() {
    let remote = Remote::new();
    remote.world.repo.git(&["config", "remote.upstream.uploadpack", "sleep 600; git-upload-pack"]);
    let git = remote.git().clone().with_fetch_limit(Duration::from_millis(300));
    let wanted = remote.wanted("pull/42/head");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let fetching = scope.spawn(|| git.fetch(remote.repo(), &wanted));
        // Meanwhile the repository is free.
        remote.world.add("a");
        let error = fetching.join().unwrap().unwrap_err();
        assert!(matches!(error, GitError::TooSlow { .. }), "{error}");
    });
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn an_ssh_asks_no_question() {
    let remote = Remote::new();
    let said = remote.world.repo.home().join("said");
    let ssh = remote.world.repo.home().join("bin/ssh");
    freehold_testkit::repo::write_file(
        &ssh,
        format!("#!/bin/sh\necho \"$@\" > '{}'\nexit 255\n", said.display()),
    );
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    remote.world.repo.git(&["config", "core.sshCommand", &format!("{} -v", ssh.display())]);
    remote.world.repo.git(&["remote", "set-url", "upstream", "git@example.invalid:a/b.git"]);
    remote.git().fetch(remote.repo(), &remote.wanted("pull/42/head")).unwrap_err();
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("-v") && said.contains("BatchMode=yes"), "{said}");
}

#[test]
fn a_checkout_of_a_person_is_told_from_everything_else() {
    let world = World::new();
    let (repo, git) = (world.repo.path(), &world.git);
    let main = git.standing_main_checkout(repo).unwrap();
    assert_eq!((main.path.as_path(), main.registration.as_deref()), (repo, None));
    assert_eq!((main.branch.as_deref(), &main.head), (Some("main"), &world.head()));
    let by_hand = world.root().join("by hand");
    world.repo.git(&["worktree", "add", "--quiet", "--detach", by_hand.to_str().unwrap()]);
    let link = world.root().join("link");
    std::os::unix::fs::symlink(&by_hand, &link).unwrap();
    for path in [&by_hand, &link] {
        let found = git.standing_worktree(repo, path).unwrap();
        assert_eq!((&found.path, found.branch.as_deref()), (&by_hand, None));
        assert_eq!(found.registration.as_deref(), Some("by-hand"));
    }
    let other = TempRepo::new();
    let folder = world.root().join("folder");
    std::fs::create_dir(&folder).unwrap();
    for path in [repo, other.path(), &folder, &by_hand.join("src")] {
        let error = git.standing_worktree(repo, path).unwrap_err();
        assert!(matches!(error, GitError::NotAdoptable { .. }), "{}: {error}", path.display());
    }
    let missing = git.standing_worktree(repo, &PathBuf::from("/nowhere/at/all")).unwrap_err();
    assert!(matches!(missing, GitError::PathMissing { .. }), "{missing}");
    let bare = world.repo.home().join("bare.git");
    world.repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert!(matches!(git.standing_main_checkout(&bare).unwrap_err(), GitError::NoWorkTree { .. }));
}

#[test]
fn a_push_from_a_task_branch_never_reaches_the_branch_it_started_from() {
    // With every setting that lets a branch follow its start, and every way of pushing that guesses.
    for (follows, pushes) in
        [("always", "upstream"), ("inherit", "upstream"), ("always", "simple"), ("true", "current")]
    {
        let world = World::new();
        let remote = world.repo.home().join("remote.git");
        world.repo.git(&["init", "--quiet", "--bare", &remote.display().to_string()]);
        world.repo.git(&["remote", "add", "origin", &remote.display().to_string()]);
        world.repo.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
        world.repo.git(&["config", "branch.autoSetupMerge", follows]);
        world.repo.git(&["config", "push.default", pushes]);
        let start = world.git.resolve_start(world.repo.path(), "origin/main").unwrap().commit;
        let plan = WorktreePlan { start, ..world.plan("a") };
        let path = world.git.add_worktree(&plan).unwrap().identity.path;
        world.repo.commit_in(&path, "Work");
        let before = world.repo.git_in(&remote, &["rev-parse", "refs/heads/main"]);
        world.repo.try_git_in(&path, &["push", "--quiet"]);
        let case = format!("{follows}, {pushes}");
        assert_eq!(world.repo.git_in(&remote, &["rev-parse", "refs/heads/main"]), before, "{case}");
        let upstream = world.repo.try_git_in(&path, &["rev-parse", "--abbrev-ref", "@{upstream}"]);
        assert!(!upstream.status.success() || pushes == "current", "{case}: it follows nothing");
    }
}
