//! Idle worktrees are taken only when the result is what a fresh one would be, and lose nothing otherwise.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use freehold_git::{FindingKind, IdleUse, IdleWorktree, Prepared, RemovalError, Remover, WorktreePlan};
use freehold_testkit::repo::write_file;

use crate::pool_bench::{assert_alike, idle_plan, idle_target, look_at, make_fresh, prepare, take};
use crate::world::{World, snapshot, write_hook};

fn must_take(world: &World, idle: &IdleWorktree, plan: &WorktreePlan) {
    match take(world, idle, plan) {
        IdleUse::Taken(identity) => {
            let found = world.git.inspect_worktree(&plan.repo, &plan.path).unwrap().unwrap();
            assert_eq!(identity, found);
        }
        other => panic!("not taken: {other:?}"),
    }
}

#[test]
fn a_taken_worktree_is_what_a_fresh_one_would_be() {
    let world = World::new();
    let config = std::fs::read(world.repo.path().join(".git/config")).unwrap();
    let idle = prepare(&world, "one", &world.head());
    assert_eq!(idle.identity.path, world.root().join(".idle/one"));
    let plan = world.plan("a");
    must_take(&world, &idle, &plan);
    let fresh = make_fresh(&world, "a", &plan.start);
    assert_alike(&look_at(&world, &plan.path, "freehold/a"), &look_at(&world, &fresh, "fresh/a"));
    assert_eq!(std::fs::read(world.repo.path().join(".git/config")).unwrap(), config);
    assert!(!idle.identity.path.exists());
    assert_eq!(world.branches(), ["freehold/a", "fresh/a", "main"]);
}

#[test]
fn git_finds_nothing_to_hash_after_the_move() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    let plan = world.plan("a");
    must_take(&world, &idle, &plan);
    let git_dir = world.repo.git_in(&plan.path, &["rev-parse", "--absolute-git-dir"]);
    let before = std::fs::read(Path::new(&git_dir).join("index")).unwrap();
    world.repo.git_in(&plan.path, &["update-index", "--refresh"]);
    assert_eq!(std::fs::read(Path::new(&git_dir).join("index")).unwrap(), before);
}

#[test]
fn files_are_brought_to_a_commit_that_came_later() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    world.repo.write("src/new.rs", "pub fn new() {}\n");
    world.repo.git(&["mv", "src/lib.rs", "src/moved.rs"]);
    world.repo.commit("Move");
    let plan = world.plan("a");
    assert_ne!(plan.start, idle.identity.head);
    must_take(&world, &idle, &plan);
    let fresh = make_fresh(&world, "a", &plan.start);
    assert_alike(&look_at(&world, &plan.path, "freehold/a"), &look_at(&world, &fresh, "fresh/a"));
}

#[test]
fn large_files_stay_pointers_in_an_idle_worktree_and_at_a_commit_that_came_later() {
    let world = World::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    world.repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    world.repo.write("one.bin", pointer);
    world.repo.commit("A large file");
    let log = world.repo.home().join("smudged");
    let smudge = format!("sh -c 'echo run >> {}; echo whole'", log.display());
    world.repo.git(&["config", "filter.lfs.smudge", &smudge]);
    world.repo.git(&["config", "filter.lfs.clean", "cat"]);
    world.repo.git(&["config", "filter.lfs.required", "true"]);
    let idle = prepare(&world, "one", &world.head());
    world.repo.write("two.bin", pointer);
    world.repo.commit("Another");
    let plan = world.plan("a");
    must_take(&world, &idle, &plan);
    for name in ["one.bin", "two.bin"] {
        assert_eq!(std::fs::read_to_string(plan.path.join(name)).unwrap(), pointer, "{name}");
    }
    assert!(!log.exists(), "nothing is fetched");
}

/// Disturbs an idle worktree; it is not used, and everything stays as the disturbance left it.
fn is_left_alone(what: &str, disturb: impl FnOnce(&World, &IdleWorktree)) {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    disturb(&world, &idle);
    let before = snapshot(world.repo.home());
    let plan = world.plan("a");
    let used = take(&world, &idle, &plan);
    assert!(matches!(used, IdleUse::Doubtful(_)), "{what}: {used:?}");
    let after: Vec<_> = snapshot(world.repo.home());
    assert_eq!(after, before, "{what}");
    world.git.add_worktree(&plan).unwrap();
}

#[test]
fn a_doubtful_one_is_not_used_and_left_as_it_is() {
    is_left_alone("a new file", |_, idle| write_file(&idle.identity.path.join("src/notes.txt"), "mine"));
    is_left_alone("an ignored file", |_, idle| write_file(&idle.identity.path.join(".env"), "secret"));
    is_left_alone("an empty folder", |_, idle| {
        std::fs::create_dir(idle.identity.path.join("empty")).unwrap();
    });
    is_left_alone("a missing file", |_, idle| {
        std::fs::remove_file(idle.identity.path.join("README.md")).unwrap();
    });
    is_left_alone("another mode", |_, idle| {
        let file = idle.identity.path.join("README.md");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    });
    is_left_alone("a lock of a person", |world, idle| {
        world.repo.git(&["worktree", "lock", idle.identity.path.to_str().unwrap()]);
    });
    is_left_alone("a running git", |world, idle| {
        let registration = world.repo.path().join(".git/worktrees").join(&idle.identity.registration);
        write_file(&registration.join("index.lock"), "");
    });
    is_left_alone("a commit", |world, idle| {
        write_file(&idle.identity.path.join("work"), "work");
        world.repo.commit_in(&idle.identity.path, "Work");
    });
    is_left_alone("a branch", |world, idle| {
        world.repo.git_in(&idle.identity.path, &["switch", "--quiet", "--create", "mine"]);
    });
    is_left_alone("a moved one", |world, idle| {
        let path = idle.identity.path.to_str().unwrap();
        world.repo.git(&["worktree", "move", path, &format!("{path}-moved")]);
    });
    is_left_alone("a missing registration", |world, idle| {
        let registration = world.repo.path().join(".git/worktrees").join(&idle.identity.registration);
        std::fs::rename(registration, world.repo.home().join("aside")).unwrap();
    });
    is_left_alone("a copy in its place", |world, idle| {
        let aside = world.repo.home().join("aside");
        std::fs::rename(&idle.identity.path, &aside).unwrap();
        std::fs::create_dir(&idle.identity.path).unwrap();
        std::fs::copy(aside.join(".git"), idle.identity.path.join(".git")).unwrap();
    });
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    is_left_alone("same size and time", |_, idle| {
        let file = idle.identity.path.join("README.md");
        let before = file.metadata().unwrap();
        let content = std::fs::read_to_string(&file).unwrap().replace('A', "B");
        std::fs::write(&file, content).unwrap();
        let time = SystemTime::UNIX_EPOCH
            + Duration::new(before.mtime().cast_unsigned(), before.mtime_nsec() as u32);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        let after = file.metadata().unwrap();
        assert_eq!((after.len(), after.mtime_nsec()), (before.len(), before.mtime_nsec()));
    });
}

/// A change of what shapes files besides the commit.
type Change = fn(&World);

#[test]
fn settings_that_shape_files_make_it_stale() {
    let changes: [(&str, Change); 6] = [
        ("autocrlf", |world| _ = world.repo.git(&["config", "core.autocrlf", "true"])),
        ("attributes", |world| write_file(&world.repo.path().join(".git/info/attributes"), "* eol=crlf\n")),
        ("global attributes", |world| {
            write_file(&world.repo.home().join(".config/git/attributes"), "*.md eol=crlf\n");
        }),
        ("a hook", |world| write_hook(&world.repo, "post-checkout", "touch made-by-hook")),
        ("sparse", |world| _ = world.repo.git(&["config", "core.sparseCheckout", "true"])),
        ("replaced", |world| {
            world.repo.write("more", "more");
            world.repo.commit("More");
            world.repo.git(&["replace", "HEAD", "HEAD~1"]);
            world.repo.git(&["pack-refs", "--all"]);
        }),
    ];
    for (what, change) in changes {
        let world = World::new();
        let idle = prepare(&world, "one", &world.head());
        let plan = world.plan("a");
        change(&world);
        let before = snapshot(&world.root());
        let used = take(&world, &idle, &plan);
        assert!(matches!(used, IdleUse::Stale(_)), "{what}: {used:?}");
        assert_eq!(snapshot(&world.root()), before, "{what}");
        assert_eq!(world.branches(), ["main"], "{what}");
    }
}

#[test]
fn a_repository_whose_checkout_cannot_be_compared_does_without() {
    let settings: [(&str, &str); 6] = [
        ("filter.crypt.smudge", "cat"),
        ("core.fsmonitor", "true"),
        ("core.hooksPath", "relative"),
        ("submodule.recurse", "true"),
        ("includeIf.onbranch:x.path", "/nowhere"),
        ("core.splitIndex", "true"),
    ];
    for (key, value) in settings {
        let world = World::new();
        world.repo.git(&["config", key, value]);
        let before = snapshot(world.repo.home());
        let prepared = world.git.prepare_idle(&idle_plan(&world, "one", &world.head())).unwrap();
        assert!(matches!(prepared, Prepared::Unsuited(_)), "{key}: {prepared:?}");
        let after = snapshot(world.repo.home());
        assert_eq!(after.len(), before.len(), "{key}");
    }
}

#[test]
fn attributes_that_differ_between_the_commits_are_left_to_a_fresh_checkout() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    world.repo.write("src/.gitattributes", "*.rs eol=crlf\n");
    world.repo.commit("Attributes");
    let used = take(&world, &idle, &world.plan("a"));
    assert!(matches!(&used, IdleUse::Unsuited(reason) if reason.contains(".gitattributes")), "{used:?}");
    // It still fits the commit at which it was made.
    let plan = WorktreePlan { start: idle.identity.head.clone(), ..world.plan("a") };
    must_take(&world, &idle, &plan);
}

#[test]
fn a_taken_branch_or_path_leaves_it_idle() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    world.repo.branch("freehold/a");
    let used = take(&world, &idle, &world.plan("a"));
    assert!(matches!(used, IdleUse::Unsuited(_)), "{used:?}");
    assert_eq!(world.branches(), ["freehold/a", "main"]);
    let odd = WorktreePlan { branch: "@{-1}".into(), ..world.plan("b") };
    assert!(matches!(take(&world, &idle, &odd), IdleUse::Unsuited(_)));
    write_file(&world.plan("c").path.join("here"), "first");
    world.git.take_idle(&idle, &world.plan("c")).unwrap_err();
    must_take(&world, &idle, &world.plan("b"));
}

#[test]
fn tidying_the_repository_does_not_spoil_it() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    world.repo.git(&["-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now"]);
    must_take(&world, &idle, &world.plan("a"));
}

#[test]
fn an_idle_one_is_given_back_by_the_removal_and_only_without_work_in_it() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    let remover = Remover::new(world.git.clone());
    write_file(&idle.identity.path.join("notes"), "mine");
    let error = remover.remove(&idle_target(&world, &idle)).unwrap_err();
    let RemovalError::AtStake(assessment) = error else { panic!("{error}") };
    assert_eq!(assessment.findings[0].kind, FindingKind::Untracked);
    assert!(idle.identity.path.join("notes").exists());
    std::fs::remove_file(idle.identity.path.join("notes")).unwrap();
    remover.remove(&idle_target(&world, &idle)).unwrap();
    assert!(!idle.identity.path.exists() && world.registrations().is_empty());
}

#[test]
fn two_that_take_one_at_once_never_both_get_it() {
    let world = World::new();
    let idle = prepare(&world, "one", &world.head());
    let plans = [world.plan("a"), world.plan("b")];
    let taken: Vec<bool> = std::thread::scope(|scope| {
        let takers: Vec<_> = plans
            .iter()
            .map(|plan| scope.spawn(|| matches!(take(&world, &idle, plan), IdleUse::Taken(_))))
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1);
    assert_eq!(world.registrations().len(), 1);
    assert_eq!(world.branches().len(), 2);
}

#[test]
fn a_checkout_is_measured_without_making_it() {
    let world = World::new();
    world.repo.write("large", vec![b'x'; 100_000]);
    world.repo.commit("Large");
    let bytes = world.git.checkout_bytes(world.repo.path(), &world.head()).unwrap();
    assert!((100_000..101_000).contains(&bytes), "{bytes}");
}

#[test]
fn large_files_stay_pointers_as_in_a_worktree_that_was_made_afresh() {
    let world = World::new();
    world.repo.write(".gitattributes", "*.bin filter=lfs\n");
    world.repo.write("one.bin", "pointer one\n");
    world.repo.commit("Large files");
    for key in ["filter.lfs.smudge", "filter.lfs.clean"] {
        world.repo.git(&["config", key, "tr a-z A-Z"]);
    }
    let idle = prepare(&world, "one", &world.head());
    world.repo.git(&["config", "filter.lfs.clean", "cat"]);
    let stale = take(&world, &idle, &world.plan("a"));
    assert!(matches!(stale, IdleUse::Stale(_)), "{stale:?}");
    let idle = prepare(&world, "two", &world.head());
    world.repo.write("two.bin", "pointer two\n");
    world.repo.commit("Another");
    must_take(&world, &idle, &world.plan("a"));
    world.add("fresh");
    for name in ["one.bin", "two.bin"] {
        let read = |task: &str| std::fs::read_to_string(world.plan(task).path.join(name)).unwrap();
        assert_eq!(read("a"), read("fresh"), "{name}");
        assert!(read("a").starts_with("pointer"), "{name}");
    }
    let status = |task: &str| world.repo.git_in(&world.plan(task).path, &["status", "--porcelain"]);
    assert_eq!(status("a"), status("fresh"));
}
