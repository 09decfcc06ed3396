//! What must be true after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger};
use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus, WorktreeOrigin};
use freehold_domain::id::TaskId;
use freehold_domain::pool::IdleWorktree;
use freehold_domain::seal::SealKind;
use freehold_testkit::repo::TempRepo;

use crate::person::Changed;
use crate::stage::{Records, Stage, TaskRecord};

/// What a step may have changed, beside what a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touched {
    /// No file of a workspace.
    Nothing,
    /// No file, no ref and no job.
    NothingAtAll,
    /// What an agent of this task does.
    ByAgent(TaskId),
    /// The task may have gone for good.
    Purged(TaskId),
}

type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// What a workspace holds: its files, its index and its commit.
#[derive(Clone, PartialEq, Eq)]
struct Content {
    files: Tree,
    said: Vec<String>,
}

/// One worktree of a task.
#[derive(Clone)]
pub(crate) struct WorktreePlace {
    /// Which of the repositories it belongs to.
    pub(crate) repository: usize,
    /// Where it is, or was last.
    pub(crate) at: PathBuf,
    /// The branch that was made for it.
    pub(crate) branch: String,
    /// Where a person moved it.
    pub(crate) away: Option<PathBuf>,
    origin: Option<WorktreeOrigin>,
    /// What it holds; none while it is not on disk as the task's workspace.
    on_disk: Option<Content>,
    /// What it held when it was given back last.
    sealed: Option<Content>,
    /// Whether its newest content is in a seal only.
    is_given_back: bool,
    /// Whether a person took it away or put something else there.
    is_disturbed: bool,
}

/// What was, and what must therefore be.
#[derive(Default)]
pub(crate) struct Ledger {
    places: BTreeMap<(TaskId, usize), WorktreePlace>,
    /// What persons put somewhere.
    persons: BTreeMap<PathBuf, Tree>,
    /// What agents and persons put beside the worktrees of a task, by name.
    loose: BTreeMap<(TaskId, OsString), Vec<u8>>,
    mains: Vec<Main>,
    refs: Vec<String>,
}

/// What a repository's main checkout and its shared state are.
#[derive(PartialEq, Eq)]
struct Main {
    files: Tree,
    head: Vec<u8>,
    index: Vec<u8>,
    config: Vec<u8>,
    refs: String,
}

impl Ledger {
    pub(crate) fn new(repos: &[TempRepo]) -> Self {
        let refs = repos.iter().map(all_refs).collect();
        Self { mains: repos.iter().map(main_of).collect(), refs, ..Self::default() }
    }

    /// One of the worktrees of a task.
    pub(crate) fn place(&self, task: &TaskId, worktree: usize) -> Option<WorktreePlace> {
        self.key(task, worktree).and_then(|key| self.places.get(&key).cloned())
    }

    fn key(&self, task: &TaskId, worktree: usize) -> Option<(TaskId, usize)> {
        let keys: Vec<_> = self.places.keys().filter(|(owner, _)| owner == task).collect();
        keys.get(worktree % keys.len().max(1)).map(|key| (*key).clone())
    }

    /// Writes down what a person did.
    pub(crate) fn note(&mut self, task: &TaskId, worktree: usize, changed: Changed) {
        let Some(place) = self.key(task, worktree).and_then(|key| self.places.get_mut(&key)) else { return };
        let at = place.at.clone();
        match changed {
            Changed::Nothing => {}
            Changed::Content => place.on_disk = place.on_disk.is_some().then(|| content(&at)),
            Changed::Gone => (place.on_disk, place.is_disturbed) = (None, true),
            Changed::Moved(away) | Changed::Replaced(away) => {
                if let Some(content) = place.on_disk.take() {
                    self.persons.insert(away.clone(), content.files);
                } else {
                    self.persons.insert(away.clone(), files_of(&away));
                }
                if at.symlink_metadata().is_ok() {
                    self.persons.insert(at.clone(), files_of(&at));
                }
                (place.away, place.is_disturbed) = (Some(away), true);
            }
            Changed::Taken => {
                self.persons.insert(at.clone(), files_of(&at));
                place.is_disturbed = true;
            }
            Changed::Back(from) => {
                self.persons.remove(&from);
                self.persons.insert(at.clone(), files_of(&at));
                (place.away, place.is_disturbed) = (None, true);
            }
        }
    }

    /// Compares everything with what it must be, and writes down what it is now.
    pub(crate) fn checked(
        mut self,
        stage: &Stage,
        before: &Records,
        now: &Records,
        touched: &Touched,
    ) -> Self {
        let mains: Vec<Main> = stage.repos.iter().map(main_of).collect();
        for ((repo, was), is) in stage.repos.iter().zip(&self.mains).zip(&mains) {
            assert!(was == is, "the main checkout {} changed", repo.path().display());
        }
        self.release_persons_places(now);
        for (place, was) in &self.persons {
            assert_same(was, &files_of(place), &format!("what a person put at {}", place.display()));
        }
        let refs: Vec<String> = stage.repos.iter().map(all_refs).collect();
        if *touched == Touched::NothingAtAll {
            assert_eq!(refs, self.refs, "an operation on a session changed refs");
            assert_eq!(now.jobs, before.jobs, "an operation on a session changed jobs");
        }
        self.refs = refs;
        for (id, record) in &now.tasks {
            for (number, repo) in record.repos.iter().enumerate() {
                self.check_worktree((id, number), record, repo, now, touched);
            }
        }
        let (gone, tasks): (BTreeSet<&TaskId>, _) =
            (before.tasks.keys().filter(|id| !now.tasks.contains_key(*id)).collect(), &now.tasks);
        for id in gone {
            let was_purged = now.jobs.iter().any(|job| {
                job.task_id == *id
                    && job.trigger == CleanupTrigger::TrashPurge
                    && job.state == CleanupState::Succeeded
            });
            assert!(was_purged, "task {id} is gone and was not purged");
        }
        self.places.retain(|(id, _), _| tasks.contains_key(id));
        self.check_loose(touched, now);
        self.check_jobs(stage, before, now);
        self.check_seals(stage, now);
        self.check_folders(stage, now);
        self
    }

    /// A workspace that a person moved back is the task's again when its identity is as it was.
    fn release_persons_places(&mut self, now: &Records) {
        for ((id, number), place) in &mut self.places {
            let row = now.tasks.get(id).and_then(|record| record.repos.get(*number));
            let is_the_tasks = row.is_some_and(|row| {
                row.status != EnvironmentRepoStatus::Deleted
                    && Path::new(&row.worktree_path) == place.at
                    && row.origin.as_ref().is_some_and(|origin| is_at(origin, &place.at))
            });
            if is_the_tasks && self.persons.contains_key(&place.at) {
                self.persons.remove(&place.at);
                place.on_disk = Some(content(&place.at));
                place.is_disturbed = false;
            }
        }
    }

    fn check_worktree(
        &mut self,
        (id, number): (&TaskId, usize),
        record: &TaskRecord,
        repo: &EnvironmentRepo,
        now: &Records,
        touched: &Touched,
    ) {
        let at = PathBuf::from(&repo.worktree_path);
        let subject = format!("worktree {} of task {:?}", at.display(), record.task.title);
        let is_owned = repo.status != EnvironmentRepoStatus::Deleted;
        let found =
            (is_owned && repo.origin.as_ref().is_some_and(|origin| is_at(origin, &at))).then(|| content(&at));
        let repositories = self.mains.len();
        let place = self.places.entry((id.clone(), number)).or_insert_with(|| WorktreePlace {
            repository: number.min(repositories - 1),
            at: at.clone(),
            branch: repo.worktree_branch.clone(),
            away: None,
            origin: repo.origin.clone(),
            on_disk: found.clone(),
            sealed: None,
            is_given_back: false,
            is_disturbed: false,
        });
        let is_same = place.origin == repo.origin;
        if place.at != at {
            // The person's things stay where they are; the workspace is elsewhere now.
            (place.away, place.is_disturbed) = (None, false);
        }
        match (place.on_disk.take(), found) {
            (Some(was), Some(is)) if is_same => {
                if *touched != Touched::ByAgent(id.clone()) {
                    assert_same(&was.files, &is.files, &subject);
                    assert_eq!(was.said, is.said, "{subject}");
                }
                place.on_disk = Some(is);
            }
            (Some(was), Some(is)) => {
                assert_brought_back(&was, &is, &subject);
                place.on_disk = Some(is);
            }
            (Some(was), None) => {
                let has_seal =
                    record.seals.iter().any(|seal| seal.environment_repo_id.as_ref() == Some(&repo.id));
                assert!(has_seal, "{subject} is gone and there is no seal: {now:?}");
                assert!(!record.task.is_open(), "{subject} is gone although its task is open: {now:?}");
                assert!(place.at.symlink_metadata().is_err(), "{subject} is given back and still there");
                (place.sealed, place.is_given_back) = (Some(was), true);
            }
            (None, Some(is)) => {
                let was = place.sealed.clone().unwrap_or_else(|| panic!("{subject} appeared: {now:?}"));
                assert_brought_back(&was, &is, &subject);
                (place.on_disk, place.is_disturbed, place.is_given_back) = (Some(is), false, false);
            }
            (None, None) => {}
        }
        let is_lost = record.task.is_open() && place.is_given_back && place.on_disk.is_none();
        assert!(!is_lost, "{subject} was not brought back although its task is open: {now:?}");
        let is_stray = !record.task.is_open() && place.on_disk.is_some() && !waits_for_a_job(now, id);
        assert!(!is_stray, "{subject} is there, its task is closed and no job waits: {now:?}");
        let is_nowhere = record.task.deleted_at.is_some() && record.task.trashed_at.is_none();
        assert!(
            !is_nowhere || waits_for_a_job(now, id),
            "{subject}: deleted, not in the trash, no job: {now:?}"
        );
        (place.at, place.origin) = (at, repo.origin.clone());
        place.branch.clone_from(&repo.worktree_branch);
    }

    /// What lies beside the worktrees of a task is there, byte for byte, as long as the task is open, and in a seal
    /// once it is gone.
    fn check_loose(&mut self, touched: &Touched, now: &Records) {
        let mut loose = BTreeMap::new();
        for ((task, _), place) in &self.places {
            let folder = place.at.parent().filter(|folder| folder.is_dir());
            for path in folder.map(entries).unwrap_or_default() {
                let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
                if let (true, Ok(bytes)) = (is_file, std::fs::read(&path)) {
                    loose.insert((task.clone(), path.file_name().unwrap().to_owned()), bytes);
                }
            }
        }
        for ((task, name), was) in &self.loose {
            let is_the_agent_s = *touched == Touched::ByAgent(task.clone());
            let subject = format!("{} of {task}", name.display());
            match (loose.get(&(task.clone(), name.clone())), now.tasks.get(task)) {
                (Some(is), _) => assert!(is_the_agent_s || is == was, "{subject} changed"),
                (None, Some(record)) => {
                    assert!(!record.task.is_open(), "{subject} is gone and its task is open: {now:?}");
                    let is_sealed = record.seals.iter().any(|seal| seal.kind == SealKind::Folder);
                    assert!(is_sealed, "{subject} is gone and there is no seal of it: {now:?}");
                }
                (None, None) => {}
            }
        }
        self.loose.retain(|(task, _), _| now.tasks.contains_key(task));
        self.loose.extend(loose);
    }

    /// What belongs to a node that is down is not touched, and what is at stake is said.
    fn check_jobs(&self, stage: &Stage, before: &Records, now: &Records) {
        for job in &now.jobs {
            let node = job.resources().and_then(|resources| resources.node_id.clone());
            let is_down =
                stage.servers.iter().any(|server| Some(&server.node) == node.as_ref() && !server.is_up());
            let earlier = before.jobs.iter().find(|earlier| earlier.id == job.id);
            let claims = job.fence - earlier.map_or(0, |earlier| earlier.fence);
            let was_up = earlier.is_none_or(|earlier| earlier.state == CleanupState::Running) || !is_down;
            assert!(claims == 0 || was_up || !is_down, "a job of a node that is down was claimed: {job:#?}");
            let server = stage.servers.iter().find(|server| Some(&server.node) == node.as_ref());
            let worktrees =
                job.resources().map(|resources| resources.worktrees.as_slice()).unwrap_or_default();
            for worktree in worktrees {
                let is_there =
                    server.is_some_and(|server| Path::new(&worktree.path).starts_with(server.root()));
                assert!(is_there, "a job is about {}, which its node does not hold: {job:#?}", worktree.path);
            }
            if job.state == CleanupState::NeedsDecision {
                assert!(!job.stakes.is_empty(), "nothing is said to be at stake: {job:#?}");
            }
            assert_ne!(job.state, CleanupState::Failed, "a job was given up: {job:#?}");
        }
    }

    /// Every seal that is recorded is in its repository.
    fn check_seals(&self, stage: &Stage, now: &Records) {
        for seal in now.tasks.values().flat_map(|record| &record.seals) {
            let repo = stage.repos.iter().position(|repo| repo.path() == Path::new(&seal.repository_path));
            let refs = match repo {
                Some(repo) => self.refs[repo].clone(),
                None => refs_in(&stage.repos[0], Path::new(&seal.repository_path)),
            };
            let line = format!("{} refs/freehold/seals/{}", seal.commit, seal.id);
            assert!(refs.contains(&line), "seal {} is recorded and not there", seal.id);
        }
    }

    /// Whatever lies in the managed folders belongs to somebody, and Git knows of nothing else.
    fn check_folders(&self, stage: &Stage, now: &Records) {
        let mut claimed: BTreeSet<PathBuf> = self.persons.keys().cloned().collect();
        for place in self.places.values().filter(|place| place.on_disk.is_some()) {
            claimed.insert(place.at.clone());
        }
        let unfinished = now.jobs.iter().filter(|job| !job.state.is_final());
        let waiting = unfinished.filter(|job| job.trigger == CleanupTrigger::FailedCreation);
        for worktree in waiting.filter_map(CleanupJob::resources).flat_map(|resources| &resources.worktrees) {
            claimed.insert(PathBuf::from(&worktree.path));
        }
        for creation in &now.creations {
            claimed.extend(creation.worktrees.iter().map(|worktree| PathBuf::from(&worktree.path)));
        }
        let is_down = stage.servers.iter().any(|server| !server.is_up());
        self.check_idle(stage, &now.idle);
        let is_at_rest = !is_down && now.jobs.iter().all(|job| job.state.is_final());
        for root in stage.servers.iter().map(crate::server::Server::root) {
            if is_at_rest {
                wait_until_reaped(&root);
            }
            let is_task_s = |folder: &PathBuf| !folder.ends_with(".idle") && !folder.ends_with(".trash");
            for folder in entries(&root).into_iter().filter(is_task_s) {
                let inner =
                    if folder.is_dir() && !folder.is_symlink() { entries(&folder) } else { Vec::new() };
                let is_empty = inner.is_empty();
                for place in inner {
                    let is_claimed = claimed.contains(&place) || is_down || self.is_loose(&place, now);
                    assert!(is_claimed, "{} belongs to nobody: {now:?}", place.display());
                }
                let was_emptied =
                    self.places.values().any(|place| place.is_disturbed && place.at.starts_with(&folder));
                assert!(!is_empty || is_down || was_emptied, "{} is left empty", folder.display());
            }
        }
    }

    /// Whether something lies beside the worktrees of a task that is open, or whose folder a job gives back.
    fn is_loose(&self, path: &Path, now: &Records) -> bool {
        let mut owners = self.places.iter().filter(|(_, place)| place.at.parent() == path.parent());
        owners.any(|((task, _), _)| {
            let name = path.file_name().unwrap_or_default().to_owned();
            let is_known = self.loose.contains_key(&(task.clone(), name));
            let is_open = now.tasks.get(task).is_some_and(|record| record.task.is_open());
            is_known && (is_open || waits_for_a_job(now, task))
        })
    }

    /// Every idle worktree has a row; none is a task's.
    fn check_idle(&self, stage: &Stage, rows: &[IdleWorktree]) {
        for server in &stage.servers {
            let folder = server.root().join(".idle");
            // Read before the rows are read once more, as the pool fills while a history goes on.
            let found = if folder.is_dir() { entries(&folder) } else { Vec::new() };
            let is_listed = |rows: &[IdleWorktree], place: &Path| {
                rows.iter().any(|row| Path::new(&row.path) == place && row.node_id == server.node)
            };
            for place in found {
                let is_nobodys = !is_listed(rows, &place) && !is_listed(&stage.records().idle, &place);
                assert!(!is_nobodys || place.symlink_metadata().is_err(), "{} has no row", place.display());
            }
        }
        for place in self.places.values().filter(|place| place.on_disk.is_some()) {
            let is_idle = rows.iter().any(|row| Path::new(&row.path) == place.at);
            assert!(!is_idle, "{} is a task's and idle", place.at.display());
        }
    }

    /// At the end all that was given back is back.
    pub(crate) fn expect_nothing_sealed_only(&self) {
        for place in self.places.values() {
            assert!(!place.is_given_back, "{} was not brought back", place.at.display());
        }
    }
}

fn waits_for_a_job(now: &Records, id: &TaskId) -> bool {
    now.jobs.iter().any(|job| job.task_id == *id && job.trigger.is_barrier() && !job.state.is_final())
}

fn is_at(origin: &WorktreeOrigin, place: &Path) -> bool {
    place
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.dev() == origin.device && found.ino() == origin.inode)
        && place.join(".git").is_file()
}

/// What was given back is unlinked when nothing else is to be done, and its folder goes with the last of it.
fn wait_until_reaped(root: &Path) {
    let (trash, begun) = (root.join(".trash"), Instant::now());
    while trash.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "something is left in {}", trash.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Repositories inside a workspace are given up by name or stop a job; they are in no seal.
fn without_nested(files: &Tree) -> Tree {
    let is_nested = |path: &Path| path.to_string_lossy().starts_with("nested-");
    files
        .iter()
        .filter(|(path, _)| !is_nested(path))
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

fn assert_brought_back(was: &Content, is: &Content, subject: &str) {
    assert_same(&without_nested(&was.files), &without_nested(&is.files), subject);
    assert_eq!(was.said, is.said, "{subject}");
}

fn assert_same(was: &Tree, is: &Tree, subject: &str) {
    if was == is {
        return;
    }
    let differs = |(path, file): &(&PathBuf, &(u32, Vec<u8>))| is.get(*path) != Some(*file);
    let lost: Vec<_> = was.iter().filter(differs).map(|(path, _)| path).collect();
    let new: Vec<_> = is.keys().filter(|path| !was.contains_key(*path)).collect();
    panic!("{subject} changed; lost or other: {lost:?}; new: {new:?}");
}

fn content(top: &Path) -> Content {
    static OUTSIDE: OnceLock<TempRepo> = OnceLock::new();
    let repo = OUTSIDE.get_or_init(TempRepo::without_commit);
    let said = [&["ls-files", "-s"][..], &["rev-parse", "HEAD"]].map(|arguments| {
        let output = repo.try_git_in(top, arguments);
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    Content { files: files_of(top), said: said.to_vec() }
}

/// Every file, link and directory with its mode and content, but for the link to a registration.
fn files_of(top: &Path) -> Tree {
    let mut files = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(place) = open.pop() {
        let Ok(metadata) = place.symlink_metadata() else { continue };
        let content = if metadata.is_dir() {
            open.extend(entries(&place));
            Vec::new()
        } else if metadata.is_symlink() {
            place.read_link().unwrap().into_os_string().into_encoded_bytes()
        } else {
            std::fs::read(&place).unwrap()
        };
        files.insert(place.strip_prefix(top).unwrap().to_owned(), (metadata.mode(), content));
    }
    if top.join(".git").is_file() {
        files.remove(Path::new(".git"));
    }
    files
}

fn all_refs(repo: &TempRepo) -> String {
    refs_in(repo, repo.path())
}

/// The refs of any repository, asked with the Git of this one.
fn refs_in(repo: &TempRepo, folder: &Path) -> String {
    repo.git_in(folder, &["for-each-ref", "--format=%(objectname) %(refname)"])
}

fn main_of(repo: &TempRepo) -> Main {
    let git_file = |name: &str| std::fs::read(repo.path().join(".git").join(name)).unwrap();
    let mut files = files_of(repo.path());
    files.retain(|path, _| !path.starts_with(".git"));
    let is_a_persons = |line: &&str| !line.contains(" refs/freehold/") && !line.contains(" refs/heads/");
    let refs: Vec<String> = all_refs(repo).lines().filter(is_a_persons).map(str::to_owned).collect();
    let main = repo.git(&["rev-parse", "refs/heads/main"]);
    Main {
        files,
        head: git_file("HEAD"),
        index: git_file("index"),
        config: git_file("config"),
        refs: format!("{main}\n{}", refs.join("\n")),
    }
}
