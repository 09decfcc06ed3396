//! What a seal does not hold, and that it says so.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use freehold_git::{LeftOutReason, Seal, SealError, SealLimits, SealRequest};

use crate::seal_bench::SealBench;

fn left(seal: &Seal) -> Vec<(String, LeftOutReason, Option<u64>)> {
    let shown = |path: &Path| path.to_str().unwrap().to_owned();
    seal.left_out.iter().map(|left| (shown(&left.path), left.reason, left.size_bytes)).collect()
}

#[test]
fn disposable_directories_are_left_out_only_where_git_ignores_all_of_them() {
    let bench = SealBench::new();
    bench.write("target/debug/big.o", "x".repeat(1_000));
    bench.write("web/node_modules/a/index.js", "y");
    bench.write("node_modules/.keep", "tracked");
    bench.git(&["add", "--force", "node_modules/.keep"]);
    bench.write("node_modules/b/index.js", "zz");
    bench.write("dist/report.txt", "not ignored, so it is work\n");
    bench.write("src/target/notes.txt", "ignored and disposable");
    let seal = bench.seal();
    let disposable = LeftOutReason::Disposable;
    let expected =
        [("node_modules/b/index.js", 2), ("src/target", 22), ("target", 1_000), ("web/node_modules", 1)];
    let expected = expected.map(|(path, size)| (path.to_owned(), disposable, Some(size)));
    assert_eq!(left(&seal), expected);
    assert_eq!(seal.unsealed_work().count(), 0);
    assert_eq!(bench.world.git.read_seal(bench.world.repo.path(), "one").unwrap(), seal);
    bench.destroy();
    bench.restore();
    assert!(bench.path.join("dist/report.txt").exists() && bench.path.join("node_modules/.keep").exists());
    assert!(!bench.path.join("target").exists() && bench.path.join("web").is_dir());
}

#[test]
fn the_names_of_disposable_directories_are_the_callers() {
    let bench = SealBench::new();
    bench.write(".gitignore", "*.cache/\ntarget/\n");
    bench.write("a.cache/file", "1");
    bench.write("target/file", "2");
    let disposable = vec!["*.cache".to_owned()];
    let seal = bench.world.git.seal(&SealRequest { disposable, ..bench.request() }).unwrap();
    assert_eq!(left(&seal), [("a.cache".to_owned(), LeftOutReason::Disposable, Some(1))]);
    assert_eq!(seal.file_count, 4);
}

#[test]
fn ignored_files_above_a_limit_are_left_out_and_counted_as_work() {
    let bench = SealBench::new();
    bench.write("a.sqlite", "x".repeat(60));
    bench.write("b.sqlite", "x".repeat(101));
    bench.write("c.sqlite", "x".repeat(60));
    bench.write("d.sqlite", "x".repeat(40));
    bench.write("untracked.bin", "x".repeat(10_000));
    let limits = SealLimits { ignored_file_bytes: 100, ignored_total_bytes: 100 };
    let seal = bench.world.git.seal(&SealRequest { limits, ..bench.request() }).unwrap();
    let expected = [
        ("b.sqlite".to_owned(), LeftOutReason::TooLarge, Some(101)),
        ("c.sqlite".to_owned(), LeftOutReason::OverTotal, Some(60)),
    ];
    assert_eq!(left(&seal), expected);
    assert_eq!(seal.unsealed_work().count(), 2);
}

#[test]
fn repositories_inside_are_named_and_not_entered() {
    let bench = SealBench::new();
    let repo = &bench.world.repo;
    bench.git(&["init", "--quiet", "nested"]);
    bench.write("nested/work.txt", "of another repository\n");
    bench.git(&["init", "--quiet", "target/hidden"]);
    bench.git(&["worktree", "add", "--quiet", "--detach", ".wt/inner"]);
    let library = repo.home().join("library");
    std::fs::create_dir(&library).unwrap();
    repo.git_in(&library, &["init", "--quiet"]);
    repo.git_in(&library, &["commit", "--quiet", "--allow-empty", "--message=Begin"]);
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    bench.git(&[&allow[..], &[library.to_str().unwrap(), "vendor"]].concat());
    bench.git(&["init", "--quiet", "--bare", "bare"]);
    let seal = bench.seal();
    let found: Vec<_> = left(&seal).into_iter().map(|(path, reason, _)| (path, reason)).collect();
    let nested = LeftOutReason::NestedRepository;
    let expected = [
        (".wt/inner", nested),
        ("nested", nested),
        ("target", LeftOutReason::Disposable),
        ("target/hidden", nested),
        ("vendor", LeftOutReason::Submodule),
    ];
    assert_eq!(found, expected.map(|(path, reason)| (path.to_owned(), reason)));
    assert_eq!(seal.unsealed_work().count(), 4);
    // A bare repository is nothing but files.
    let files = bench.world.git.seal_files(repo.path(), "one").unwrap();
    assert!(files.iter().any(|file| file.path == Path::new("bare/HEAD")));
}

#[test]
fn what_has_no_content_is_listed() {
    let bench = SealBench::new();
    let fifo = bench.path.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(bench.path.join("socket")).unwrap();
    let seal = bench.seal();
    let special = LeftOutReason::Special;
    assert_eq!(left(&seal), [("pipe".to_owned(), special, Some(0)), ("socket".to_owned(), special, Some(0))]);
    assert_eq!(seal.unsealed_work().count(), 0);
    drop(socket);
}

#[test]
fn what_may_not_be_read_is_work_that_is_not_sealed() {
    if rustix::process::geteuid().is_root() {
        // Nothing is closed to it.
        return;
    }
    let bench = SealBench::new();
    bench.write("closed.txt", "x");
    bench.write("folder/inside.txt", "x");
    for name in ["closed.txt", "folder"] {
        std::fs::set_permissions(bench.path.join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    let seal = bench.seal();
    let reasons: Vec<_> = left(&seal).into_iter().map(|(path, reason, _)| (path, reason)).collect();
    let unreadable = LeftOutReason::Unreadable;
    assert_eq!(reasons, [("closed.txt".to_owned(), unreadable), ("folder".to_owned(), unreadable)]);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.path.join("folder"), open).unwrap();
}

#[test]
fn the_same_seal_again_is_the_seal_that_is_there() {
    let bench = SealBench::new();
    bench.write("new.txt", "one\n");
    let seal = bench.seal();
    let later = SealRequest { created_at_unix: seal.created_at_unix + 60, ..bench.request() };
    assert_eq!(bench.world.git.seal(&later).unwrap(), seal);
    bench.write("new.txt", "two\n");
    assert!(matches!(bench.try_seal(), Err(SealError::IdTaken { .. })));
    assert_eq!(bench.world.git.read_seal(bench.world.repo.path(), "one").unwrap(), seal);
}

#[test]
fn only_a_worktree_of_the_repository_is_sealed() {
    let bench = SealBench::new();
    let sealed = |path: &Path, id: &str| {
        let (path, id) = (path.to_owned(), id.to_owned());
        bench.world.git.seal(&SealRequest { path, id, ..bench.request() })
    };
    assert!(matches!(sealed(bench.world.repo.path(), "one"), Err(SealError::Git(_))));
    assert!(matches!(sealed(&bench.world.root().join("nothing"), "one"), Err(SealError::Git(_))));
    assert!(matches!(sealed(&bench.path.join("src"), "one"), Err(SealError::Git(_))));
    assert!(matches!(sealed(&bench.path, "../one"), Err(SealError::InvalidId { .. })));
    let listed = bench.world.git.list_seals(bench.world.repo.path()).unwrap();
    assert_eq!(listed, []);
    let unknown = bench.world.git.read_seal(bench.world.repo.path(), "one");
    assert!(matches!(unknown, Err(SealError::Unknown { .. })));
}

#[test]
fn a_directory_that_git_does_not_ignore_is_no_disposable_one() {
    let bench = SealBench::new();
    bench.write("build/.env", "an ignored file in a folder that is not ignored\n");
    bench.write("out/build/.env", "here too\n");
    std::fs::create_dir(bench.path.join("dist")).unwrap();
    let (seal, _) = bench.round_trip();
    assert_eq!(left(&seal), []);
    assert!(bench.path.join("dist").is_dir());
}
