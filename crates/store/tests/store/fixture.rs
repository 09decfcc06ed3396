//! An open store with a workspace, and makers of the nouns that tests store.

use std::future::Future;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use freehold_domain::agent::{Execution, ExecutionStatus};
use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger, ResourceSnapshot, Snapshot};
use freehold_domain::clock::{Clock as _, Timestamp};
use freehold_domain::environment::{
    EnvironmentRepo, EnvironmentRepoStatus, EnvironmentStatus, TaskEnvironment, WorktreeOrigin,
};
use freehold_domain::message::{Author, Message, MessageKind, Turn};
use freehold_domain::repository::{DEFAULT_BRANCH_PREFIX, Repository, TaskRepository, WorkStart};
use freehold_domain::session::{Session, SessionState};
use freehold_domain::task::{Task, TaskState};
use freehold_domain::workflow::{Step, Workflow, Workspace};
use freehold_store::{DatabaseUrl, Store, StoreError, StoreOptions, Tx, repository, session, task};
use freehold_store::{workflow, workspace};
use freehold_testkit::clock::{ManualClock, SequentialIds};
use freehold_testkit::database::TestDatabase;

/// Reads an id or a word that is known to be one.
pub(crate) fn id<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Runs a test on a fresh store of each engine.
pub(crate) fn on_both_engines(name: &str, test: impl Fn(&Fixture)) {
    TestDatabase::each(name, |url| {
        let fixture = Fixture::open(url);
        test(&fixture);
        fixture.store.close();
    });
}

pub(crate) struct Fixture {
    pub(crate) url: DatabaseUrl,
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    pub(crate) workspace: Workspace,
    pub(crate) board: Workflow,
    pub(crate) steps: Vec<Step>,
    pub(crate) repository: Repository,
}

impl Fixture {
    fn open(url: &str) -> Self {
        let url = DatabaseUrl::parse(url).unwrap();
        let store = Store::open(&url, StoreOptions::default()).unwrap();
        let clock = ManualClock::default();
        let now = clock.now();
        let ids = Arc::new(SequentialIds::default());
        let make = move |tx: &mut Tx<'_>| {
            let workspace = workspace::ensure_default(tx, &*ids, now)?;
            let board = workflow::list_workflows(tx, &workspace.id)?.remove(0);
            let steps = workflow::list_steps(tx, &board.id)?;
            let repository = Repository {
                id: id("repo"),
                workspace_id: workspace.id.clone(),
                name: "sample".to_owned(),
                local_path: "/src/sample".to_owned(),
                default_branch: "main".to_owned(),
                branch_prefix: DEFAULT_BRANCH_PREFIX.to_owned(),
                created_at: now,
                updated_at: now,
            };
            repository::insert(tx, &repository)?;
            Ok::<_, StoreError>((workspace, board, steps, repository))
        };
        let (workspace, board, steps, repository) = block_on(store.write(make)).unwrap();
        Self { url, store, clock, workspace, board, steps, repository }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        block_on(self.store.write(work))
    }

    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        block_on(self.store.read(work)).unwrap()
    }

    /// Runs SQL past the store.
    pub(crate) fn raw(&self, sql: &str) {
        match &self.url {
            DatabaseUrl::Sqlite(path) => sqlite(path).execute_batch(sql).unwrap(),
            DatabaseUrl::Postgres(url) => postgres(url).batch_execute(sql).unwrap(),
        }
    }

    pub(crate) fn task(&self, name: &str) -> Task {
        Task {
            id: id(name),
            parent_id: None,
            borrowed_environment_id: None,
            workspace_id: self.workspace.id.clone(),
            workflow_id: self.board.id.clone(),
            step_id: self.steps[0].id.clone(),
            title: format!("Title of {name}"),
            prompt: "Do it".to_owned(),
            state: TaskState::Todo,
            error_message: String::new(),
            position: 0,
            agent_profile_id: Some(id("demo")),
            start_requested: false,
            is_quick: false,
            automation: String::new(),
            expires_at: None,
            archived_at: None,
            deleted_at: None,
            trashed_at: None,
            created_at: self.now(),
            updated_at: self.now(),
        }
    }

    pub(crate) fn task_repository(&self, name: &str, task: &Task) -> TaskRepository {
        TaskRepository {
            id: id(name),
            task_id: task.id.clone(),
            repository_id: self.repository.id.clone(),
            base_branch: name.to_owned(),
            start: WorkStart::default(),
            position: 0,
            created_at: self.now(),
        }
    }

    /// Stores a task with one repository.
    pub(crate) fn stored_task(&self, name: &str) -> Task {
        let task = self.task(name);
        let uses = self.task_repository(&format!("{name}-use"), &task);
        let stored = task.clone();
        self.write(move |tx| task::insert(tx, &stored, &[uses])).unwrap();
        task
    }

    pub(crate) fn session(&self, name: &str, task: &Task) -> Session {
        Session {
            id: id(name),
            task_id: task.id.clone(),
            environment_id: None,
            agent_profile_id: Some(id("demo")),
            name: "Session 1".to_owned(),
            state: SessionState::Created,
            error_message: String::new(),
            is_primary: false,
            acp_session_id: String::new(),
            started_at: self.now(),
            completed_at: None,
            updated_at: self.now(),
        }
    }

    pub(crate) fn stored_session(&self, name: &str, task: &Task) -> Session {
        let session = self.session(name, task);
        let stored = session.clone();
        self.write(move |tx| session::insert(tx, &stored)).unwrap();
        session
    }

    pub(crate) fn environment(&self, name: &str, task: &Task) -> (TaskEnvironment, Vec<EnvironmentRepo>) {
        let environment = TaskEnvironment {
            id: id(name),
            task_id: task.id.clone(),
            executor_type: "worktree".to_owned(),
            executor_id: Some(id("exec-worktree")),
            status: EnvironmentStatus::Ready,
            workspace_path: format!("/managed/{name}/sample"),
            task_dir_name: name.to_owned(),
            created_at: self.now(),
            updated_at: self.now(),
        };
        let repo = EnvironmentRepo {
            id: id(&format!("{name}-repo")),
            environment_id: environment.id.clone(),
            repository_id: self.repository.id.clone(),
            branch_slug: String::new(),
            worktree_id: Some(id(&format!("{name}-worktree"))),
            worktree_path: environment.workspace_path.clone(),
            worktree_branch: "freehold/it".to_owned(),
            position: 0,
            error_message: String::new(),
            status: EnvironmentRepoStatus::Active,
            created_at: self.now(),
            updated_at: self.now(),
            merged_at: None,
            deleted_at: None,
            origin: Some(WorktreeOrigin {
                base_branch: "main".to_owned(),
                base_commit: "a".repeat(40),
                registration: "sample".to_owned(),
                device: 66_306,
                inode: u64::MAX - 1,
                branch_made: false,
                warning: "a hook failed".to_owned(),
            }),
        };
        (environment, vec![repo])
    }

    pub(crate) fn job(&self, name: &str, task: &Task, trigger: CleanupTrigger) -> CleanupJob {
        CleanupJob {
            id: id(name),
            operation_id: format!("{trigger}:{}:{name}", task.id),
            task_id: task.id.clone(),
            task_title: task.title.clone(),
            trigger,
            state: CleanupState::Prepared,
            snapshot: Snapshot::Own(ResourceSnapshot::default()),
            attempts: 0,
            next_attempt_at: None,
            lease: None,
            fence: 0,
            last_error: String::new(),
            stakes: Vec::new(),
            accepted: Vec::new(),
            created_at: self.now(),
            updated_at: self.now(),
            completed_at: None,
        }
    }

    pub(crate) fn turn(&self, name: &str, session: &Session) -> Turn {
        Turn {
            id: id(name),
            session_id: session.id.clone(),
            task_id: session.task_id.clone(),
            started_at: self.now(),
            completed_at: None,
            stop_reason: String::new(),
        }
    }

    pub(crate) fn message(&self, name: &str, turn: &Turn, content: &str) -> Message {
        Message {
            id: id(name),
            session_id: turn.session_id.clone(),
            task_id: turn.task_id.clone(),
            turn_id: turn.id.clone(),
            ordinal: 0,
            author: Author::Agent,
            kind: MessageKind::Text,
            content: content.to_owned(),
            metadata: serde_json::json!({}),
            created_at: self.now(),
            updated_at: self.now(),
        }
    }

    pub(crate) fn execution(&self, name: &str, session: &Session) -> Execution {
        Execution {
            id: id(name),
            session_id: session.id.clone(),
            task_id: session.task_id.clone(),
            node_id: id("node"),
            status: ExecutionStatus::Starting,
            process: None,
            created_at: self.now(),
            updated_at: self.now(),
        }
    }
}

pub(crate) fn sqlite(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

pub(crate) fn postgres(url: &str) -> postgres::Client {
    postgres::Client::connect(url, postgres::NoTls).unwrap()
}
