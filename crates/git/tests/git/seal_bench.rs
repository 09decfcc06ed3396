//! A worktree to be sealed, and everything about it that a restoration must bring back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use freehold_git::{
    GroundUse, Prepared, RestoreBranch, RestoreError, RestoreRequest, Restored, Seal, SealError, SealRequest,
};
use freehold_testkit::repo::{tree, write_file};

use crate::pool_bench::{idle_plan, idle_target};
use crate::world::World;

/// When the seals of tests are taken.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) struct SealBench {
    pub(crate) world: World,
    pub(crate) path: PathBuf,
}

/// Everything that must come back, in a form that shows where it differs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// Mode and content of every file, link and directory.
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    /// What Git says about it.
    said: Vec<String>,
    index: Option<Vec<u8>>,
    /// The files of the registration that are not its own.
    state: BTreeMap<PathBuf, Vec<u8>>,
}

impl SealBench {
    pub(crate) fn new() -> Self {
        Self::of(World::new())
    }

    pub(crate) fn of(world: World) -> Self {
        let path = world.add("a").path;
        Self { world, path }
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write_file(&self.path.join(name), content);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.world.repo.git_in(&self.path, arguments)
    }

    /// Runs git, whatever it answers.
    pub(crate) fn try_git(&self, arguments: &[&str]) {
        self.world.repo.try_git_in(&self.path, arguments);
    }

    pub(crate) fn request(&self) -> SealRequest {
        SealRequest::new(self.world.repo.path(), &self.path, "one", NOW)
    }

    pub(crate) fn seal(&self) -> Seal {
        self.try_seal().unwrap()
    }

    pub(crate) fn try_seal(&self) -> Result<Seal, SealError> {
        self.world.git.seal(&self.request())
    }

    pub(crate) fn restore_request(&self) -> RestoreRequest {
        RestoreRequest {
            repo: self.world.repo.path().to_owned(),
            id: "one".to_owned(),
            path: self.path.clone(),
            branch: RestoreBranch::Sealed,
        }
    }

    pub(crate) fn restore(&self) -> Restored {
        self.try_restore().unwrap()
    }

    pub(crate) fn try_restore(&self) -> Result<Restored, RestoreError> {
        self.world.git.restore_seal(&self.restore_request())
    }

    /// Takes the worktree away entirely, and with it the branch, its registration and its reflog.
    pub(crate) fn destroy(&self) {
        let branch = self.world.repo.try_git_in(&self.path, &["symbolic-ref", "--short", "HEAD"]).stdout;
        let branch = String::from_utf8(branch).unwrap();
        self.detach_directory();
        if !branch.trim().is_empty() {
            self.world.repo.try_git_in(self.world.repo.path(), &["branch", "-D", branch.trim()]);
        }
        let pruned =
            ["-c", "gc.pruneExpire=now", "-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now"];
        self.world.repo.git(&pruned);
    }

    /// Takes only the directory and the registration away.
    pub(crate) fn detach_directory(&self) {
        let away = self.world.repo.home().join("away");
        let number = away.read_dir().map_or(0, Iterator::count);
        std::fs::create_dir_all(&away).unwrap();
        std::fs::rename(&self.path, away.join(number.to_string())).unwrap();
        self.world.repo.git(&["worktree", "prune", "--expire=now"]);
    }

    pub(crate) fn whole(&self) -> Whole {
        self.whole_at(&self.path)
    }

    pub(crate) fn whole_at(&self, path: &Path) -> Whole {
        let registration = PathBuf::from(self.world.repo.git_in(path, &["rev-parse", "--absolute-git-dir"]));
        // First, as Git may write the index when it is asked.
        let index = std::fs::read(registration.join("index")).ok();
        let mut state = BTreeMap::new();
        for (name, (_, content)) in tree(&registration) {
            let own = ["HEAD", "commondir", "gitdir", "index", "reftable", "freehold-restored-from"];
            if !own.iter().any(|own| name.starts_with(own)) && registration.join(&name).is_file() {
                state.insert(name, content);
            }
        }
        let ask = |arguments: &[&str]| {
            let arguments = [&["--no-optional-locks", "-c", "core.quotePath=true"], arguments].concat();
            let output = self.world.repo.try_git_in(path, &arguments);
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let said = vec![
            ask(&["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"]),
            ask(&["ls-files", "-s", "-v"]),
            ask(&["ls-files", "-v", "-t", "--debug"]).lines().filter(|line| line.contains("flags")).collect(),
            ask(&["symbolic-ref", "HEAD"]),
            ask(&["rev-parse", "HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]),
            ask(&["for-each-ref", "refs/bisect", "refs/worktree"]),
            ask(&["diff", "--cached", "--raw"]),
            ask(&["diff", "--raw"]),
        ];
        let mut files = tree(path);
        files.remove(Path::new(".git"));
        Whole { files, said, index, state }
    }

    /// Seals, destroys and restores, and demands that nothing differs.
    pub(crate) fn round_trip(&self) -> (Seal, Restored) {
        // Git writes what it learns of files into the index while it compares, once.
        self.try_git(&["diff", "--raw"]);
        let before = self.whole();
        let seal = self.seal();
        assert_same(&self.whole(), &before, "sealing changes nothing");
        assert_eq!(self.world.git.read_seal(self.world.repo.path(), "one").unwrap(), seal);
        self.destroy();
        let restored = self.restore();
        assert_same(&self.whole(), &before, "everything comes back");
        self.world.repo.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(self.left_beside(), Vec::<String>::new());
        self.restore_on_ground(&before);
        (seal, restored)
    }

    /// Destroys once more and restores on an idle worktree, which must make no difference.
    fn restore_on_ground(&self, before: &Whole) {
        self.destroy();
        let prepared = self.world.git.prepare_idle(&idle_plan(&self.world, "ground", &self.world.head()));
        // What filters make of files is none of a restoration's business, but such a repository has no pool.
        let Prepared::Ready(idle) = prepared.unwrap() else {
            self.restore();
            return;
        };
        let (restored, used) = self.world.git.restore_seal_on(&idle, &self.restore_request()).unwrap();
        assert_eq!(used, GroundUse::Used);
        assert_eq!(restored.path, self.path);
        assert_same(&self.whole(), before, "everything comes back on a ground");
        self.world.repo.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(self.left_beside(), Vec::<String>::new());
        // What remains of the idle worktree is given back without a question.
        let remover = freehold_git::Remover::new(self.world.git.clone());
        remover.remove(&idle_target(&self.world, &idle)).unwrap();
        assert_eq!(self.world.registrations().len(), 1);
    }

    /// What lies beside the worktree.
    pub(crate) fn left_beside(&self) -> Vec<String> {
        let entries = self.path.parent().unwrap().read_dir().unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "repo").collect()
    }
}

/// Compares part by part, so that a difference can be read.
pub(crate) fn assert_same(now: &Whole, before: &Whole, what: &str) {
    for (path, entry) in &before.files {
        assert_eq!(now.files.get(path), Some(entry), "{what}: {}", path.display());
    }
    let names = |whole: &Whole| whole.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(now), names(before), "{what}");
    assert_eq!(now.said, before.said, "{what}");
    assert_eq!(now.state, before.state, "{what}");
    assert!(now.index == before.index, "{what}: the index differs");
}
