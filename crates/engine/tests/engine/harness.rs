//! A whole Freehold in a temporary folder: a repository, a database, an engine and the demo agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::clock::Clock;
use freehold_domain::id::{NodeId, RepositoryId, SessionId, TaskId};
use freehold_domain::session::SessionState;
use freehold_engine::cleanup::{CloseAction, CloseTask};
use freehold_engine::repository::AddRepository;
use freehold_engine::system::{RandomIds, SystemClock};
use freehold_engine::task::{NewTask, NewTaskRepository, TaskView};
use freehold_engine::{Engine, EngineOptions};
use freehold_git::Git;
use freehold_store::{DatabaseUrl, Store, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::repo::{TempRepo, tree};

/// How long anything may take before a test gives up.
const LIMIT: Duration = Duration::from_secs(60);

/// Where everything of one test is.
pub(crate) struct World {
    pub(crate) home: PathBuf,
    pub(crate) repo: TempRepo,
    pub(crate) url: String,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(database: &TestDatabase) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = TempRepo::new();
        repo.write("README.md", "# Sample\n");
        repo.write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n");
        repo.write("src/main.rs", "fn main() {}\n");
        repo.commit("first");
        let home = folder.path().canonicalize().unwrap();
        Self { home, repo, url: database.url().to_owned(), _folder: folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.join("workspaces")
    }

    /// Starts an engine that keeps so many idle worktrees per repository.
    pub(crate) async fn start_with_pool(&self, size: u32) -> Engine {
        start_engine_with(&self.home, &self.url, |options| options.idle_per_repository = size).await
    }

    pub(crate) async fn start(&self) -> Engine {
        start_engine(&self.home, &self.url).await
    }

    /// The directories of tasks that are on disk.
    pub(crate) fn task_directories(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.root()) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| !path.ends_with(".trash")).collect()
    }

    /// The worktrees that Git lists besides the main checkout.
    pub(crate) fn worktrees(&self) -> Vec<String> {
        // Git fails where a registration is just being written by another.
        let listed = (0..10).find_map(|_| {
            let output = self.repo.try_git_in(self.repo.path(), &["worktree", "list", "--porcelain"]);
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        });
        let text = listed.unwrap();
        text.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1).map(str::to_owned).collect()
    }

    /// The branches that Freehold made.
    pub(crate) fn branches(&self) -> Vec<String> {
        let text = self.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/freehold"]);
        text.lines().map(str::to_owned).collect()
    }
}

/// Runs a test on SQLite and on PostgreSQL, each with a world of its own.
pub(crate) fn on_both_engines(test: impl AsyncFn(&World)) {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        run(&database, &test);
    }
}

/// Runs a test that does not depend on the database.
pub(crate) fn on_sqlite(test: impl AsyncFn(&World)) {
    run(&TestDatabase::sqlite(), &test);
}

/// The database is made and dropped outside of the runtime, because its client blocks.
pub(crate) fn run(database: &TestDatabase, test: &impl AsyncFn(&World)) {
    let world = World::new(database);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(test(&world));
}

/// Starts an engine as a server does, on blocking threads where the store wants them.
pub(crate) async fn start_engine(home: &Path, url: &str) -> Engine {
    start_engine_with(home, url, |_| {}).await
}

/// As [`start_engine`], with other options.
pub(crate) async fn start_engine_with(
    home: &Path,
    url: &str,
    change: impl FnOnce(&mut EngineOptions),
) -> Engine {
    start_engine_on(home, url, Git::open(&home.join("scratch")).unwrap(), change).await
}

/// As [`start_engine_with`], with a git program that the test prepared.
pub(crate) async fn start_engine_on(
    home: &Path,
    url: &str,
    git: Git,
    change: impl FnOnce(&mut EngineOptions),
) -> Engine {
    start_engine_at(home, url, git, Arc::new(SystemClock), change).await
}

/// As [`start_engine_on`], with a clock of the test's.
pub(crate) async fn start_engine_at(
    home: &Path,
    url: &str,
    git: Git,
    clock: Arc<dyn Clock>,
    change: impl FnOnce(&mut EngineOptions),
) -> Engine {
    let url = DatabaseUrl::parse(url).unwrap();
    let store = tokio::task::spawn_blocking(move || Store::open(&url, StoreOptions::default()));
    let store = store.await.unwrap().unwrap();
    let mut options = EngineOptions {
        node_id: NodeId::new("test-node").unwrap(),
        hostname: "test".into(),
        workspaces_root: home.join("workspaces"),
        folder_seals: home.join("folder-seals"),
        demo_agent: (demo_agent(), Vec::new()),
        agent_handshake_ms: 20_000,
        agent_stop_grace_ms: 500,
        retention_ms: freehold_domain::seal::RETENTION_MS,
        idle_per_repository: 0,
        automation_runs: freehold_domain::task::AUTOMATION_RUNS_KEPT,
    };
    change(&mut options);
    Engine::start(store, git, clock, Arc::new(RandomIds), options).await.unwrap()
}

/// The example binary of the agent crate, which Cargo builds beside the tests.
fn demo_agent() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples/demo-agent");
    assert!(program.exists(), "{} is missing: cargo build -p freehold-agent --examples", program.display());
    program
}

pub(crate) async fn add_repository(engine: &Engine, world: &World) -> RepositoryId {
    let request = AddRepository { path: world.repo.path().to_owned(), ..AddRepository::default() };
    engine.add_repository(request).await.unwrap().repository.id
}

pub(crate) fn new_task(repository_id: &RepositoryId, title: &str, prompt: &str) -> NewTask {
    NewTask {
        title: Some(title.into()),
        prompt: prompt.into(),
        repositories: vec![NewTaskRepository::new(repository_id.clone())],
        start: true,
        ..NewTask::default()
    }
}

/// Waits until a look at the task satisfies a condition.
pub(crate) async fn wait_for_task(
    engine: &Engine,
    id: &TaskId,
    what: &str,
    is_reached: impl Fn(&TaskView) -> bool,
) -> TaskView {
    let begun = Instant::now();
    loop {
        let view = engine.task(id.clone()).await.unwrap();
        if is_reached(&view) {
            return view;
        }
        assert!(begun.elapsed() < LIMIT, "not reached: {what}; the task is {view:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the task's only session waits for a prompt.
pub(crate) async fn wait_until_idle(engine: &Engine, id: &TaskId) -> TaskView {
    wait_for_task(
        engine,
        id,
        "an idle session",
        |view| matches!(view.sessions.as_slice(), [only] if only.session.state == SessionState::Idle),
    )
    .await
}

pub(crate) async fn wait_for_session(engine: &Engine, id: &SessionId, state: SessionState) {
    let begun = Instant::now();
    loop {
        let session = engine.session(id.clone()).await.unwrap().session;
        if session.state == state {
            return;
        }
        assert!(begun.elapsed() < LIMIT, "session is {session:?}, not {state}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a cleanup job needs no worker any more.
pub(crate) async fn wait_for_job(engine: &Engine, job: &CleanupJob) -> CleanupJob {
    let begun = Instant::now();
    loop {
        let job = engine.cleanup_job(job.id.clone()).await.unwrap();
        if job.state.is_final() || job.state == freehold_domain::cleanup::CleanupState::NeedsDecision {
            return job;
        }
        assert!(begun.elapsed() < LIMIT, "the job does not end: {job:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Closes a task with consent to a seal, and waits for what becomes of its workspace.
pub(crate) async fn close(engine: &Engine, id: &TaskId, action: CloseAction) -> CleanupJob {
    let job = engine.close_task(id.clone(), CloseTask { action, seals: true }).await.unwrap();
    wait_for_job(engine, &job).await
}

/// Waits until the reaper has unlinked everything that was given back from below a folder.
pub(crate) async fn wait_until_reaped(root: &Path, what: &str) {
    let begun = Instant::now();
    while root.join(".trash").exists() {
        assert!(begun.elapsed() < LIMIT, "{what}: something is left in the trash folder");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The files of a worktree by path, with mode and content.
pub(crate) type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Every file, link and directory of a worktree with its mode and content, but for the link to its registration.
pub(crate) fn files_of(top: &Path) -> Files {
    let mut files = tree(top);
    files.remove(Path::new(".git"));
    files
}

/// Everything about a worktree that must come back: its files, what Git says of them, and what is checked out.
pub(crate) fn whole(world: &World, top: &Path) -> (Files, Vec<String>) {
    let said = [
        &["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"][..],
        &["ls-files", "-s", "-v"],
        &["rev-parse", "HEAD"],
        &["diff", "--cached", "--raw"],
    ];
    let said = said.map(|arguments| world.repo.git_in(top, arguments)).to_vec();
    (files_of(top), said)
}

pub(crate) fn worktree_of(view: &TaskView) -> PathBuf {
    PathBuf::from(&view.environment.as_ref().unwrap().repos[0].0.worktree_path)
}

/// Commits everything in a worktree.
pub(crate) fn commit_all(world: &World, worktree: &Path) {
    world.repo.git_in(worktree, &["add", "-A"]);
    world.repo.git_in(worktree, &["commit", "-qm", "work"]);
}
