//! Random histories: a worktree that was idle at one commit and taken at another equals a fresh one.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use freehold_git::{
    IdleUse, IdleWorktree, Oid, Prepared, Reaped, Remover, SealRequest, TrashEntry, WorktreeIdentity,
    WorktreePlan,
};
use freehold_testkit::repo::tree;
use proptest::prelude::*;

use crate::pool_bench::{assert_alike, idle_plan, look_at, make_fresh, prepare, take};
use crate::world::World;

/// What may happen between two commits.
#[derive(Debug, Clone)]
enum Change {
    Write(PathBuf, Vec<u8>),
    Link(PathBuf, String),
    Executable(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Attributes(PathBuf, &'static str),
    Commit,
}

/// Few names, so that changes meet, also as file and folder.
fn path() -> impl Strategy<Value = PathBuf> {
    let names = vec!["a", "b c", "Dir", "dir", "-d", "e\\f", "ö", ".hidden", "x.txt", "y.bin"];
    prop::collection::vec(prop::sample::select(names), 1..4).prop_map(|names| names.iter().collect())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"one\ntwo\n".to_vec()),
        Just(b"one\r\ntwo\r\n".to_vec()),
        Just(b"$Id$\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..60),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let attributes = vec!["*.txt text eol=crlf\n", "* text=auto\n", "*.txt ident\n", "* -text\n"];
    prop_oneof![
        8 => (path(), content()).prop_map(|(path, content)| Change::Write(path, content)),
        2 => (path(), prop::sample::select(vec!["a", "nowhere", "../..", "dir/x.txt"]))
            .prop_map(|(path, target)| Change::Link(path, target.to_owned())),
        2 => path().prop_map(Change::Executable),
        2 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        3 => path().prop_map(Change::Remove),
        1 => (prop::sample::select(vec!["", "dir"]), prop::sample::select(attributes))
            .prop_map(|(folder, rules)| Change::Attributes(Path::new(folder).join(".gitattributes"), rules)),
        4 => Just(Change::Commit),
    ]
}

/// Makes a change where it is possible; whether it is decides the disk.
fn apply(world: &World, change: &Change, commits: &mut Vec<Oid>) {
    let at = |path: &PathBuf| world.repo.path().join(path);
    let write = |path: &PathBuf, content: &[u8]| {
        let path = at(path);
        _ = std::fs::create_dir_all(path.parent().unwrap());
        _ = std::fs::write(path, content);
    };
    match change {
        Change::Write(path, content) => write(path, content),
        Change::Link(path, target) => {
            _ = std::fs::remove_file(at(path));
            _ = std::fs::create_dir_all(at(path).parent().unwrap());
            _ = symlink(target, at(path));
        }
        Change::Executable(path) => {
            if at(path).symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        Change::Rename(from, to) => {
            _ = std::fs::create_dir_all(at(to).parent().unwrap());
            _ = std::fs::rename(at(from), at(to));
        }
        Change::Remove(path) => {
            world.repo.try_git_in(world.repo.path(), &["rm", "-rfq", "--", &path.to_string_lossy()]);
        }
        Change::Attributes(path, rules) => write(path, rules.as_bytes()),
        Change::Commit => commits.push(world.repo.commit("Next").parse().unwrap()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_given_back_equals_a_fresh_worktree(
        changes in prop::collection::vec(change(), 1..40),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        scribbles in prop::collection::vec((any::<prop::sample::Index>(), 0..6u8), 0..6),
    ) {
        let world = World::new();
        let mut commits = vec![world.head()];
        for change in &changes {
            apply(&world, change, &mut commits);
        }
        apply(&world, &Change::Commit, &mut commits);
        let (from, to) = (from.get(&commits), to.get(&commits));
        let identity = world.git.add_worktree(&WorktreePlan { start: from.clone(), ..world.plan("used") }).unwrap().identity;
        for (place, kind) in &scribbles {
            scribble(&identity.path, place, *kind);
        }
        let entry = give_back(&world, &identity);
        let remover = Remover::new(world.git.clone());
        let plan = idle_plan(&world, "again", to);
        match remover.reuse(&entry, &plan).unwrap() {
            Prepared::Ready(idle) => {
                let fresh = prepare(&world, "fresh", to);
                let look = |idle: &IdleWorktree| look_at(&world, &idle.identity.path, "none");
                assert_alike(&look(&idle), &look(&fresh));
                let plan = WorktreePlan { start: to.clone(), ..world.plan("a") };
                prop_assert!(matches!(take(&world, &idle, &plan), IdleUse::Taken(_)));
                let fresh = make_fresh(&world, "a", to);
                assert_alike(&look_at(&world, &plan.path, "freehold/a"), &look_at(&world, &fresh, "fresh/a"));
            }
            Prepared::Unsuited(reason) => prop_assert!(reason.contains("attributes"), "{}", reason),
        }
        prop_assert_eq!(remover.reap(&entry, &mut || true).unwrap(), Reaped::Gone);
        prop_assert!(!world.root().join(".trash").exists());
    }

    #[test]
    fn what_was_idle_equals_a_fresh_worktree(
        changes in prop::collection::vec(change(), 1..40),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        autocrlf in prop::sample::select(vec!["false", "true", "input"]),
    ) {
        let world = World::new();
        world.repo.git(&["config", "core.autocrlf", autocrlf]);
        world.repo.git(&["config", "core.safecrlf", "false"]);
        let mut commits = vec![world.head()];
        for change in &changes {
            apply(&world, change, &mut commits);
        }
        apply(&world, &Change::Commit, &mut commits);
        let (from, to) = (from.get(&commits), to.get(&commits));
        let idle = prepare(&world, "one", from);
        let plan = WorktreePlan { start: to.clone(), ..world.plan("a") };
        let (config, main) = (world.repo.path().join(".git/config"), world.repo.git(&["status", "--porcelain=v2", "--branch"]));
        let before = std::fs::read(&config).unwrap();
        match take(&world, &idle, &plan) {
            IdleUse::Taken(_) => {}
            // The one reason that these histories have; the same commit is always taken.
            IdleUse::Unsuited(reason) => {
                prop_assert!(from != to && reason.contains(".gitattributes"), "{}", reason);
                let plan = WorktreePlan { start: from.clone(), ..plan.clone() };
                prop_assert!(matches!(take(&world, &idle, &plan), IdleUse::Taken(_)));
            }
            other => prop_assert!(false, "{:?}", other),
        }
        let start: Oid = world.repo.git_in(&plan.path, &["rev-parse", "HEAD"]).parse().unwrap();
        let fresh = make_fresh(&world, "a", &start);
        assert_alike(&look_at(&world, &plan.path, "freehold/a"), &look_at(&world, &fresh, "fresh/a"));
        prop_assert_eq!(std::fs::read(&config).unwrap(), before);
        prop_assert_eq!(world.repo.git(&["status", "--porcelain=v2", "--branch"]), main);
        prop_assert_eq!(world.branches(), ["freehold/a", "fresh/a", "main"]);
    }
}

/// Does to a file what an agent may do, so that it is not as a checkout writes it; its size and time may stay.
fn scribble(top: &Path, place: &prop::sample::Index, kind: u8) {
    let files: Vec<PathBuf> = tree(top).into_keys().filter(|path| path != Path::new(".git")).collect();
    if files.is_empty() {
        return;
    }
    let path = top.join(place.get(&files));
    let Ok(metadata) = path.symlink_metadata() else { return };
    match kind {
        0 if metadata.is_file() => {
            let mut content = std::fs::read(&path).unwrap();
            content.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(metadata.modified().unwrap()).unwrap();
        }
        1 if metadata.is_file() => {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        2 if metadata.is_dir() => {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        3 => _ = std::fs::write(path.with_extension("secret"), "SECRET"),
        4 if metadata.is_file() => _ = std::fs::hard_link(&path, path.with_extension("second")),
        5 => {
            _ = std::fs::remove_file(&path);
            _ = symlink("elsewhere", &path);
        }
        _ => {}
    }
}

/// Gives a worktree back, sealed as whatever it is by now.
fn give_back(world: &World, identity: &WorktreeIdentity) -> TrashEntry {
    let request = SealRequest::new(world.repo.path(), &identity.path, "used", 1_800_000_000);
    let sealed = world.git.seal_for_removal(&request).unwrap();
    let target = world.target("used", identity);
    let given_back = Remover::new(world.git.clone()).give_back(&target, Some(&sealed)).unwrap();
    given_back.trash.into_iter().next().unwrap()
}
