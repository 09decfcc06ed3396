//! Folders that are no worktrees: sealed, removed and restored byte for byte, or left alone with a reason.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use freehold_git::{
    FindingKind, FolderRestoreRequest, FolderSealRequest, FolderTarget, LeftOutReason, Presence,
    RemovalError, RemovalOutcome, Remover, RestoreBranch, RestoreError, RestoreRequest, SealError,
    SealedFolder,
};
use freehold_testkit::repo::{tree, write_file};
use proptest::prelude::*;

use crate::seal_bench::NOW;
use crate::world::World;

/// A folder among the workspaces, and the vault for its seals.
pub(crate) struct FolderBench {
    pub(crate) world: World,
    pub(crate) path: PathBuf,
}

impl FolderBench {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let path = world.root().join("folder");
        std::fs::create_dir_all(&path).unwrap();
        Self { world, path }
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.world.repo.home().join("vault")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write_file(&self.path.join(name), content);
    }

    pub(crate) fn request(&self) -> FolderSealRequest {
        FolderSealRequest::new(&self.vault(), &self.path, "one", NOW)
    }

    pub(crate) fn seal(&self) -> SealedFolder {
        self.world.git.seal_folder(&self.request()).unwrap()
    }

    pub(crate) fn target(&self) -> FolderTarget {
        FolderTarget {
            vault: self.vault(),
            path: self.path.clone(),
            managed_root: self.world.root(),
            apart: Vec::new(),
            accepted: Vec::new(),
        }
    }

    pub(crate) fn remove(&self, sealed: &SealedFolder) -> Result<RemovalOutcome, RemovalError> {
        Remover::new(self.world.git.clone()).remove_folder(&self.target(), sealed)
    }

    pub(crate) fn restore(&self) -> Result<PathBuf, RestoreError> {
        let request = FolderRestoreRequest { vault: self.vault(), id: "one".into(), path: self.path.clone() };
        self.world.git.restore_folder(&request).map(|restored| restored.path)
    }

    fn findings(&self) -> Vec<FindingKind> {
        let assessment = Remover::assess_folder(&self.target()).unwrap();
        assessment.findings.iter().map(|finding| finding.kind).collect()
    }

    /// Seals, removes and restores, and demands that nothing differs.
    pub(crate) fn round_trip(&self) {
        let before = tree(&self.path);
        let permissions = |path: &Path| path.metadata().unwrap().permissions();
        let own = permissions(&self.path);
        let sealed = self.seal();
        assert_eq!(tree(&self.path), before, "sealing changes nothing");
        self.remove(&sealed).unwrap();
        assert!(!self.path.exists() && !self.world.root().join(".trash").exists());
        self.restore().unwrap();
        assert_eq!(tree(&self.path), before, "everything comes back");
        assert_eq!(permissions(&self.path), own);
        let beside = self.world.root().read_dir().unwrap().count();
        assert_eq!(beside, 1, "nothing is left beside it");
    }
}

#[test]
fn a_folder_goes_with_its_seal_and_comes_back_whole() {
    let bench = FolderBench::new();
    bench.write("report.md", "# Findings\n");
    bench.write("deep/er/tool.sh", "#!/bin/sh\n");
    bench.write("deep/.gitignore", "*\n");
    bench.write("back\\slash", "odd\n");
    std::fs::create_dir_all(bench.path.join("empty/inside")).unwrap();
    symlink("../nowhere", bench.path.join("link")).unwrap();
    let mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(bench.path.join(name), permissions).unwrap();
    };
    mode("deep/er/tool.sh", 0o750);
    mode("empty", 0o700);
    mode("", 0o711);
    assert_eq!(bench.findings(), [FindingKind::Untracked]);
    bench.round_trip();
    let files = bench.world.git.seal_files(&bench.vault(), "one").unwrap();
    assert_eq!(files.len(), 5);
    let changes = bench.world.git.seal_diff(&bench.vault(), "one").unwrap();
    assert!(changes.iter().any(|change| change.path == "report.md"), "{changes:?}");
    let diff = bench.world.git.seal_file_diff(&bench.vault(), "one", "report.md").unwrap();
    assert!(diff.patch.contains("+# Findings"), "{diff:?}");
}

#[test]
fn what_a_tool_makes_again_is_left_out_and_work_under_such_a_name_is_not() {
    let bench = FolderBench::new();
    bench.write("node_modules/left/index.js", "x");
    bench.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    bench.write("target/debug/app", "x");
    bench.write("out/report.pdf", "the result of the chat");
    let sealed = bench.seal();
    let left: Vec<(&Path, LeftOutReason)> =
        sealed.seal().left_out.iter().map(|left| (left.path.as_path(), left.reason)).collect();
    let disposable = LeftOutReason::Disposable;
    assert_eq!(left, [(Path::new("node_modules"), disposable), (Path::new("target"), disposable)]);
    bench.remove(&sealed).unwrap();
    bench.restore().unwrap();
    assert!(bench.path.join("out/report.pdf").is_file() && !bench.path.join("node_modules").exists());
}

#[test]
fn the_worktrees_in_a_folder_stand_apart() {
    let bench = FolderBench::new();
    bench.write("notes.txt", "beside\n");
    bench.write("repo/.git", "gitdir: elsewhere\n");
    let apart = vec![OsString::from("repo")];
    let request = FolderSealRequest { apart: apart.clone(), ..bench.request() };
    let sealed = bench.world.git.seal_folder(&request).unwrap();
    assert_eq!(sealed.seal().file_count, 1);
    let target = FolderTarget { apart, ..bench.target() };
    let assessment = Remover::assess_folder(&target).unwrap();
    assert_eq!(assessment.findings.len(), 1);
    assert_eq!(assessment.findings[0].items, ["notes.txt"]);
    let remover = Remover::new(bench.world.git.clone());
    let refused = remover.remove_folder(&target, &sealed);
    assert!(
        matches!(&refused, Err(RemovalError::Changed { path }) if path == Path::new("repo")),
        "{refused:?}"
    );
    std::fs::rename(bench.path.join("repo"), bench.world.repo.home().join("gone")).unwrap();
    remover.remove_folder(&target, &sealed).unwrap();
    assert!(!bench.path.exists());
}

#[test]
fn a_change_after_the_seal_keeps_the_folder() {
    let changes: [fn(&FolderBench); 4] = [
        |bench| bench.write("new.txt", "late\n"),
        |bench| bench.write("report.md", "edited\n"),
        |bench| std::fs::create_dir(bench.path.join("late")).unwrap(),
        |bench| bench.write("node_modules/late.js", "x"),
    ];
    for change in changes {
        let bench = FolderBench::new();
        bench.write("report.md", "first\n");
        let sealed = bench.seal();
        change(&bench);
        let before = tree(&bench.path);
        let refused = bench.remove(&sealed);
        assert!(matches!(refused, Err(RemovalError::Changed { .. })), "{refused:?}");
        assert_eq!(tree(&bench.path), before);
    }
}

#[test]
fn a_repository_inside_is_judged_by_itself() {
    for inner in ["", "made"] {
        let bench = FolderBench::new();
        bench.write("report.md", "x\n");
        std::fs::create_dir_all(bench.path.join(inner)).unwrap();
        bench.world.repo.git_in(&bench.path.join(inner), &["init", "--quiet"]);
        assert!(bench.findings().contains(&FindingKind::NestedRepository), "{inner:?}");
        let sealed = bench.seal();
        assert_eq!(sealed.seal().unsealed_work().count(), 1, "{inner:?}");
        let refused = bench.remove(&sealed);
        assert!(matches!(refused, Err(RemovalError::AtStake(_))), "{refused:?}");
        assert!(bench.path.join(inner).join(".git").is_dir());
    }
}

#[test]
fn a_folder_that_is_none_of_the_workspaces_is_protected() {
    let bench = FolderBench::new();
    let outside = bench.world.repo.home().join("mine");
    std::fs::create_dir(&outside).unwrap();
    for path in [outside, bench.world.root(), bench.world.root().join("../mine")] {
        let target = FolderTarget { path: path.clone(), ..bench.target() };
        assert!(Remover::assess_folder(&target).is_err(), "{}", path.display());
    }
    let link = bench.world.root().join("link");
    symlink(&bench.path, &link).unwrap();
    let assessment = Remover::assess_folder(&FolderTarget { path: link, ..bench.target() }).unwrap();
    assert!(matches!(assessment.presence, Presence::Occupied { .. }), "{assessment:?}");
}

#[test]
fn what_took_the_place_is_kept() {
    let bench = FolderBench::new();
    bench.write("report.md", "x\n");
    let sealed = bench.seal();
    bench.remove(&sealed).unwrap();
    bench.write("other.txt", "mine\n");
    let refused = bench.restore();
    assert!(matches!(refused, Err(RestoreError::PathTaken { .. })), "{refused:?}");
    assert_eq!(tree(&bench.path).len(), 1);
    std::fs::remove_file(bench.path.join("other.txt")).unwrap();
    bench.restore().unwrap();
    assert!(bench.path.join("report.md").is_file(), "an empty folder is as good as none");
    assert!(bench.world.git.is_restored_folder(&bench.vault(), "one", &bench.path).unwrap());
}

#[test]
fn a_seal_is_restored_only_as_what_it_is_of() {
    let bench = FolderBench::new();
    bench.write("report.md", "x\n");
    bench.seal();
    let path = bench.world.root().join("other/repo");
    let request =
        RestoreRequest { repo: bench.vault(), id: "one".into(), path, branch: RestoreBranch::Sealed };
    let refused = bench.world.git.restore_seal(&request);
    assert!(matches!(refused, Err(RestoreError::OtherKind { .. })), "{refused:?}");
}

#[test]
fn a_purged_seal_gives_its_room_back() {
    let bench = FolderBench::new();
    let noise: Vec<u8> =
        (0..200_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    bench.write("noise.bin", noise);
    let sealed = bench.seal();
    let size =
        |bench: &FolderBench| -> usize { tree(&bench.vault()).values().map(|(_, bytes)| bytes.len()).sum() };
    let full = size(&bench);
    let remover = Remover::new(bench.world.git.clone());
    assert!(remover.purge_seal(&bench.vault(), "one", &sealed.seal().commit).unwrap());
    remover.compact_vault(&bench.vault()).unwrap();
    assert!(size(&bench) < full / 4, "{} of {full}", size(&bench));
    assert!(matches!(bench.world.git.read_seal(&bench.vault(), "one"), Err(SealError::Unknown { .. })));
}

#[test]
fn too_much_is_not_left_out_in_silence() {
    let bench = FolderBench::new();
    bench.write("large.bin", vec![7; 3_000]);
    let mut request = bench.request();
    request.limits.ignored_file_bytes = 2_000;
    let sealed = bench.world.git.seal_folder(&request).unwrap();
    assert_eq!(sealed.seal().unsealed_work().count(), 1);
    let refused = bench.remove(&sealed);
    assert!(matches!(refused, Err(RemovalError::AtStake(_))), "{refused:?}");
}

/// Few names, so that paths meet.
fn some_path() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec!["a", "b c", "-d", ".env", "e\\f", "out", "%20", ".gitignore"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.into_iter().collect())
}

#[derive(Debug, Clone)]
enum Step {
    Write(PathBuf, Vec<u8>, u32),
    Link(PathBuf, PathBuf),
    Directory(PathBuf, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let content = prop_oneof![
        Just(Vec::new()),
        Just(b"one\r\ntwo\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..200),
    ];
    let mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o444, 0o700]);
    prop_oneof![
        6 => (some_path(), content, mode).prop_map(|(path, content, mode)| Step::Write(path, content, mode)),
        1 => (some_path(), some_path()).prop_map(|(path, target)| Step::Link(path, target)),
        2 => (some_path(), prop::sample::select(vec![0o755, 0o700, 0o750]))
            .prop_map(|(path, mode)| Step::Directory(path, mode)),
    ]
}

/// Does a step where it is possible.
fn apply(top: &Path, step: Step) {
    let set = |path: &Path, mode| {
        _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    };
    match step {
        Step::Write(path, content, mode) => {
            let path = top.join(path);
            _ = std::fs::create_dir_all(path.parent().unwrap());
            if std::fs::write(&path, content).is_ok() {
                set(&path, mode);
            }
        }
        Step::Link(path, target) => {
            let path = top.join(path);
            _ = std::fs::create_dir_all(path.parent().unwrap());
            _ = symlink(target, path);
        }
        Step::Directory(path, mode) => {
            let path = top.join(path);
            if std::fs::create_dir_all(&path).is_ok() {
                set(&path, mode);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_folder_comes_back_whole(steps in prop::collection::vec(step(), 0..40)) {
        let bench = FolderBench::new();
        for step in steps {
            apply(&bench.path, step);
        }
        bench.round_trip();
    }
}
