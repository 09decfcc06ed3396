//! Changes since the base commit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use freehold_git::{ChangeKind, FileChange, Oid};
use freehold_testkit::repo::write_file;

use crate::world::World;

struct Bench {
    world: World,
    path: PathBuf,
    base: Oid,
}

impl Bench {
    fn new() -> Self {
        let world = World::new();
        let text: String = (0..50).map(|line| format!("line {line}\n")).collect();
        world.repo.write("docs/long.txt", &text);
        world.repo.write("picture.bin", [0, 1, 2, 0, 255]);
        world.repo.commit("Add more");
        let identity = world.add("a");
        Self { path: identity.path, base: identity.head, world }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write_file(&self.path.join(name), content);
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.world.repo.git_in(&self.path, arguments)
    }

    fn changes(&self) -> Vec<FileChange> {
        self.world.git.changes(&self.path, &self.base).unwrap()
    }

    fn patch(&self, name: &str) -> String {
        self.world.git.file_diff(&self.path, &self.base, name).unwrap().patch
    }
}

fn change(path: &str, kind: ChangeKind, counts: Option<(u64, u64)>, untracked: bool) -> FileChange {
    let (additions, deletions) = (counts.map(|counts| counts.0), counts.map(|counts| counts.1));
    FileChange { path: path.into(), old_path: None, kind, additions, deletions, untracked }
}

#[test]
fn committed_staged_unstaged_and_untracked_changes_are_one_list() {
    let bench = Bench::new();
    assert_eq!(bench.changes(), []);
    bench.write("committed.txt", "1\n2\n");
    bench.world.repo.commit_in(&bench.path, "More");
    bench.write("src/lib.rs", "pub fn answer() -> u32 {\n    43\n}\n");
    bench.git(&["add", "src/lib.rs"]);
    std::fs::remove_file(bench.path.join("README.md")).unwrap();
    bench.write("untracked.txt", "1\n2\n3\n");
    bench.write(".env", "ignored\n");
    assert_eq!(
        bench.changes(),
        [
            change("README.md", ChangeKind::Deleted, Some((0, 1)), false),
            change("committed.txt", ChangeKind::Added, Some((2, 0)), false),
            change("src/lib.rs", ChangeKind::Modified, Some((1, 1)), false),
            change("untracked.txt", ChangeKind::Added, Some((3, 0)), true),
        ]
    );
    assert!(bench.patch("untracked.txt").contains("\n+3\n"));
    assert!(bench.patch("src/lib.rs").contains("-    42\n+    43\n"));
    assert!(bench.patch("README.md").contains("deleted file"));
    assert!(bench.patch("committed.txt").starts_with("diff --git a/committed.txt b/committed.txt"));
    // The look left the index alone.
    assert_eq!(bench.git(&["ls-files", "untracked.txt"]), "");
}

#[test]
fn renames_are_seen_also_when_git_was_not_told() {
    let bench = Bench::new();
    std::fs::rename(bench.path.join("docs/long.txt"), bench.path.join("moved.txt")).unwrap();
    let expected = |untracked| FileChange {
        old_path: Some("docs/long.txt".into()),
        ..change("moved.txt", ChangeKind::Renamed, Some((0, 0)), untracked)
    };
    assert_eq!(bench.changes(), [expected(true)]);
    let diff = bench.world.git.file_diff(&bench.path, &bench.base, "moved.txt").unwrap();
    assert_eq!(diff.old_path.as_deref(), Some("docs/long.txt"));
    assert!(diff.patch.contains("rename from docs/long.txt\nrename to moved.txt"), "{}", diff.patch);
    bench.git(&["add", "--all"]);
    assert_eq!(bench.changes(), [expected(false)]);
}

#[test]
fn binary_files_have_no_counts() {
    let bench = Bench::new();
    bench.write("picture.bin", [9, 0, 9]);
    bench.write("new.bin", [7, 0, 7]);
    assert_eq!(
        bench.changes(),
        [
            change("new.bin", ChangeKind::Added, None, true),
            change("picture.bin", ChangeKind::Modified, None, false)
        ]
    );
    let diff = bench.world.git.file_diff(&bench.path, &bench.base, "picture.bin").unwrap();
    assert!(diff.binary && diff.patch.contains("Binary files"), "{}", diff.patch);
}

#[test]
fn a_file_that_became_a_link_changed_its_type() {
    let bench = Bench::new();
    std::fs::remove_file(bench.path.join("README.md")).unwrap();
    std::os::unix::fs::symlink("src/lib.rs", bench.path.join("README.md")).unwrap();
    assert_eq!(bench.changes()[0].kind, ChangeKind::TypeChanged);
}

#[test]
fn any_file_name_is_carried_through() {
    let bench = Bench::new();
    for name in [" lead", "a:b", "-x", "*", ":(top)y", "line\nbreak", "tab\tin", "名前/ü", "\"quoted\""] {
        bench.write(name, "text\n");
    }
    bench.git(&["add", "a:b", "line\nbreak"]);
    let raw = OsStr::from_bytes(b"raw-\xff\xfe.txt");
    std::fs::write(bench.path.join(raw), "raw\n").unwrap();
    let changes = bench.changes();
    let mut names: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    names.sort_unstable();
    let expected = [
        " lead",
        "\"quoted\"",
        "*",
        "-x",
        ":(top)y",
        "a:b",
        "line\nbreak",
        "raw-\u{fffd}\u{fffd}.txt",
        "tab\tin",
        "名前/ü",
    ];
    assert_eq!(names, expected);
    for name in expected {
        let patch = bench.patch(name);
        assert_eq!(patch.matches("diff --git").count(), 1, "{name}: {patch}");
        assert!(patch.contains("\n+text\n") || patch.contains("\n+raw\n"), "{name}: {patch}");
    }
}

#[test]
fn a_file_taken_from_the_index_and_left_on_disk_is_modified_and_untracked() {
    let bench = Bench::new();
    bench.git(&["rm", "--quiet", "--cached", "README.md"]);
    assert_eq!(bench.changes(), []);
    bench.write("README.md", "other\n");
    assert_eq!(bench.changes(), [change("README.md", ChangeKind::Modified, Some((1, 1)), true)]);
}

#[test]
fn a_patch_is_cut_at_its_limit_and_says_so() {
    let bench = Bench::new();
    bench.write("large.txt", "0123456789abcdef\n".repeat(200_000));
    let diff = bench.world.git.file_diff(&bench.path, &bench.base, "large.txt").unwrap();
    assert!(diff.too_large);
    assert_eq!(diff.patch.len(), 1024 * 1024);
    let small = bench.world.git.file_diff(&bench.path, &bench.base, "README.md").unwrap();
    assert_eq!((small.patch.as_str(), small.too_large), ("", false));
}

#[test]
fn a_persons_settings_do_not_change_the_form_of_a_diff() {
    let bench = Bench::new();
    for (name, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "/bin/false"),
        ("diff.renames", "false"),
        ("color.ui", "always"),
        ("status.showUntrackedFiles", "no"),
        ("diff.context", "0"),
        ("diff.relative", "true"),
        ("core.quotePath", "true"),
    ] {
        bench.git(&["config", name, value]);
    }
    bench.write("src/lib.rs", "pub fn answer() -> u32 {\n    43\n}\n");
    bench.write("new.txt", "x\n");
    assert_eq!(bench.changes().len(), 2);
    let patch = bench.patch("src/lib.rs");
    assert!(patch.contains("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@"), "{patch}");
}

#[test]
fn conflicting_files_are_listed_once() {
    let bench = Bench::new();
    bench.git(&["branch", "theirs"]);
    bench.write("README.md", "ours\n");
    bench.world.repo.commit_in(&bench.path, "ours");
    bench.git(&["switch", "--quiet", "theirs"]);
    bench.write("README.md", "theirs\n");
    bench.world.repo.commit_in(&bench.path, "theirs");
    assert!(!bench.world.repo.try_git_in(&bench.path, &["merge", "freehold/a"]).status.success());
    let changes = bench.changes();
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].path.as_str(), changes[0].kind), ("README.md", ChangeKind::Modified));
}

#[test]
fn repositories_and_submodules_inside_do_no_harm() {
    let world = World::new();
    let url = world.repo.path().to_str().unwrap().to_owned();
    world.repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "module"]);
    world.repo.commit("Add a module");
    let identity = world.add("a");
    let changes = || world.git.changes(&identity.path, &identity.head).unwrap();
    assert_eq!(changes(), []);
    for nested in ["nested", "empty"] {
        world.repo.git_in(&identity.path, &["init", "--quiet", nested]);
    }
    write_file(&identity.path.join("nested/file"), "x\n");
    world.repo.commit_in(&identity.path.join("nested"), "Inner");
    write_file(&identity.path.join("module/file"), "x\n");
    write_file(&identity.path.join("beside.txt"), "x\n");
    let listed = changes();
    assert!(listed.iter().any(|change| change.path == "beside.txt"), "{listed:?}");
    assert!(!listed.iter().any(|change| change.path.starts_with("nested")), "{listed:?}");
    world.git.status(&identity.path).unwrap();
}
