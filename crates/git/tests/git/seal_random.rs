//! Random small worktrees come back whole.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;

use crate::seal_bench::SealBench;

/// What may happen to a worktree.
#[derive(Debug, Clone)]
enum Step {
    Write(PathBuf, Vec<u8>),
    Link(PathBuf, PathBuf),
    Directory(PathBuf),
    Permissions(PathBuf, u32),
    Remove(PathBuf),
    Add(PathBuf),
    Announce(PathBuf),
    Forget(PathBuf),
    Assume(PathBuf),
    Commit,
}

/// Few names, so that steps meet.
fn path() -> impl Strategy<Value = PathBuf> {
    let names: Vec<&[u8]> = vec![b"a", b"b c", b"-d", b"\xff\n", b".env", b"e\\f", b"dir", b"%20"];
    let name = prop::sample::select(names);
    prop::collection::vec(name, 1..4).prop_map(|names| names.into_iter().map(OsStr::from_bytes).collect())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"one\r\ntwo\r\n".to_vec()),
        Just(b"$Id$\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..200),
        Just(b"long ".repeat(40_000)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (path(), content()).prop_map(|(path, content)| Step::Write(path, content)),
        1 => (path(), path()).prop_map(|(path, target)| Step::Link(path, target)),
        1 => path().prop_map(Step::Directory),
        2 => (path(), prop::sample::select(vec![0o644, 0o755, 0o600, 0o444, 0o700]))
            .prop_map(|(path, mode)| Step::Permissions(path, mode)),
        1 => path().prop_map(Step::Remove),
        4 => path().prop_map(Step::Add),
        1 => path().prop_map(Step::Announce),
        1 => path().prop_map(Step::Forget),
        1 => path().prop_map(Step::Assume),
        2 => Just(Step::Commit),
    ]
}

/// Does a step where it is possible.
fn apply(bench: &SealBench, step: &Step) {
    let on = |words: &[&str], path: &PathBuf| {
        let list = bench.world.repo.home().join("list");
        std::fs::write(&list, path.as_os_str().as_bytes()).unwrap();
        let list = format!("--pathspec-from-file={}", list.display());
        bench.try_git(&[&["--literal-pathspecs"], words, &[&list, "--pathspec-file-nul"]].concat());
    };
    match step {
        Step::Write(path, content) => {
            let path = bench.path.join(path);
            _ = std::fs::create_dir_all(path.parent().unwrap());
            _ = std::fs::write(path, content);
        }
        Step::Link(path, target) => {
            let path = bench.path.join(path);
            _ = std::fs::create_dir_all(path.parent().unwrap());
            _ = symlink(target, path);
        }
        Step::Directory(path) => _ = std::fs::create_dir_all(bench.path.join(path)),
        Step::Permissions(path, mode) => {
            let path = bench.path.join(path);
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
        Step::Remove(path) => {
            let path = bench.path.join(path);
            _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
        }
        Step::Add(path) => on(&["add", "--force"], path),
        Step::Announce(path) => on(&["add", "--intent-to-add"], path),
        Step::Forget(path) => on(&["rm", "--cached", "-r"], path),
        Step::Assume(path) => {
            bench.try_git(&["update-index", "--assume-unchanged", "--", &path.to_string_lossy()]);
        }
        Step::Commit => bench.try_git(&["commit", "--quiet", "--message=Step"]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_worktree_comes_back_whole(
        attributes in prop::sample::select(vec!["", "* text=auto\n", "* ident\n", "a eol=crlf\n"]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let bench = SealBench::new();
        // Nothing is disposable, so that everything must come back.
        bench.write(".gitignore", ".env\n");
        bench.write(".gitattributes", attributes);
        for step in &steps {
            apply(&bench, step);
        }
        bench.round_trip();
    }
}

#[test]
fn the_empty_blob_of_an_announced_file_comes_back_too() {
    let bench = SealBench::new();
    bench.write("announced", "not empty");
    apply(&bench, &Step::Announce(PathBuf::from("announced")));
    bench.round_trip();
}
