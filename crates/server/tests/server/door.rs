//! A whole Freehold behind its doors, in a temporary folder.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freehold_api::client::Client;
use freehold_api::error::ErrorBody;
use freehold_api::repository::AddRepository;
use freehold_api::task::{NewTask, NewTaskRepository, TaskDetail};
use freehold_domain::id::NodeId;
use freehold_engine::system::{RandomIds, SystemClock};
use freehold_engine::{Engine, EngineOptions};
use freehold_git::Git;
use freehold_server::{AccessToken, RunningServer, ServerOptions};
use freehold_store::{DatabaseUrl, Store, StoreOptions};
use freehold_testkit::database::TestDatabase;
use freehold_testkit::repo::TempRepo;
use tokio::runtime::Runtime;

/// How long anything may take before a test gives up.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A server on a free port; everything ends when it is dropped.
pub(crate) struct Door {
    pub(crate) repo: TempRepo,
    pub(crate) token: AccessToken,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) runtime: Runtime,
    home: PathBuf,
    server: Option<RunningServer>,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

/// What the server answered to a request written by hand.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Runs a test on each engine.
pub(crate) fn on_both_engines(test: impl Fn(&mut Door)) {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        test(&mut Door::open(database.url()));
    }
}

/// Runs a test that does not depend on the database.
pub(crate) fn on_sqlite(test: impl Fn(&mut Door)) {
    test(&mut Door::open(TestDatabase::sqlite().url()));
}

impl Door {
    fn open(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let repo = TempRepo::new();
        repo.write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n");
        repo.write("src/main.rs", "fn main() {}\n");
        repo.commit("Add code");
        let runtime = Runtime::new().unwrap();
        let store = Store::open(&DatabaseUrl::parse(url).unwrap(), StoreOptions::default()).unwrap();
        let git = Git::open(&home.join("scratch")).unwrap();
        let options = EngineOptions {
            node_id: NodeId::new("test-node").unwrap(),
            hostname: "test".into(),
            workspaces_root: home.join("workspaces"),
            folder_seals: home.join("folder-seals"),
            demo_agent: (demo_agent(), Vec::new()),
            agent_handshake_ms: 20_000,
            agent_stop_grace_ms: 500,
            retention_ms: freehold_domain::seal::RETENTION_MS,
            idle_per_repository: 0,
            automation_runs: 5,
        };
        let start = Engine::start(store.clone(), git, Arc::new(SystemClock), Arc::new(RandomIds), options);
        let engine = runtime.block_on(start).unwrap();
        let token = AccessToken::generate().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = ServerOptions { listen, token: token.clone(), home: home.clone() };
        let server = runtime.block_on(freehold_server::serve(engine.clone(), options)).unwrap();
        let address = server.address();
        Self { repo, token, engine, store, runtime, home, server: Some(server), address, _folder: folder }
    }

    /// Stops the server and listens again, with the same engine.
    pub(crate) fn reopen(&mut self) {
        self.close();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = ServerOptions { listen, token: self.token.clone(), home: self.home.clone() };
        let server = self.runtime.block_on(freehold_server::serve(self.engine.clone(), options)).unwrap();
        self.address = server.address();
        self.server = Some(server);
    }

    /// Stops the server.
    pub(crate) fn close(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.address(), self.token.reveal())
    }

    /// Sends a request as it is written here, with this `Host` and the token.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let authorization = format!("Authorization: Bearer {}", self.token.reveal());
        let host = format!("Host: {}", self.address);
        self.ask_with(method, path, &[&host, &authorization, "Content-Type: application/json"], body)
    }

    /// Sends a request with no headers but these and what a body needs.
    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        headers.iter().for_each(|header| request.push_str(&format!("{header}\r\n")));
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Registers the repository; gives its id.
    pub(crate) fn add_repository(&self) -> String {
        let path = self.repo.path().to_str().unwrap().to_owned();
        let request = AddRepository { path, name: None, workspace_id: None };
        self.client().add_repository(&request).unwrap().repository.id
    }

    /// Waits until a look at the task satisfies a condition.
    pub(crate) fn wait_for_task(
        &self,
        id: &str,
        what: &str,
        is_reached: impl Fn(&TaskDetail) -> bool,
    ) -> TaskDetail {
        let begun = Instant::now();
        loop {
            let task = self.client().task(id).unwrap();
            if is_reached(&task) {
                return task;
            }
            assert!(begun.elapsed() < LIMIT, "not reached: {what}; the task is {task:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn wait_for_session(&self, task_id: &str, state: &str) -> TaskDetail {
        self.wait_for_task(task_id, state, |task| task.sessions.iter().any(|session| session.state == state))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
        self.runtime.block_on(self.engine.shutdown());
        self.store.close();
    }
}

impl Answer {
    /// The error that was answered, with this status.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> ErrorBody {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("\r\ncontent-type: application/json"), "{self:?}");
        let error: ErrorBody = serde_json::from_str(&self.body).unwrap();
        assert!(!error.code.is_empty() && !error.message.is_empty(), "{error:?}");
        error
    }

    #[track_caller]
    pub(crate) fn has_header(&self, line: &str) {
        assert!(self.head.lines().any(|header| header == line), "{line} is not in {}", self.head);
    }
}

pub(crate) fn new_task(repository_id: &str, title: &str, prompt: &str, start: bool) -> NewTask {
    let repository =
        NewTaskRepository { repository_id: repository_id.to_owned(), ..NewTaskRepository::default() };
    NewTask {
        title: Some(title.to_owned()),
        prompt: prompt.to_owned(),
        repositories: vec![repository],
        start,
        ..NewTask::default()
    }
}

/// The example binary of the agent crate, which Cargo builds beside the tests.
fn demo_agent() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples/demo-agent");
    assert!(program.exists(), "{} is missing: cargo build -p freehold-agent --examples", program.display());
    program
}
