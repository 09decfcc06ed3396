//! What stands in the way of a restoration is named and left alone; reading and purging seals.

use std::os::unix::fs::symlink;
use std::path::Path;

use freehold_git::{
    ChangeKind, HeadState, Remover, RestoreBranch, RestoreError, RestoreRequest, SealError, SealRequest,
};
use freehold_testkit::repo::write_file;

use crate::seal_bench::SealBench;
use crate::world::snapshot;

fn sealed() -> SealBench {
    let bench = SealBench::new();
    bench.write("README.md", "changed\n");
    bench.write("new.txt", "untracked\n");
    bench.seal();
    bench
}

/// Demands a conflict, and that it changed nothing at all.
fn conflict(bench: &SealBench, request: &RestoreRequest) -> RestoreError {
    let state = || (snapshot(bench.world.repo.home()), bench.world.refs());
    let before = state();
    let error = bench.world.git.restore_seal(request).unwrap_err();
    assert!(state() == before, "{error} changed something");
    error
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let bench = sealed();
    bench.destroy();
    let request = bench.restore_request();
    let taken = |what: &str| match conflict(&bench, &request) {
        RestoreError::PathTaken { path, by } => assert!(path == bench.path && by.contains(what), "{by}"),
        other => panic!("{other:?}"),
    };
    std::fs::create_dir(&bench.path).unwrap();
    taken("a directory");
    std::fs::remove_dir(&bench.path).unwrap();
    symlink("nowhere", &bench.path).unwrap();
    taken("a symbolic link");
    std::fs::remove_file(&bench.path).unwrap();
    std::fs::write(&bench.path, "a file").unwrap();
    taken("a file");
    std::fs::remove_file(&bench.path).unwrap();
    let path = bench.path.to_str().unwrap();
    bench.world.repo.git(&["worktree", "add", "--quiet", "--detach", path]);
    std::fs::rename(&bench.path, bench.world.repo.home().join("unmounted")).unwrap();
    taken("a worktree is registered there");
}

#[test]
fn a_branch_that_moved_or_is_in_use_is_left_alone_and_another_is_offered() {
    let bench = sealed();
    let sealed_at = bench.world.head();
    let request = bench.restore_request();
    // Still where it was, with its branch.
    let elsewhere = RestoreRequest { path: bench.world.root().join("b/repo"), ..request.clone() };
    match conflict(&bench, &elsewhere) {
        RestoreError::BranchInUse { branch, at } => assert!(branch == "freehold/a" && at == bench.path),
        other => panic!("{other:?}"),
    }
    bench.detach_directory();
    bench.world.repo.write("more.txt", "more\n");
    let moved = bench.world.repo.commit("Move on");
    bench.world.repo.git(&["branch", "--force", "freehold/a", "main"]);
    match conflict(&bench, &request) {
        RestoreError::BranchMoved { branch, sealed, now } => {
            let expected = ("freehold/a".to_owned(), Some(sealed_at.clone()), moved.clone());
            assert_eq!((branch, sealed, now.to_string()), expected);
        }
        other => panic!("{other:?}"),
    }
    for name in ["main", "freehold", "freehold/a/b", "-x", "@{-1}", "a..b"] {
        let branch = RestoreBranch::New(name.to_owned());
        let error = conflict(&bench, &RestoreRequest { branch, ..request.clone() });
        assert!(matches!(error, RestoreError::BranchTaken { .. }), "{name}: {error:?}");
    }
    let branch = RestoreBranch::New("freehold/a-2".to_owned());
    let restored = bench.world.git.restore_seal(&RestoreRequest { branch, ..request.clone() }).unwrap();
    let (name, tip) = ("freehold/a-2".to_owned(), Some(sealed_at.clone()));
    assert_eq!(restored.head, HeadState::Branch { name, tip });
    let branch = RestoreBranch::Detached;
    let restored = bench.world.git.restore_seal(&RestoreRequest { branch, ..elsewhere }).unwrap();
    assert_eq!(restored.head, HeadState::Detached { tip: sealed_at });
    assert_eq!(bench.world.repo.git(&["rev-parse", "freehold/a"]), moved);
    let status = bench.world.repo.git_in(&restored.path, &["status", "--porcelain"]);
    assert_eq!(status, " M README.md\n?? new.txt");
}

#[test]
fn a_branch_that_is_as_it_was_is_used_and_one_that_is_gone_is_made_again() {
    let bench = sealed();
    let before = bench.whole();
    bench.detach_directory();
    bench.restore();
    assert_eq!(bench.whole(), before);
    bench.destroy();
    assert!(!bench.world.branches().contains(&"freehold/a".to_owned()));
    bench.restore();
    assert_eq!(bench.whole(), before);
}

#[test]
fn a_seal_is_restored_at_any_free_path_and_stays() {
    let bench = sealed();
    let before = bench.whole();
    bench.destroy();
    let path = bench.world.root().join("a new folder/of another name");
    let restored = bench
        .world
        .git
        .restore_seal(&RestoreRequest { path: path.clone(), ..bench.restore_request() })
        .unwrap();
    assert_eq!(bench.whole_at(&path), before);
    let identity = bench.world.git.inspect_worktree(bench.world.repo.path(), &path).unwrap().unwrap();
    assert_eq!((identity.registration, identity.inode), (restored.registration, restored.inode));
    assert_eq!(bench.world.git.read_seal(bench.world.repo.path(), "one").unwrap(), restored.seal);
    let listed = bench.world.git.list_worktrees(bench.world.repo.path()).unwrap();
    assert!(listed.iter().any(|listed| listed.path == path && !listed.is_prunable));
    // And it can be sealed again.
    let request = SealRequest { path, id: "two".to_owned(), ..bench.request() };
    bench.world.git.seal(&request).unwrap();
}

#[test]
fn a_relative_path_and_an_unknown_seal_are_refused() {
    let bench = sealed();
    for path in ["relative", "/a/../b"] {
        let request = RestoreRequest { path: path.into(), ..bench.restore_request() };
        assert!(matches!(conflict(&bench, &request), RestoreError::Git(_)), "{path}");
    }
    let request = RestoreRequest { id: "two".to_owned(), ..bench.restore_request() };
    let error = conflict(&bench, &request);
    assert!(matches!(error, RestoreError::Seal(SealError::Unknown { .. })), "{error:?}");
}

#[test]
fn a_seal_that_is_none_is_refused() {
    let bench = sealed();
    let repo = &bench.world.repo;
    repo.git(&["update-ref", "refs/freehold/seals/false", "HEAD"]);
    let blob = repo.git(&["rev-parse", "HEAD:README.md"]);
    repo.git(&["update-ref", "refs/freehold/seals/blob", &blob]);
    for id in ["false", "blob"] {
        let read = bench.world.git.read_seal(repo.path(), id);
        assert!(matches!(read, Err(SealError::Damaged { .. })), "{id}: {read:?}");
    }
    assert_eq!(bench.world.git.list_seals(repo.path()).unwrap().len(), 2);
}

#[test]
fn a_damaged_repository_gives_no_half_restored_worktree() {
    let bench = sealed();
    bench.detach_directory();
    let blob = bench.world.repo.git(&["rev-parse", "refs/freehold/seals/one:files/new.txt"]);
    let loose = bench.world.repo.path().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(&loose).unwrap();
    bench.try_restore().unwrap_err();
    assert!(!bench.path.exists() && bench.left_beside().is_empty());
    assert_eq!(bench.world.registrations(), Vec::<String>::new());
}

#[test]
fn a_seal_is_compared_with_the_recorded_base_or_with_head() {
    let bench = SealBench::new();
    let base = bench.world.head();
    bench.write("src/lib.rs", "pub fn answer() -> u32 {\n    43\n}\n");
    bench.world.repo.commit_in(&bench.path, "Work");
    bench.write("README.md", "# A sample\nwith more\n");
    bench.write("new.txt", "one\ntwo\n");
    bench.write(".env", "ignored\n");
    std::fs::remove_file(bench.path.join(".gitignore")).unwrap();
    std::fs::rename(bench.path.join("src/lib.rs"), bench.path.join("src/moved.rs")).unwrap();
    bench.write(".gitignore", ".env\n");
    let expected = bench.world.git.changes(&bench.path, &base).unwrap();
    let repo = bench.world.repo.path();
    bench.world.git.seal(&SealRequest { base: Some(base.clone()), ..bench.request() }).unwrap();
    assert_eq!(bench.world.git.seal_diff(repo, "one").unwrap(), expected);
    assert!(expected.iter().any(|change| change.untracked && change.path == "new.txt"));
    let shown = bench.world.git.seal_file_diff(repo, "one", "README.md").unwrap();
    assert_eq!(shown, bench.world.git.file_diff(&bench.path, &base, "README.md").unwrap());
    bench.world.git.seal(&SealRequest { id: "two".to_owned(), ..bench.request() }).unwrap();
    let head = bench.world.git.seal_diff(repo, "two").unwrap();
    assert_eq!(
        head,
        bench.world.git.changes(&bench.path, &bench.git(&["rev-parse", "HEAD"]).parse().unwrap()).unwrap()
    );
    assert!(head.iter().any(|change| change.kind == ChangeKind::Renamed));
}

#[test]
fn only_the_named_seal_is_purged() {
    let bench = sealed();
    let repo = bench.world.repo.path();
    let seal = bench.world.git.read_seal(repo, "one").unwrap();
    let remover = Remover::new(bench.world.git.clone());
    let other = bench.world.head();
    match remover.purge_seal(repo, "one", &other) {
        Err(SealError::Replaced { now, .. }) => assert_eq!(now, seal.commit),
        result => panic!("{result:?}"),
    }
    assert_eq!(bench.world.git.read_seal(repo, "one").unwrap(), seal);
    assert!(remover.purge_seal(repo, "one", &seal.commit).unwrap());
    assert!(!remover.purge_seal(repo, "one", &seal.commit).unwrap());
    assert!(matches!(remover.purge_seal(repo, "../../heads/main", &other), Err(SealError::InvalidId { .. })));
    assert_eq!(bench.world.git.list_seals(repo).unwrap(), []);
    assert!(bench.path.join("new.txt").exists());
}

#[test]
fn a_name_that_leads_out_of_the_worktree_is_refused() {
    let bench = sealed();
    bench.destroy();
    let repo = &bench.world.repo;
    write_file(&repo.home().join("evil"), "evil\n");
    let blob = repo.git(&["hash-object", "-w", "../evil"]);
    let script = |entry: &str| {
        let id = repo.git(&["rev-parse", "refs/freehold/seals/one^{tree}"]);
        let line = format!("100644 blob {blob}\t{entry}");
        (id, line)
    };
    for (name, entry) in [("dots", ".."), ("git", ".git")] {
        let (_, line) = script(entry);
        let listed = repo.git(&["ls-tree", "refs/freehold/seals/one:files"]);
        let files = make_tree(&bench, &format!("{listed}\n{line}\n"));
        let top = repo.git(&["ls-tree", "refs/freehold/seals/one"]);
        let old = repo.git(&["rev-parse", "refs/freehold/seals/one:files"]);
        let tree = make_tree(&bench, &format!("{}\n", top.replace(&old, &files)));
        let commit = repo.git(&["commit-tree", &tree, "-m", name]);
        repo.git(&["update-ref", &format!("refs/freehold/seals/{name}"), &commit]);
        let request = RestoreRequest { id: name.to_owned(), ..bench.restore_request() };
        let error = bench.world.git.restore_seal(&request).unwrap_err();
        assert!(matches!(error, RestoreError::Seal(SealError::Damaged { .. })), "{error:?}");
        assert!(!bench.path.exists() && bench.left_beside().is_empty());
    }
    assert!(!Path::new(&bench.path).exists());
}

/// Makes a tree of any names, which Git's own commands would refuse.
fn make_tree(bench: &SealBench, lines: &str) -> String {
    let mut bytes = Vec::new();
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (head, name) = line.split_once('\t').unwrap();
        let mut words = head.split(' ');
        let (mode, id) = (words.next().unwrap(), words.nth(1).unwrap());
        bytes.extend_from_slice(format!("{} {name}\0", mode.trim_start_matches('0')).as_bytes());
        let pairs = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
        bytes.extend(pairs);
    }
    let file = bench.world.repo.home().join("tree");
    std::fs::write(&file, bytes).unwrap();
    bench.world.repo.git(&["hash-object", "-w", "-t", "tree", "--literally", file.to_str().unwrap()])
}

#[test]
fn a_restored_worktree_tells_from_which_seal_it_is() {
    let bench = SealBench::new();
    bench.seal();
    let (repo, path) = (bench.world.repo.path(), &bench.path);
    assert_eq!(bench.world.git.find_restored(repo, path, "one").unwrap(), None, "it is the original");
    bench.destroy();
    let restored = bench.restore();
    assert_eq!(bench.world.git.find_restored(repo, path, "one").unwrap(), Some(restored));
    let second = SealRequest { id: "two".into(), ..bench.request() };
    bench.world.git.seal(&second).unwrap();
    assert_eq!(bench.world.git.find_restored(repo, path, "two").unwrap(), None);
}
