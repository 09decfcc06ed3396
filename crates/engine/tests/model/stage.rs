//! Where histories happen: two repositories, servers, a database and a person, all in one temporary folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use freehold_domain::cleanup::{CleanupJob, CleanupState};
use freehold_domain::environment::{Creation, EnvironmentRepo};
use freehold_domain::id::{AgentProfileId, RepositoryId, TaskId};
use freehold_domain::pool::{IdleState, IdleWorktree};
use freehold_domain::seal::WorkspaceSeal;
use freehold_domain::session::{Session, SessionState};
use freehold_domain::task::Task;
use freehold_engine::agent::NewAgentProfile;
use freehold_engine::cleanup::{CloseAction, CloseTask, Decision, discard_phrase};
use freehold_engine::environment::reopen::{BranchChoice, Place, Reopening};
use freehold_engine::repository::AddRepository;
use freehold_engine::session::NewSession;
use freehold_engine::task::{NewTask, NewTaskRepository, TaskListQuery};
use freehold_engine::{Engine, EngineError, ErrorKind};
use freehold_store::{self as store, Store, StoreError};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::repo::TempRepo;

use crate::doom::{CLOSING, CREATING, REOPENING, Spot};
use crate::history::{Choice, Death, Request, Step};
use crate::ledger::{Ledger, Touched};
use crate::person::Person;
use crate::server::{Server, open_store};

/// How long a history may take to come to rest after a step.
const LIMIT: Duration = Duration::from_secs(90);

/// How long an idle worktree is waited for.
const FILLING: Duration = Duration::from_secs(4);

/// Everything of one history.
pub(crate) struct Stage {
    pub(crate) servers: Vec<Server>,
    pub(crate) repos: Vec<TempRepo>,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) persons_folder: PathBuf,
    repositories: Vec<RepositoryId>,
    broken_agent: AgentProfileId,
    /// Which server was last asked to run something for a task, as long as it lives.
    runs: BTreeMap<TaskId, usize>,
    has_pool: bool,
    ledger: Ledger,
    step: usize,
    observer: Store,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// What the database says at one moment.
pub(crate) struct Records {
    pub(crate) tasks: BTreeMap<TaskId, TaskRecord>,
    pub(crate) jobs: Vec<CleanupJob>,
    pub(crate) creations: Vec<Creation>,
    pub(crate) idle: Vec<IdleWorktree>,
}

/// What the database says about one task.
pub(crate) struct TaskRecord {
    pub(crate) task: Task,
    pub(crate) repos: Vec<EnvironmentRepo>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) seals: Vec<WorkspaceSeal>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for TaskRecord { task, repos, sessions, seals } in self.tasks.values() {
            let closed = (task.archived_at.is_some(), task.deleted_at.is_some(), task.trashed_at.is_some());
            writeln!(
                f,
                "\n{:?} {}: {:?} archived, deleted, trashed {closed:?} {}",
                task.title, task.id, task.state, task.error_message
            )?;
            for repo in repos {
                writeln!(
                    f,
                    "  {} {:?} on {} {:?}",
                    repo.worktree_path, repo.status, repo.worktree_branch, repo.origin
                )?;
            }
            for session in sessions {
                writeln!(f, "  session {} {:?} {}", session.id, session.state, session.error_message)?;
            }
            for seal in seals {
                writeln!(f, "  seal {} of {} on {}", seal.id, seal.worktree_path, seal.branch)?;
            }
        }
        for job in &self.jobs {
            let node = job.resources().and_then(|resources| resources.node_id.clone());
            writeln!(
                f,
                "job {} {:?} {:?} of {} on {node:?}: {} {:?}",
                job.id, job.trigger, job.state, job.task_id, job.last_error, job.stakes
            )?;
        }
        for creation in &self.creations {
            writeln!(
                f,
                "creation {} {:?} of {} on {}",
                creation.id, creation.state, creation.task_id, creation.node_id
            )?;
        }
        for idle in &self.idle {
            writeln!(f, "idle {} {:?} {}", idle.path, idle.state, idle.reason)?;
        }
        Ok(())
    }
}

impl Stage {
    /// On a database of PostgreSQL that is empty, or on a new one of SQLite.
    pub(crate) fn new(database: Option<&TestDatabase>, servers: usize, has_pool: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let url = match database {
            Some(database) => database.url().to_owned(),
            None => format!("sqlite://{}", home.join("freehold.db").display()),
        };
        let repos = vec![repository("one"), repository("two")];
        let mut servers: Vec<Server> = (0..servers)
            .map(|number| {
                let (name, home) = (format!("node-{number}"), home.join(format!("home-{number}")));
                Server::new(&name, home, &url, repos[0].config(), has_pool)
            })
            .collect();
        servers.iter_mut().for_each(Server::start);
        let paths: Vec<PathBuf> = repos.iter().map(|repo| repo.path().to_owned()).collect();
        let (repositories, broken_agent) = servers[0].ask(async |engine: Engine| {
            let mut ids = Vec::new();
            for path in paths {
                let request = AddRepository { path, ..AddRepository::default() };
                ids.push(engine.add_repository(request).await.unwrap().repository.id);
            }
            let agent = NewAgentProfile { name: "broken".into(), command: "false".into(), ..<_>::default() };
            (ids, engine.add_agent_profile(agent).await.unwrap().id)
        });
        let persons_folder = home.join("person");
        std::fs::create_dir(&persons_folder).unwrap();
        std::fs::write(persons_folder.join("canary"), "a person's").unwrap();
        let ledger = Ledger::new(&repos);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self {
            servers,
            repos,
            tasks: Vec::new(),
            persons_folder,
            repositories,
            broken_agent,
            runs: BTreeMap::new(),
            has_pool,
            ledger,
            step: 0,
            observer: open_store(&url),
            runtime,
            _folder: folder,
        }
    }

    /// Takes a step, waits until all is at rest, and compares with what must be true.
    pub(crate) fn take(&mut self, step: &Step) {
        self.step += 1;
        let before = self.records();
        let touched = self.act(step, &before);
        let records = self.wait_until_at_rest(step);
        let ledger = std::mem::take(&mut self.ledger);
        self.ledger = ledger.checked(self, &before, &records, &touched);
    }

    fn act(&mut self, step: &Step, before: &Records) -> Touched {
        match step {
            Step::Create { server, both_repositories, works, death } => {
                return self.create(*server, *both_repositories, *works, *death);
            }
            Step::Ask { server, task, request } => return self.ask(*server, *task, request, before, None),
            Step::AskAndCrash { server, task, request, death } => {
                return self.ask(*server, *task, request, before, Some(*death));
            }
            Step::Decide { server, task, choice } => self.decide(*server, *task, *choice, before),
            Step::Crash { server } => {
                self.servers[*server].crash();
                self.runs.retain(|_, runs| runs != server);
            }
            Step::Stop { server } => {
                self.servers[*server].stop();
                self.runs.retain(|_, runs| runs != server);
            }
            Step::Start { server } => self.start(*server),
            Step::Person { task, worktree, deed } => {
                let id = self.tasks[*task].clone();
                let Some(place) = self.ledger.place(&id, *worktree) else { return Touched::Nothing };
                let repo = &self.repos[place.repository];
                let person = Person { repo, folder: &self.persons_folder, number: self.step };
                let changed = person.act(*deed, &place.at, &place.branch, place.away.as_deref());
                self.ledger.note(&id, *worktree, changed);
            }
        }
        Touched::Nothing
    }

    fn start(&mut self, server: usize) {
        if self.servers[server].is_up() {
            return;
        }
        self.servers[server].start();
        for (id, record) in self.records().tasks {
            if record.task.start_requested {
                self.runs.insert(id, server);
            }
        }
    }

    fn create(&mut self, server: usize, both: bool, works: bool, death: Option<Death>) -> Touched {
        if !self.servers[server].is_up() {
            self.start(server);
        }
        let used = if both { &self.repositories[..] } else { &self.repositories[..1] };
        let repositories = used.iter().map(|id| NewTaskRepository::new(id.clone()));
        let title = format!("task {}", self.tasks.len());
        let request = NewTask {
            title: Some(title.clone()),
            prompt: if works { "Improve it".into() } else { String::new() },
            repositories: repositories.collect(),
            agent_profile_id: (!works).then(|| self.broken_agent.clone()),
            start: true,
            ..NewTask::default()
        };
        let made = Arc::new(OnceLock::new());
        if let Some(death) = death {
            let (engine, request, stored) =
                (self.servers[server].engine(), request.clone(), Arc::clone(&made));
            let operation = async move {
                let outcome = engine.create_task(request).await;
                expect_a_reason(outcome.map(|id| drop(stored.set(id))));
            };
            self.die_over(server, death, CREATING, operation, &made);
        }
        let id = made.get().cloned().or_else(|| self.find_by_title(server, &title));
        // A task that was never stored is asked for again, as the person does who got no answer.
        let id = id.unwrap_or_else(|| {
            self.servers[server].ask(async |engine: Engine| engine.create_task(request).await.unwrap())
        });
        self.tasks.push(id.clone());
        self.runs.insert(id.clone(), server);
        if self.has_pool && self.tasks.len() == 1 {
            self.wait_for_an_idle_worktree();
        }
        Touched::ByAgent(id)
    }

    fn find_by_title(&self, server: usize, title: &str) -> Option<TaskId> {
        let query = TaskListQuery { limit: 100, ..TaskListQuery::default() };
        let tasks = self.servers[server].ask(async |engine: Engine| engine.tasks(query).await.unwrap());
        tasks.items.into_iter().find(|item| item.task.title == title).map(|item| item.task.id)
    }

    /// Gives the pool the time to fill, once, so that later tasks find something there. Whether they do is no matter.
    fn wait_for_an_idle_worktree(&self) {
        let begun = Instant::now();
        let is_ready = |idle: &IdleWorktree| idle.state == IdleState::Ready;
        while begun.elapsed() < FILLING && !self.records().idle.iter().any(is_ready) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets a server carry out something and die over it; then starts it again.
    fn die_over(
        &mut self,
        server: usize,
        death: Death,
        failpoints: &[&'static str],
        operation: impl Future<Output = ()> + Send + 'static,
        task: &OnceLock<TaskId>,
    ) {
        match death {
            Death::After(after_ms) => {
                drop(self.servers[server].ask_in_passing(operation));
                std::thread::sleep(Duration::from_millis(after_ms));
                self.servers[server].crash();
            }
            Death::At { failpoint, passes, again } => {
                let failpoint = failpoint.map(|number| failpoints[number % failpoints.len()]);
                self.servers[server].doom(Some(Spot { failpoint, passes }));
                let running = self.servers[server].ask_in_passing(operation);
                self.wait_for_death(server, task, || running.is_finished());
                self.servers[server].crash();
                if again && self.servers[server].start_doomed(Some(Spot { failpoint, passes: passes / 4 })) {
                    self.wait_for_death(server, task, || true);
                    self.servers[server].crash();
                }
            }
        }
        self.runs.retain(|_, runs| *runs != server);
        self.start(server);
    }

    /// Waits until a server stands at its failpoint, or will not come there.
    fn wait_for_death(&mut self, server: usize, task: &OnceLock<TaskId>, is_answered: impl Fn() -> bool) {
        let begun = Instant::now();
        while !self.servers[server].has_met_its_doom() {
            if is_answered() {
                if let Some(id) = task.get() {
                    self.runs.insert(id.clone(), server);
                }
                if self.unrest(&self.records_of(task.get())).is_none() {
                    return;
                }
            }
            assert!(begun.elapsed() < LIMIT, "neither death nor rest: {:?}", self.records());
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    fn ask(
        &mut self,
        server: usize,
        task: usize,
        request: &Request,
        before: &Records,
        death: Option<Death>,
    ) -> Touched {
        if !self.servers[server].is_up() {
            return Touched::Nothing;
        }
        let id = self.tasks[task].clone();
        let Some(record) = before.tasks.get(&id) else { return Touched::Nothing };
        let session = record.sessions.last().map(|session| session.id.clone());
        let (agent, engine) = (self.broken_agent.clone(), self.servers[server].engine());
        let touched = match request {
            Request::OpenSession { .. } | Request::Prompt => {
                self.runs.insert(id.clone(), server);
                Touched::ByAgent(id.clone())
            }
            Request::DeleteSession => Touched::NothingAtAll,
            Request::Purge => Touched::Purged(id.clone()),
            _ => Touched::Nothing,
        };
        let failpoints = match request {
            Request::Archive { .. } | Request::Delete { .. } | Request::Purge => CLOSING,
            Request::Reopen { .. } => REOPENING,
            Request::OpenSession { .. } | Request::Prompt | Request::DeleteSession => CREATING,
        };
        let (request, id_of_task) = (request.clone(), id.clone());
        let operation = async move {
            let outcome = match request {
                Request::OpenSession { works } => {
                    let prompt = works.then(|| "Improve it".into());
                    let agent_profile_id = (!works).then_some(agent);
                    engine.create_session(id, NewSession { agent_profile_id, prompt }).await.map(drop)
                }
                Request::Prompt => match session {
                    Some(session) => engine.prompt(session, "list".into()).await.map(drop),
                    None => Ok(()),
                },
                Request::DeleteSession => match session {
                    Some(session) => engine.delete_session(session).await.map(drop),
                    None => Ok(()),
                },
                Request::Archive { consents } => {
                    let close = CloseTask { action: CloseAction::Archive, seals: consents };
                    engine.close_task(id, close).await.map(drop)
                }
                Request::Delete { consents } => {
                    let close = CloseTask { action: CloseAction::Delete, seals: consents };
                    engine.close_task(id, close).await.map(drop)
                }
                Request::Reopen { elsewhere, branch } => {
                    let place = if elsewhere { Place::Elsewhere } else { Place::Same };
                    let branch = match branch {
                        0 => BranchChoice::Sealed,
                        1 => BranchChoice::New,
                        _ => BranchChoice::Detached,
                    };
                    engine.reopen_task(id, Reopening { place, branch }).await
                }
                Request::Purge => engine.purge_task(id).await.map(drop),
            };
            expect_a_reason(outcome);
        };
        match death {
            None => self.servers[server].ask(async |_| operation.await),
            Some(death) => self.die_over(server, death, failpoints, operation, &OnceLock::from(id_of_task)),
        }
        touched
    }

    fn decide(&mut self, server: usize, task: usize, choice: Choice, before: &Records) {
        let id = &self.tasks[task];
        let waits = |job: &&CleanupJob| job.task_id == *id && job.state == CleanupState::NeedsDecision;
        let Some(job) = before.jobs.iter().find(waits) else { return };
        if !self.servers[server].is_up() {
            return;
        }
        let decision = match choice {
            Choice::Retry => Decision::Retry,
            Choice::Keep => Decision::Keep,
            Choice::Discard => Decision::Discard { phrase: discard_phrase(&job.stakes) },
        };
        let outcome =
            self.servers[server].ask(async |engine: Engine| engine.decide(job.id.clone(), decision).await);
        expect_a_reason(outcome.map(drop));
    }

    /// Reads everything that the database says.
    pub(crate) fn records(&self) -> Records {
        self.records_of(None)
    }

    /// As [`Stage::records`], with a task that is only being created.
    fn records_of(&self, also: Option<&TaskId>) -> Records {
        let ids: Vec<TaskId> = self.tasks.iter().chain(also).cloned().collect();
        let nodes: Vec<_> = self.servers.iter().map(|server| server.node.clone()).collect();
        let read = self.observer.read(move |tx| {
            let mut tasks = BTreeMap::new();
            for id in ids {
                let Some(task) = store::task::find(tx, &id)? else { continue };
                let repos = match store::environment::find_by_task(tx, &id)? {
                    Some(environment) => store::environment::repos_of(tx, &environment.id)?,
                    None => Vec::new(),
                };
                let sessions = store::session::list_by_task(tx, &id)?;
                let seals = store::seal::of_task(tx, &id)?;
                tasks.insert(id, TaskRecord { task, repos, sessions, seals });
            }
            let jobs = store::cleanup::list(tx, None, None)?;
            let creations = store::creation::list_unfinished(tx)?;
            let mut idle = Vec::new();
            for node in nodes {
                idle.extend(store::pool::list(tx, &node)?);
            }
            Ok::<_, StoreError>(Records { tasks, jobs, creations, idle })
        });
        self.runtime.block_on(read).unwrap()
    }

    /// Waits until no server that is up has anything to do.
    fn wait_until_at_rest(&self, step: &Step) -> Records {
        let begun = Instant::now();
        loop {
            let records = self.records();
            let Some(reason) = self.unrest(&records) else { return records };
            assert!(begun.elapsed() < LIMIT, "no rest after {step:?}: {reason}; {records:?}");
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    fn unrest(&self, records: &Records) -> Option<String> {
        let is_up = |node: &freehold_domain::id::NodeId| {
            self.servers.iter().any(|server| server.node == *node && server.is_up())
        };
        let is_worked_on = |job: &&CleanupJob| {
            let node = job.resources().and_then(|resources| resources.node_id.as_ref());
            let is_due = job.state == CleanupState::Prepared
                || job.state == CleanupState::Pending
                || job.state == CleanupState::Running
                || (job.state == CleanupState::RetryWait && job.attempts < 3);
            is_due && node.is_none_or(is_up)
        };
        if let Some(job) = records.jobs.iter().find(is_worked_on) {
            return Some(format!("job {} is {}", job.id, job.state));
        }
        if let Some(creation) = records.creations.iter().find(|creation| is_up(&creation.node_id)) {
            return Some(format!("creation {} is {}", creation.id, creation.state));
        }
        // What the pool makes, takes and gives back comes to an end too.
        let moves = |idle: &&IdleWorktree| {
            is_up(&idle.node_id) && !matches!(idle.state, IdleState::Ready | IdleState::Left)
        };
        if let Some(idle) = records.idle.iter().find(moves) {
            return Some(format!("idle worktree {} is {}", idle.path, idle.state));
        }
        let moves = |session: &Session| {
            matches!(session.state, SessionState::Created | SessionState::Starting | SessionState::Running)
        };
        for id in self.runs.keys() {
            let Some(record) = records.tasks.get(id) else { continue };
            if record.task.is_open() && record.task.start_requested {
                return Some(format!("task {id} is being launched"));
            }
            if record.sessions.iter().any(moves) {
                return Some(format!("a session of task {id} works"));
            }
        }
        None
    }

    /// Starts every server and brings every closed task back: what is in it now must be what was in it then.
    pub(crate) fn bring_everything_back(&mut self) {
        for server in 0..self.servers.len() {
            self.take(&Step::Start { server });
        }
        for (number, id) in self.tasks.clone().into_iter().enumerate() {
            for server in 0..self.servers.len() {
                let records = self.records();
                let is_closed = records.tasks.get(&id).is_some_and(|record| !record.task.is_open());
                if is_closed {
                    let request = Request::Reopen { elsewhere: true, branch: 2 };
                    self.take(&Step::Ask { server, task: number, request });
                }
            }
            let records = self.records();
            let is_closed = records.tasks.get(&id).is_some_and(|record| !record.task.is_open());
            assert!(!is_closed, "task {number} cannot be brought back: {records:?}");
        }
        self.ledger.expect_nothing_sealed_only();
    }
}

/// What is refused is refused with a reason; a fault of Freehold is none.
fn expect_a_reason(outcome: Result<(), EngineError>) {
    if let Err(error) = outcome {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
}

fn repository(name: &str) -> TempRepo {
    let repo = TempRepo::new();
    repo.write("README.md", format!("# {name}\n"));
    for number in 0..4 {
        repo.write(&format!("tracked-{number}.txt"), format!("{name} {number}\n"));
    }
    repo.write(".gitignore", "*.env\n");
    repo.commit("first");
    repo
}
