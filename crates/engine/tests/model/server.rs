//! Servers that are started, stopped and killed within one test process.
//!
//! A server is an engine on a runtime of its own. It dies with that runtime: its futures end wherever they wait,
//! as those of a killed process do, and what is written down is all that its successor knows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use freehold_domain::id::NodeId;
use freehold_engine::system::{RandomIds, SystemClock};
use freehold_engine::{Engine, EngineOptions};
use freehold_git::Git;
use freehold_store::{DatabaseUrl, Store, StoreOptions};
use tokio::runtime::Runtime;

/// How long a dying server's Git commands may take to end.
const LAST_COMMANDS: Duration = Duration::from_secs(30);

/// A server of one node, up or down.
pub(crate) struct Server {
    pub(crate) node: NodeId,
    pub(crate) home: PathBuf,
    url: String,
    git_config: PathBuf,
    running: Option<(Runtime, Engine)>,
}

impl Server {
    pub(crate) fn new(name: &str, home: PathBuf, url: &str, git_config: PathBuf) -> Self {
        std::fs::create_dir_all(&home).unwrap();
        Self { node: NodeId::new(name).unwrap(), home, url: url.to_owned(), git_config, running: None }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.join("workspaces")
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn start(&mut self) {
        assert!(!self.is_up());
        let store = open_store(&self.url);
        let git = Git::open(&self.home.join("scratch")).unwrap();
        let git = git.with_env("GIT_CONFIG_GLOBAL", &self.git_config).with_env("GIT_CONFIG_NOSYSTEM", "1");
        let options = EngineOptions {
            node_id: self.node.clone(),
            hostname: format!("host-of-{}", self.node),
            workspaces_root: self.root(),
            demo_agent: (demo_agent(), Vec::new()),
            agent_handshake_ms: 20_000,
            agent_stop_grace_ms: 500,
            retention_ms: freehold_domain::seal::RETENTION_MS,
            idle_per_repository: 0,
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let started = Engine::start(store, git, Arc::new(SystemClock), Arc::new(RandomIds), options);
        let engine = runtime.block_on(started).unwrap();
        self.running = Some((runtime, engine));
    }

    /// Stops it as a service is stopped; does nothing when it is down.
    pub(crate) fn stop(&mut self) {
        if let Some((runtime, engine)) = self.running.take() {
            runtime.block_on(engine.shutdown());
            drop(engine);
            runtime.shutdown_timeout(LAST_COMMANDS);
        }
    }

    /// Kills it; does nothing when it is down.
    pub(crate) fn crash(&mut self) {
        if let Some((runtime, engine)) = self.running.take() {
            drop(engine);
            runtime.shutdown_timeout(LAST_COMMANDS);
        }
    }

    /// Asks the server for something and waits for the answer.
    pub(crate) fn ask<T>(&self, request: impl AsyncFnOnce(Engine) -> T) -> T {
        let (runtime, engine) = self.running.as_ref().unwrap();
        runtime.block_on(request(engine.clone()))
    }

    /// Asks the server for something without waiting for the answer.
    pub(crate) fn ask_in_passing(&self, request: impl Future<Output = ()> + Send + 'static) {
        let (runtime, _) = self.running.as_ref().unwrap();
        drop(runtime.spawn(request));
    }

    pub(crate) fn engine(&self) -> Engine {
        self.running.as_ref().unwrap().1.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn open_store(url: &str) -> Store {
    let url = DatabaseUrl::parse(url).unwrap();
    Store::open(&url, StoreOptions::default()).unwrap()
}

/// The example binary of the agent crate, which Cargo builds beside the tests.
fn demo_agent() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program: &Path = &tests.parent().unwrap().parent().unwrap().join("examples/demo-agent");
    assert!(program.exists(), "{} is missing: cargo build -p freehold-agent --examples", program.display());
    program.to_owned()
}
