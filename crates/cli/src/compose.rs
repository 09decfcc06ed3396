//! Puts a whole server together: home lock, store, Git, engine, doors; and takes it apart in the other order.
//!
//! The lock comes before anything is written, so that two servers never share a home folder. The port is taken
//! before the database is touched, so that a server that cannot be reached changes nothing.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use freehold_engine::system::{RandomIds, SystemClock};
use freehold_engine::{Engine, EngineOptions};
use freehold_git::Git;
use freehold_server::{AccessToken, ServerOptions};
use freehold_store::upgrade::Resolutions;
use freehold_store::{DatabaseUrl, HomeLock, Store, StoreOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::home::{Home, ServerRecord};
use crate::initialise::initialise;
use crate::output::Output;

const AGENT_STOP_GRACE_MS: u64 = 5_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What a server is made of.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Its home folder.
    pub(crate) home: Home,
    /// Its database.
    pub(crate) database: DatabaseUrl,
    /// Whether the database was named, not taken from the home folder.
    pub(crate) is_database_named: bool,
    /// Whether an older database may be upgraded as the server starts.
    pub(crate) may_upgrade: bool,
    /// How long an agent may take to answer the greeting, in milliseconds.
    pub(crate) agent_handshake_ms: u64,
    /// How many days deleted tasks and old seals are kept.
    pub(crate) retention_days: u16,
    /// How many worktrees are made ahead of time for each repository in use.
    pub(crate) idle_per_repository: u32,
    /// How many of the newest runs of each automation keep their workspaces on a board.
    pub(crate) automation_runs: u32,
    /// Who is told of an upgrade.
    pub(crate) output: Output,
}

/// A server that answers.
pub(crate) struct RunningServer {
    address: SocketAddr,
    token: AccessToken,
    home: Home,
    engine: Engine,
    store: Store,
    doors: freehold_server::RunningServer,
    _lock: HomeLock,
}

impl RunningServer {
    /// Starts a server on a port of the loopback interface; 0 takes a free one.
    pub(crate) async fn start(setup: &Setup, port: u16) -> Result<Self, Failure> {
        let home = setup.home.clone();
        let lock = HomeLock::acquire(home.root())?;
        home.create()?;
        let token = home.require_token()?;
        // Not held while the database is upgraded: who asks meanwhile is refused and need not wait.
        drop(reserve(port)?);
        let (database, scratch) = (setup.database.clone(), home.scratch());
        let (may_upgrade, output) = (setup.may_upgrade, setup.output);
        let (store, git) = tokio::task::spawn_blocking(move || {
            let git = Git::open(&scratch)?;
            initialise(&database, may_upgrade, Resolutions::default(), output)?;
            let store = Store::open(&database, StoreOptions::default())?;
            Ok::<_, Failure>((store, git))
        })
        .await
        .map_err(|_| {
            Failure::new(Exit::Failure, "internal", "opening the database stopped unexpectedly")
        })??;
        let options = engine_options(setup)?;
        let engine =
            Engine::start(store.clone(), git, Arc::new(SystemClock), Arc::new(RandomIds), options).await?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let options = ServerOptions { listen, token: token.clone(), home: home.root().to_owned() };
        match freehold_server::serve(engine.clone(), options).await {
            Ok(doors) => {
                Ok(Self { address: doors.address(), token, home, engine, store, doors, _lock: lock })
            }
            Err(error) => {
                engine.shutdown().await;
                Err(Failure::new(Exit::Unreachable, "port_not_usable", error.to_string()))
            }
        }
    }

    /// The address it listens on.
    #[must_use]
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The access token.
    #[must_use]
    pub(crate) fn token(&self) -> &str {
        self.token.reveal()
    }

    /// Lets the commands of this home folder find the server.
    pub(crate) fn announce(&self, database: &DatabaseUrl) -> Result<(), Failure> {
        self.home.write_server(&ServerRecord {
            address: self.address,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            database: database.to_string(),
        })
    }

    /// Takes no more requests, ends the agents, finishes what is stored, and gives the home folder free.
    pub(crate) async fn stop(self) {
        self.home.forget_server(std::process::id());
        self.engine.shutdown().await;
        self.doors.stop().await;
        let store = self.store;
        // It fails only when closing panicked, and then there is nothing left to close.
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
    }
}

impl std::fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The signals by which the system or a person asks a process to end.
#[derive(Debug)]
pub(crate) struct EndSignals([Signal; 3]);

impl EndSignals {
    /// Begins to listen, inside a runtime; from now on the signals no longer kill the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::Failure, "internal", format!("cannot listen for signals: {error}"))
            })
        };
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(listen);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    /// Waits for the first of them.
    pub(crate) async fn wait(mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Takes a port before anything else is done, so that a taken one is told before anything is changed.
fn reserve(port: u16) -> Result<TcpListener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).map_err(|error| {
        let taken = error.kind() == std::io::ErrorKind::AddrInUse;
        let message = match taken {
            true => format!("port {port} is taken by another program"),
            false => format!("cannot listen on {address}: {error}"),
        };
        Failure::new(Exit::Unreachable, if taken { "port_taken" } else { "port_not_usable" }, message)
            .hint("choose another port with --port N; --port 0 takes a free one")
            .subject(port.to_string())
    })
}

fn engine_options(setup: &Setup) -> Result<EngineOptions, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Failure, "internal", format!("cannot find this program's own file: {error}"))
    })?;
    Ok(EngineOptions {
        node_id: setup.home.require_node_id(&RandomIds)?,
        hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        workspaces_root: setup.home.workspaces(),
        folder_seals: setup.home.folder_seals(),
        demo_agent: (program, vec!["demo-agent".to_owned()]),
        agent_handshake_ms: setup.agent_handshake_ms,
        agent_stop_grace_ms: AGENT_STOP_GRACE_MS,
        retention_ms: i64::from(setup.retention_days) * DAY_MS,
        idle_per_repository: setup.idle_per_repository,
        automation_runs: setup.automation_runs,
    })
}
