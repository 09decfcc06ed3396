//! Making worktrees and recognising them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use freehold_git::{GitError, WorktreePlan};
use freehold_testkit::repo::TempRepo;

use crate::world::{World, snapshot, wait_until, write_hook};

#[test]
fn a_worktree_is_made_on_a_new_branch_at_the_start_commit_without_an_upstream() {
    let world = World::new();
    world.repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    world.repo.git(&["config", "branch.autoSetupMerge", "always"]);
    let config = std::fs::read(world.repo.path().join(".git/config")).unwrap();
    let start = world.git.resolve_start(world.repo.path(), "origin/main").unwrap().commit;
    let plan = WorktreePlan { start: start.clone(), ..world.plan("a") };
    let identity = world.git.add_worktree(&plan).unwrap().identity;
    assert_eq!((&identity.path, &identity.head), (&plan.path, &start));
    assert_eq!(identity.common_dir, world.repo.path().join(".git"));
    assert_eq!(world.repo.git_in(&plan.path, &["branch", "--show-current"]), "freehold/a");
    assert_eq!(world.repo.git_in(&plan.path, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(world.repo.path().join(".git/config")).unwrap(), config);
    let found = world.git.inspect_worktree(world.repo.path(), &plan.path).unwrap();
    assert_eq!(found, Some(identity));
    // From inside the worktree the repository is the same.
    assert!(world.git.inspect_worktree(&plan.path, &plan.path).unwrap().is_some());
}

#[test]
fn twenty_four_worktrees_are_made_at_once_without_failure_or_orphan() {
    let world = World::of(TempRepo::with_files(400));
    world.repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let plans: Vec<WorktreePlan> = (0..24).map(|number| world.plan(&format!("t{number}"))).collect();
    let identities: Vec<_> = std::thread::scope(|scope| {
        let adding: Vec<_> = plans.iter().map(|plan| scope.spawn(|| world.git.add_worktree(plan))).collect();
        adding.into_iter().map(|adding| adding.join().unwrap().unwrap().identity).collect()
    });
    assert_eq!(world.registrations().len(), 24);
    assert_eq!(world.branches().len(), 25);
    let listed = world.git.list_worktrees(world.repo.path()).unwrap();
    for (plan, identity) in plans.iter().zip(&identities) {
        let found = listed.iter().find(|listed| listed.path == plan.path).unwrap();
        assert_eq!(found.registration.as_ref(), Some(&identity.registration));
        assert_eq!((found.branch.as_ref(), found.head.as_ref()), (Some(&plan.branch), Some(&plan.start)));
        assert_eq!(plan.path.join("folder-0003").read_dir().unwrap().count(), 100);
    }
    world.repo.git(&["fsck", "--connectivity-only"]);
}

#[test]
fn any_path_and_branch_that_git_allows_will_do() {
    let world = World::new();
    let branch = "a;touch${IFS}pwned`x`'\"";
    for (number, folder) in ["with space", "a b:c", "line\nbreak", "名前", "-x"].into_iter().enumerate() {
        let path = world.root().join(folder).join("repo");
        let branch = format!("{branch}{number}");
        let plan = WorktreePlan { path: path.clone(), branch: branch.clone(), ..world.plan("x") };
        world.git.add_worktree(&plan).unwrap();
        let listed = world.git.list_worktrees(world.repo.path()).unwrap();
        let found = listed.iter().find(|listed| listed.path == path).unwrap();
        assert_eq!(found.branch.as_deref(), Some(branch.as_str()));
        assert!(found.registration.is_some() && !found.is_prunable);
    }
}

#[test]
fn a_bare_repository_has_worktrees_too() {
    let world = World::new();
    let bare = world.repo.home().join("bare repo.git");
    world.repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let plan = WorktreePlan { repo: bare.clone(), ..world.plan("a") };
    let identity = world.git.add_worktree(&plan).unwrap().identity;
    assert_eq!(identity.common_dir, bare);
    assert_eq!(world.git.changes(&plan.path, &plan.start).unwrap(), []);
}

#[test]
fn a_taken_path_is_refused_and_untouched() {
    let world = World::new();
    let plan = world.plan("a");
    let refuse = |what: &str| {
        let before = (snapshot(&world.root()), world.refs(), world.registrations());
        let error = world.git.add_worktree(&plan).unwrap_err();
        assert!(matches!(error, GitError::PathTaken { .. }), "{what}: {error}");
        assert_eq!((snapshot(&world.root()), world.refs(), world.registrations()), before, "{what}");
    };
    freehold_testkit::repo::write_file(&plan.path.join("mine.txt"), "mine\n");
    refuse("a folder");
    std::fs::remove_file(plan.path.join("mine.txt")).unwrap();
    refuse("an empty folder");
    std::fs::remove_dir(&plan.path).unwrap();
    std::os::unix::fs::symlink(world.repo.path(), &plan.path).unwrap();
    refuse("a link");
    std::fs::remove_file(&plan.path).unwrap();
    world.repo.git(&["worktree", "add", "--quiet", "-b", "hand", plan.path.to_str().unwrap()]);
    refuse("a worktree made by hand");
    std::fs::rename(&plan.path, world.root().join("moved")).unwrap();
    refuse("a path that is registered");
}

#[test]
fn a_taken_or_impossible_branch_is_refused_and_nothing_is_left() {
    let world = World::new();
    world.repo.branch("freehold");
    world.repo.branch("taken");
    let before = (world.refs(), world.registrations());
    for branch in ["taken", "freehold/x", "taken/below", "a..b", "-x", "", "x.lock", "refs heads"] {
        let plan = WorktreePlan { branch: branch.into(), ..world.plan("a") };
        let error = world.git.add_worktree(&plan).unwrap_err();
        assert!(matches!(error, GitError::BranchTaken { .. }), "{branch:?}: {error}");
        assert!(!plan.path.exists(), "{branch:?}");
        assert_eq!((world.refs(), world.registrations()), before, "{branch:?}");
    }
}

#[test]
fn a_start_that_is_no_commit_of_the_repository_leaves_nothing() {
    let world = World::new();
    let before = world.refs();
    let plan = WorktreePlan { start: "1".repeat(40).parse().unwrap(), ..world.plan("a") };
    world.git.add_worktree(&plan).unwrap_err();
    assert_eq!(world.refs(), before);
    assert!(world.registrations().is_empty() && !plan.path.exists());
}

#[test]
fn a_checkout_that_fails_half_way_leaves_nothing() {
    let world = World::new();
    world.repo.write(".gitattributes", "*.txt filter=broken\n");
    world.repo.write("a.txt", "x\n");
    world.repo.commit("Add a filter");
    world.repo.git(&["config", "filter.broken.smudge", "false"]);
    world.repo.git(&["config", "filter.broken.required", "true"]);
    let before = world.refs();
    let plan = world.plan("a");
    let error = world.git.add_worktree(&plan).unwrap_err();
    assert!(error.to_string().contains("broken"), "{error}");
    assert_eq!(world.refs(), before);
    assert!(world.registrations().is_empty() && !plan.path.exists());
    assert_eq!(world.repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_leaves_no_branch() {
    let world = World::new();
    let before = world.refs();
    let plan = WorktreePlan { path: world.repo.config().join("below/repo"), ..world.plan("a") };
    world.git.add_worktree(&plan).unwrap_err();
    assert_eq!(world.refs(), before);
    assert!(world.registrations().is_empty());
}

#[test]
fn a_hook_that_fails_does_not_make_a_complete_worktree_fail_and_its_words_are_kept() {
    let world = World::new();
    write_hook(&world.repo, "post-checkout", "echo the linter is missing >&2; exit 1");
    let made = world.git.add_worktree(&world.plan("a")).unwrap();
    assert_eq!(world.repo.git_in(&made.identity.path, &["status", "--porcelain"]), "");
    let warning = made.warning.unwrap();
    assert!(warning.contains("post-checkout") && warning.contains("the linter is missing"), "{warning}");
}

#[test]
fn a_hook_that_succeeds_runs_and_warns_of_nothing() {
    let world = World::new();
    write_hook(&world.repo, "post-checkout", "echo fine; touch made-by-the-hook");
    let made = world.git.add_worktree(&world.plan("a")).unwrap();
    assert_eq!(made.warning, None);
    assert!(made.identity.path.join("made-by-the-hook").exists());
}

#[test]
fn a_hook_that_hangs_is_ended_with_what_it_started_and_the_worktree_stays() {
    let world = World::new();
    write_hook(
        &world.repo,
        "post-checkout",
        "trap '' TERM\necho installing packages\n(trap '' TERM; exec sleep 600) &\n\
         echo $! > ../child\nwait\nsleep 600",
    );
    let git = world.git.clone().with_hook_limit(Duration::from_millis(500));
    let begun = Instant::now();
    let made = git.add_worktree(&world.plan("a")).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(world.repo.git_in(&made.identity.path, &["status", "--porcelain"]), "");
    let warning = made.warning.unwrap();
    assert!(warning.contains("was ended") && warning.contains("installing packages"), "{warning}");
    let child = std::fs::read_to_string(world.root().join("a/child")).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    wait_until("the program that the hook started is gone", || {
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
    // The lock is free again: the next worktree is made.
    world.repo.git(&["config", "core.hooksPath", "/dev/null"]);
    world.add("b");
}

#[test]
fn a_large_checkout_may_take_longer_than_a_hook() {
    let world = World::new();
    world.repo.write(".gitattributes", "*.slow filter=slow\n");
    world.repo.write("a.slow", "x\n");
    world.repo.commit("Add a filter");
    world.repo.git(&["config", "filter.slow.smudge", "sleep 1; cat"]);
    let git = world.git.clone().with_hook_limit(Duration::from_millis(100));
    let made = git.add_worktree(&world.plan("a")).unwrap();
    assert_eq!(made.warning, None);
    assert!(made.identity.path.join("a.slow").exists());
}

#[test]
fn a_relative_path_is_refused() {
    let world = World::new();
    let plan = WorktreePlan { path: PathBuf::from("a/b"), ..world.plan("a") };
    assert!(matches!(world.git.add_worktree(&plan).unwrap_err(), GitError::RelativePath { .. }));
}

#[test]
fn nothing_and_something_else_at_a_path_are_told_apart() {
    let world = World::new();
    let inspect = |path: &std::path::Path| world.git.inspect_worktree(world.repo.path(), path);
    assert_eq!(inspect(&world.root().join("nothing")).unwrap(), None);
    let moved = world.root().join("moved");
    let a = world.add("a");
    std::fs::rename(&a.path, &moved).unwrap();
    assert_eq!(inspect(&a.path).unwrap(), None);
    let text = inspect(&moved).unwrap_err().to_string();
    assert!(text.contains("belongs at"), "{text}");
    assert!(matches!(inspect(world.repo.path()).unwrap_err(), GitError::Occupied { .. }));
    assert!(matches!(inspect(&world.repo.config()).unwrap_err(), GitError::Occupied { .. }));
    let other = World::new();
    let foreign = other.add("a");
    let text = inspect(&foreign.path).unwrap_err().to_string();
    assert!(text.contains("another repository"), "{text}");
}

#[test]
fn the_list_tells_locked_missing_and_detached_worktrees() {
    let world = World::new();
    let (a, b, c) = (world.add("a"), world.add("b"), world.add("c"));
    world.repo.git(&["worktree", "lock", "--reason=on a stick", a.path.to_str().unwrap()]);
    std::fs::remove_file(b.path.join(".git")).unwrap();
    world.repo.git_in(&c.path, &["switch", "--quiet", "--detach"]);
    let listed = world.git.list_worktrees(world.repo.path()).unwrap();
    assert_eq!(listed.len(), 4);
    let of = |path: &std::path::Path| listed.iter().find(|listed| listed.path == path).unwrap();
    assert_eq!(of(world.repo.path()).registration, None);
    assert_eq!(of(world.repo.path()).branch.as_deref(), Some("main"));
    assert_eq!(of(&a.path).locked.as_deref(), Some("on a stick"));
    assert!(of(&b.path).is_prunable && !of(&a.path).is_prunable);
    assert_eq!((of(&c.path).branch.as_ref(), of(&c.path).head.as_ref()), (None, Some(&c.head)));
}
