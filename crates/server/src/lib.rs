//! The HTTP and WebSocket doors, and the embedded web app.
//!
//! The server listens on loopback only. Every request must name this very server in `Host`, and in `Origin`
//! when it has one; every call of the interface needs the access token. There is no CORS: a page of another
//! origin can neither read nor write.

mod assets;
mod auth;
mod body;
mod http;
mod live;
mod problem;
mod wire;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use freehold_engine::Engine;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use auth::{AccessToken, InvalidToken};
pub use http::openapi;

/// How long requests that run may take after the server was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Where and for whom the server listens.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The loopback address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What every call must present.
    pub token: AccessToken,
    /// The home folder, told to people who ask.
    pub home: PathBuf,
}

/// Says why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is not one of those that only this machine reaches.
    #[error("Freehold listens on 127.0.0.1 or ::1 only, not on {address}, which others could reach")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The port is taken, or the address cannot be used.
    #[error("cannot listen on {address}: {source}; choose another port with --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) engine: Engine,
    pub(crate) home: Arc<PathBuf>,
    pub(crate) token: AccessToken,
    pub(crate) hub: Arc<live::hub::Hub>,
    pub(crate) clients: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// A server that listens.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    clients: TaskTracker,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl RunningServer {
    /// The address it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, closes live connections and waits a moment for requests that run. The engine goes on.
    pub async fn stop(self) {
        self.stop.cancel();
        self.clients.close();
        let abort = self.serving.abort_handle();
        let ended = async { tokio::join!(self.serving, self.clients.wait()) };
        if tokio::time::timeout(STOP_LIMIT, ended).await.is_err() {
            tracing::warn!("requests that did not end in time were given up");
            abort.abort();
        }
    }
}

/// Listens, and returns once it does.
pub async fn serve(engine: Engine, options: ServerOptions) -> Result<RunningServer, ServerError> {
    let address = options.listen;
    if ![IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)].contains(&address.ip()) {
        return Err(ServerError::NotLoopback { address });
    }
    let failed = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    http::metrics::begin();
    let stop = CancellationToken::new();
    let context = Context {
        hub: Arc::new(live::hub::Hub::new(engine.clone())),
        engine,
        home: Arc::new(options.home),
        token: options.token,
        clients: TaskTracker::new(),
        stop: stop.clone(),
    };
    let clients = context.clients.clone();
    let app = http::router(context, address.port());
    let stopped = stop.clone();
    let serving = async move {
        let serve = axum::serve(listener, app).with_graceful_shutdown(stopped.cancelled_owned());
        if let Err(error) = serve.await {
            tracing::error!(%error, "the server ended");
        }
    };
    Ok(RunningServer { address, clients, stop, serving: spawn(serving) })
}

#[expect(clippy::disallowed_methods, reason = "RunningServer owns the future and ends it")]
fn spawn(future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(future)
}
