//! What is sealed comes back byte for byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use freehold_git::{Remover, RestoreBranch, RestoreRequest, SealedKind};
use freehold_testkit::repo::{TempRepo, write_file};

use crate::seal_bench::{SealBench, assert_same};
use crate::world::{World, write_hook};

#[test]
fn a_dirty_worktree_comes_back_byte_for_byte() {
    let bench = SealBench::new();
    bench.write("README.md", "staged\n");
    bench.git(&["add", "README.md"]);
    bench.write("README.md", "staged, then changed\n");
    bench.write("src/lib.rs", "pub fn answer() -> u32 {\n    43\n}\n");
    bench.write("new/deep/file.txt", "untracked\n");
    bench.write("empty.txt", "");
    bench.write(".env", "SECRET=1\n");
    symlink("README.md", bench.path.join("link")).unwrap();
    let (seal, restored) = bench.round_trip();
    assert_eq!((seal.file_count, seal.left_out.len()), (7, 0));
    assert_eq!(restored.head.branch(), Some("freehold/a"));
    let files = bench.world.git.seal_files(bench.world.repo.path(), "one").unwrap();
    let kinds: Vec<_> = files.iter().map(|file| (file.path.to_str().unwrap(), file.kind)).collect();
    let (tracked, untracked) = (SealedKind::Tracked, SealedKind::Untracked);
    let expected = [
        (".env", SealedKind::Ignored),
        (".gitignore", tracked),
        ("README.md", tracked),
        ("empty.txt", untracked),
        ("link", untracked),
        ("new/deep/file.txt", untracked),
        ("src/lib.rs", tracked),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn the_index_comes_back_with_every_flag_and_stage() {
    let bench = SealBench::new();
    for name in ["assumed.txt", "skipped.txt", "gone.txt", "moved.txt", "staged.txt"] {
        bench.write(name, format!("{name}\n"));
    }
    bench.world.repo.commit_in(&bench.path, "More files");
    bench.git(&["update-index", "--assume-unchanged", "assumed.txt"]);
    bench.write("assumed.txt", "changed behind Git's back\n");
    bench.git(&["update-index", "--skip-worktree", "skipped.txt"]);
    bench.write("skipped.txt", "changed as well\n");
    bench.git(&["rm", "--quiet", "gone.txt"]);
    bench.git(&["mv", "moved.txt", "elsewhere.txt"]);
    bench.write("staged.txt", "only staged\n");
    bench.git(&["add", "staged.txt"]);
    std::fs::remove_file(bench.path.join("staged.txt")).unwrap();
    bench.write("announced.txt", "with content\n");
    bench.write("announced-empty.txt", "");
    bench.git(&["add", "--intent-to-add", "announced.txt", "announced-empty.txt"]);
    bench.write("empty.txt", "");
    bench.git(&["add", "empty.txt"]);
    std::fs::remove_file(bench.path.join("empty.txt")).unwrap();
    bench.round_trip();
    assert_eq!(bench.git(&["show", ":staged.txt"]), "only staged");
}

#[test]
fn a_conflict_comes_back_with_its_three_stages_and_can_be_finished() {
    let bench = SealBench::new();
    bench.write("both.txt", "base\n");
    bench.world.repo.commit_in(&bench.path, "Base");
    bench.git(&["branch", "other"]);
    bench.write("both.txt", "ours\n");
    bench.world.repo.commit_in(&bench.path, "Ours");
    bench.git(&["switch", "--quiet", "other"]);
    bench.write("both.txt", "theirs\n");
    let theirs = bench.world.repo.commit_in(&bench.path, "Theirs");
    bench.git(&["switch", "--quiet", "freehold/a"]);
    bench.try_git(&["merge", "other"]);
    // Nothing but the merge in progress knows the other side any more.
    bench.git(&["branch", "-D", "other"]);
    let (seal, _) = bench.round_trip();
    assert_eq!(seal.operation_in_progress.as_deref(), Some("merge"));
    bench.write("both.txt", "resolved\n");
    bench.git(&["add", "both.txt"]);
    bench.git(&["commit", "--quiet", "--no-edit"]);
    assert_eq!(bench.git(&["rev-parse", "HEAD^2"]), theirs);
}

#[test]
fn a_rebase_in_progress_comes_back_with_its_branch_and_can_be_finished() {
    for branch_is_gone in [true, false] {
        let bench = SealBench::new();
        bench.write("both.txt", "base\n");
        bench.world.repo.commit_in(&bench.path, "Base");
        bench.git(&["branch", "upstream"]);
        for number in 1..=3 {
            bench.write("both.txt", format!("ours {number}\n"));
            bench.world.repo.commit_in(&bench.path, "Ours");
        }
        bench.git(&["switch", "--quiet", "upstream"]);
        bench.write("both.txt", "theirs\n");
        bench.world.repo.commit_in(&bench.path, "Theirs");
        bench.git(&["switch", "--quiet", "freehold/a"]);
        bench.try_git(&["rebase", "upstream"]);
        let before = bench.whole();
        let seal = bench.seal();
        assert_eq!(seal.operation_in_progress.as_deref(), Some("rebase"));
        bench.destroy();
        if branch_is_gone {
            bench.world.repo.git(&["branch", "-D", "freehold/a"]);
            bench.world.repo.git(&["gc", "--quiet", "--prune=now"]);
        }
        bench.restore();
        assert_same(&bench.whole(), &before, "a rebase comes back");
        for _ in 0..3 {
            bench.write("both.txt", "resolved\n");
            bench.git(&["add", "both.txt"]);
            bench.try_git(&["-c", "core.editor=true", "rebase", "--continue"]);
        }
        assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/freehold/a");
        assert_eq!(bench.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn other_operations_come_back_and_can_be_finished() {
    let begin = || {
        let bench = SealBench::new();
        for number in 1..=4 {
            bench.write("both.txt", format!("step {number}\n"));
            bench.world.repo.commit_in(&bench.path, &format!("Step {number}"));
        }
        bench
    };
    let bench = begin();
    bench.try_git(&["cherry-pick", "HEAD~2"]);
    assert_eq!(bench.round_trip().0.operation_in_progress.as_deref(), Some("cherry-pick"));
    bench.git(&["cherry-pick", "--abort"]);
    let bench = begin();
    bench.try_git(&["revert", "--no-edit", "HEAD~2", "HEAD~1"]);
    assert_eq!(bench.round_trip().0.operation_in_progress.as_deref(), Some("revert"));
    bench.git(&["revert", "--abort"]);
    let bench = begin();
    bench.git(&["bisect", "start", "HEAD", "HEAD~3"]);
    assert_eq!(bench.round_trip().0.operation_in_progress.as_deref(), Some("bisect"));
    bench.git(&["bisect", "good"]);
    bench.git(&["bisect", "reset"]);
    assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/freehold/a");
}

#[test]
fn a_detached_head_keeps_the_commits_that_nothing_else_has() {
    let bench = SealBench::new();
    bench.git(&["switch", "--quiet", "--detach"]);
    bench.write("work.txt", "committed nowhere else\n");
    let commit = bench.world.repo.commit_in(&bench.path, "Work");
    // What a reflog still knows stays as well.
    bench.git(&["commit", "--quiet", "--amend", "--message=Reworded"]);
    let (_, restored) = bench.round_trip();
    assert_eq!(restored.head.branch(), None);
    assert_eq!(bench.git(&["rev-parse", "HEAD@{1}"]), commit);
    assert_eq!(bench.git(&["show", "HEAD@{1}:work.txt"]), "committed nowhere else");
}

#[test]
fn a_branch_without_a_commit_comes_back() {
    let bench = SealBench::new();
    bench.git(&["switch", "--quiet", "--orphan", "fresh"]);
    bench.write("first.txt", "not committed yet\n");
    bench.write("second.txt", "staged\n");
    bench.git(&["add", "second.txt"]);
    let (seal, restored) = bench.round_trip();
    assert_eq!((restored.head.branch(), restored.head.tip()), (Some("fresh"), None));
    assert_eq!(Some(restored.head), seal.head);
}

#[test]
fn modes_and_empty_directories_come_back() {
    let bench = SealBench::new();
    let set = |name: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(bench.path.join(name), permissions).unwrap();
    };
    bench.write("run.sh", "#!/bin/sh\n");
    bench.write("secret.key", "private\n");
    bench.write("locked/read-only.txt", "kept\n");
    bench.write("group.txt", "writable by the group\n");
    std::fs::create_dir_all(bench.path.join("empty/in/empty")).unwrap();
    std::fs::create_dir_all(bench.path.join("src/private")).unwrap();
    for (name, mode) in [
        ("run.sh", 0o755),
        ("secret.key", 0o600),
        ("group.txt", 0o664),
        ("README.md", 0o755),
        ("src/lib.rs", 0o444),
        ("locked/read-only.txt", 0o400),
        ("locked", 0o555),
        ("src/private", 0o700),
    ] {
        set(name, mode);
    }
    bench.round_trip();
}

#[test]
fn links_are_kept_as_links_and_never_followed() {
    let bench = SealBench::new();
    let canary = bench.world.repo.home().join("canary");
    write_file(&canary.join("file.txt"), "outside\n");
    symlink(&canary, bench.path.join("outside")).unwrap();
    symlink("nowhere at all", bench.path.join("dangling")).unwrap();
    symlink("..", bench.path.join("src/up")).unwrap();
    symlink(OsStr::from_bytes(b"odd \xff\n"), bench.path.join("bytes")).unwrap();
    std::fs::remove_file(bench.path.join("README.md")).unwrap();
    symlink("src/lib.rs", bench.path.join("README.md")).unwrap();
    std::fs::remove_file(bench.path.join("src/lib.rs")).unwrap();
    // A directory of tracked files became a link.
    std::fs::remove_file(bench.path.join("src/up")).unwrap();
    std::fs::remove_dir(bench.path.join("src")).unwrap();
    symlink(&canary, bench.path.join("src")).unwrap();
    let (seal, _) = bench.round_trip();
    assert_eq!(seal.file_count, 6);
    assert_eq!(std::fs::read_to_string(canary.join("file.txt")).unwrap(), "outside\n");
    assert_eq!(canary.read_dir().unwrap().count(), 1);
}

#[test]
fn every_name_comes_back() {
    let bench = SealBench::new();
    let names: [&[u8]; 17] = [
        b"with space",
        b" leading and trailing ",
        b"line\nbreak",
        b"tab\tand\"quote\"",
        b"not utf-8 \xff\xfe",
        b"-leading-dash",
        b"--",
        b"back\\slash",
        b"100%41",
        b"git~1",
        b".gitmodules",
        b"\xe2\x80\x8c.git",
        b"a:b*c?",
        b"con",
        "\u{540d}\u{524d}".as_bytes(),
        b"folder \n/\xff/.git~file",
        b"glob[a]/**",
    ];
    for name in names {
        let path = bench.path.join(OsStr::from_bytes(name));
        write_file(&path, name);
    }
    bench.git(&["add", "--", "-leading-dash", "line\nbreak"]);
    symlink("target", bench.path.join("link~1")).unwrap();
    let (seal, _) = bench.round_trip();
    assert_eq!(seal.file_count, 18 + 3);
    let files = bench.world.git.seal_files(bench.world.repo.path(), "one").unwrap();
    assert!(files.iter().any(|file| file.path.as_os_str().as_bytes() == b"git~1"));
    assert!(files.iter().any(|file| file.path.as_os_str().as_bytes() == b"not utf-8 \xff\xfe"));
}

#[test]
fn filters_and_line_ends_change_no_byte() {
    let bench = SealBench::new();
    let git = |arguments: &[&str]| bench.world.repo.git(arguments);
    git(&["config", "core.autocrlf", "true"]);
    git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    git(&["config", "filter.upper.required", "true"]);
    let attributes =
        "*.up filter=upper\n*.id ident\n*.crlf text eol=crlf\n*.utf16 working-tree-encoding=UTF-16LE\n";
    bench.write(".gitattributes", attributes);
    bench.write("a.up", "lower on disk, upper in git\n");
    bench.write("b.id", "$Id$\n");
    bench.write("c.crlf", "one\r\ntwo\r\n");
    bench.write("d.txt", "one\r\ntwo\r\n");
    bench.write("e.txt", "mixed\r\nends\n");
    bench.write("f.utf16", b"h\0i\0\n\0");
    bench.write("pointer.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    bench.world.repo.commit_in(&bench.path, "Files that Git changes on their way");
    bench.git(&["rm", "--quiet", "--cached", "b.id"]);
    bench.git(&["reset", "--quiet", "--hard"]);
    std::fs::remove_file(bench.path.join("b.id")).unwrap();
    bench.git(&["checkout", "--quiet", "--", "b.id"]);
    assert!(std::fs::read_to_string(bench.path.join("b.id")).unwrap().starts_with("$Id: "));
    // All of it is clean for Git, and none of it is on disk what Git has.
    bench.round_trip();
    assert_eq!(std::fs::read(bench.path.join("d.txt")).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn a_sparse_checkout_comes_back_sparse() {
    for cone in ["--cone", "--no-cone"] {
        let bench = SealBench::new();
        for name in ["in/a.txt", "out/b.txt", "out/deep/c.txt"] {
            bench.write(name, name);
        }
        bench.world.repo.commit_in(&bench.path, "Folders");
        bench.git(&["sparse-checkout", "set", cone, "in"]);
        bench.write("in/a.txt", "changed\n");
        bench.round_trip();
        assert!(!bench.path.join("out").exists());
        bench.git(&["sparse-checkout", "disable"]);
        assert_eq!(std::fs::read_to_string(bench.path.join("out/b.txt")).unwrap(), "out/b.txt");
    }
    let bench = SealBench::new();
    bench.write("in/a.txt", "a");
    bench.write("out/deep/c.txt", "c");
    bench.world.repo.commit_in(&bench.path, "Folders");
    bench.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    bench.round_trip();
}

#[test]
fn every_format_of_the_index_comes_back() {
    for settings in [&["index.version", "4"], &["core.splitIndex", "true"], &["index.skipHash", "true"]] {
        let bench = SealBench::new();
        bench.world.repo.git(&["config", settings[0], settings[1]]);
        for number in 0..20 {
            bench.write(&format!("folder/file-{number}.txt"), format!("{number}\n"));
        }
        bench.git(&["add", "--all"]);
        bench.git(&["update-index", "--force-write-index"]);
        bench.write("folder/file-3.txt", "changed\n");
        bench.git(&["add", "folder/file-3.txt"]);
        bench.round_trip();
    }
}

#[test]
fn settings_of_a_person_and_hooks_take_no_part() {
    let bench = SealBench::new();
    let proof = bench.world.repo.home().join("proof");
    let script = format!("echo ran >> '{}'", proof.display());
    for hook in ["reference-transaction", "post-checkout", "pre-commit", "post-index-change", "fsmonitor"] {
        write_hook(&bench.world.repo, hook, &script);
    }
    let hook = bench.world.repo.path().join(".git/hooks/fsmonitor");
    let config = format!(
        "[core]\n\tfsmonitor = {}\n\tquotePath = true\n\tprotectHFS = true\n\tprotectNTFS = true\n\
         \tlogAllRefUpdates = always\n[commit]\n\tgpgSign = true\n[user]\n\tuseConfigOnly = true\n\
         [status]\n\tshowUntrackedFiles = no\n[gpg]\n\tprogram = /nowhere\n[color]\n\tui = always\n\
         [diff]\n\texternal = /nowhere\n\tnoprefix = true\n[i18n]\n\tcommitEncoding = latin1\n\
         [receive]\n\tfsckObjects = true\n[transfer]\n\tfsckObjects = true\n[fetch]\n\tunpackLimit = 1\n",
        hook.display()
    );
    std::fs::write(bench.world.repo.config(), config).unwrap();
    bench.write("new.txt", "untracked\n");
    let before = bench.path.join("new.txt").metadata().unwrap().ino();
    _ = std::fs::remove_file(&proof);
    bench.seal();
    assert_eq!(bench.path.join("new.txt").metadata().unwrap().ino(), before);
    let elsewhere = bench.world.root().join("b/repo");
    let branch = RestoreBranch::New("other".to_owned());
    let request = RestoreRequest { path: elsewhere.clone(), branch, ..bench.restore_request() };
    let restored = bench.world.git.restore_seal(&request).unwrap();
    bench.world.git.seal_diff(bench.world.repo.path(), "one").unwrap();
    Remover::new(bench.world.git.clone())
        .purge_seal(bench.world.repo.path(), "one", &restored.seal.commit)
        .unwrap();
    assert!(!proof.exists(), "{}", std::fs::read_to_string(&proof).unwrap());
    assert_eq!(std::fs::read_to_string(elsewhere.join("new.txt")).unwrap(), "untracked\n");
}

#[test]
fn repositories_of_every_format_keep_seals() {
    for arguments in [&["--object-format=sha256"][..], &["--ref-format=reftable"], &[]] {
        let repo = TempRepo::without_commit();
        let git_dir = repo.path().join(".git");
        std::fs::rename(&git_dir, repo.home().join("old")).unwrap();
        repo.git(&[&["init", "--quiet"], arguments].concat());
        repo.write(".gitignore", ".env\n");
        repo.write("README.md", "# A sample\n");
        repo.write("src/lib.rs", "// nothing\n");
        repo.commit("Begin");
        repo.git(&["pack-refs", "--all"]);
        let bench = SealBench::of(World::of(repo));
        bench.write("both.txt", "base\n");
        bench.world.repo.commit_in(&bench.path, "Base");
        bench.write("both.txt", "next\n");
        bench.world.repo.commit_in(&bench.path, "Next");
        bench.git(&["update-ref", "refs/worktree/mine", "HEAD~1"]);
        bench.try_git(&["revert", "--no-edit", "HEAD~1"]);
        bench.write(".env", "SECRET=1\n");
        bench.write("new.txt", "untracked\n");
        bench.round_trip();
        bench.world.repo.git(&["pack-refs", "--all"]);
        assert_eq!(bench.world.git.list_seals(bench.world.repo.path()).unwrap().len(), 1, "{arguments:?}");
    }
}

#[test]
fn thousands_of_files_come_back() {
    let bench = SealBench::of(World::of(TempRepo::with_files(3_000)));
    for number in 0..500 {
        bench.write(&format!("new/{}/{number}.txt", number % 10), format!("new {number}\n"));
        bench.write(&format!("folder-0003/file-{:06}.txt", 300 + number % 100), format!("{number}\n"));
    }
    let (seal, _) = bench.round_trip();
    assert_eq!(seal.file_count, 3_500);
}

#[test]
fn attributes_of_the_past_change_no_byte() {
    let bench = SealBench::new();
    bench.write(".gitattributes", "* text=auto\n");
    bench.write("ends.txt", "one\r\ntwo\r\n");
    // Older than the index, so that its word could be taken.
    let old = std::fs::File::options().write(true).open(bench.path.join("ends.txt")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    bench.world.repo.commit_in(&bench.path, "Line ends that Git changed");
    bench.write(".gitattributes", "* -text\n");
    let index = || std::fs::read(bench.world.repo.path().join(".git/worktrees/repo/index")).unwrap();
    let before = index();
    bench.seal();
    bench.destroy();
    bench.restore();
    // Git had not noticed yet that the file differs from now on; nothing but that is new.
    assert_eq!(std::fs::read(bench.path.join("ends.txt")).unwrap(), b"one\r\ntwo\r\n");
    assert!(index() == before);
}
