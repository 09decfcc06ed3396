//! Servers that are started, stopped and killed within one test process.
//!
//! A server is an engine on a runtime of its own. It dies with that runtime: its futures end wherever they wait,
//! as those of a killed process do, and what is written down is all that its successor knows. Where exactly it dies
//! can be set (`doom`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use freehold_domain::id::NodeId;
use freehold_engine::system::{RandomIds, SystemClock};
use freehold_engine::{Engine, EngineOptions};
use freehold_git::Git;
use freehold_store::{DatabaseUrl, Store, StoreOptions};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::doom::{Doom, Spot};

/// How long a dying server's Git commands may take to end.
const LAST_COMMANDS: Duration = Duration::from_secs(30);

/// A server of one node, up or down.
pub(crate) struct Server {
    pub(crate) node: NodeId,
    pub(crate) home: PathBuf,
    url: String,
    git_config: PathBuf,
    idle_per_repository: u32,
    running: Option<(Runtime, Engine)>,
    doom: Arc<Doom>,
}

impl Server {
    pub(crate) fn new(name: &str, home: PathBuf, url: &str, git_config: PathBuf, has_pool: bool) -> Self {
        std::fs::create_dir_all(&home).unwrap();
        Self {
            node: NodeId::new(name).unwrap(),
            home,
            url: url.to_owned(),
            git_config,
            idle_per_repository: u32::from(has_pool),
            running: None,
            doom: Doom::new(None),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.join("workspaces")
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn start(&mut self) {
        assert!(self.start_doomed(None), "nothing stops it");
    }

    /// Starts it, to die at a failpoint where one is given; tells whether it is up. It is down when it came to the
    /// failpoint before it was up.
    pub(crate) fn start_doomed(&mut self, at: Option<Spot>) -> bool {
        assert!(!self.is_up());
        let store = open_store(&self.url);
        let git = Git::open(&self.home.join("scratch")).unwrap();
        let git = git.with_env("GIT_CONFIG_GLOBAL", &self.git_config).with_env("GIT_CONFIG_NOSYSTEM", "1");
        let options = EngineOptions {
            node_id: self.node.clone(),
            hostname: format!("host-of-{}", self.node),
            workspaces_root: self.root(),
            folder_seals: self.home.join("folder-seals"),
            demo_agent: (demo_agent(), Vec::new()),
            agent_handshake_ms: 20_000,
            agent_stop_grace_ms: 500,
            retention_ms: freehold_domain::seal::RETENTION_MS,
            idle_per_repository: self.idle_per_repository,
            automation_runs: 5,
        };
        let doom = Doom::new(at);
        let of_threads = Arc::clone(&doom);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .on_thread_start(move || of_threads.hangs_over_this_thread())
            .enable_all()
            .build()
            .unwrap();
        let started = Engine::start(store, git, Arc::new(SystemClock), Arc::new(RandomIds), options);
        let engine = runtime.block_on(async {
            tokio::select! {
                engine = started => Some(engine.unwrap()),
                () = until_met(&doom) => None,
            }
        });
        self.doom = doom;
        match engine {
            Some(engine) => self.running = Some((runtime, engine)),
            None => end(runtime, &self.doom),
        }
        self.is_up()
    }

    /// Lets it die there; none lets it live.
    pub(crate) fn doom(&self, at: Option<Spot>) {
        self.doom.set(at);
    }

    /// Whether it came to the failpoint and stands there.
    pub(crate) fn has_met_its_doom(&self) -> bool {
        self.doom.is_met()
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
            end(runtime, &self.doom);
        }
    }

    /// Asks the server for something and waits for the answer.
    pub(crate) fn ask<T>(&self, request: impl AsyncFnOnce(Engine) -> T) -> T {
        let (runtime, engine) = self.running.as_ref().unwrap();
        runtime.block_on(request(engine.clone()))
    }

    /// Asks the server for something without waiting for the answer.
    pub(crate) fn ask_in_passing(
        &self,
        request: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let (runtime, _) = self.running.as_ref().unwrap();
        runtime.spawn(request)
    }

    pub(crate) fn engine(&self) -> Engine {
        self.running.as_ref().unwrap().1.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.doom.set(None);
        self.stop();
    }
}

/// Ends every future of a server, and lets a thread that stands at its failpoint go once they have ended.
fn end(runtime: Runtime, doom: &Arc<Doom>) {
    let witness = doom.witness();
    drop(runtime.spawn(async move {
        let _witness = witness;
        std::future::pending::<()>().await;
    }));
    runtime.shutdown_timeout(LAST_COMMANDS);
}

async fn until_met(doom: &Doom) {
    while !doom.is_met() {
        tokio::time::sleep(Duration::from_millis(2)).await;
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
