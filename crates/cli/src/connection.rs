//! How a command reaches a server: the one that runs on the home folder, or one of its own.
//!
//! An *embedded server* is the same server as `freehold serve`, in the process of the command and for as long
//! as the command takes. It does not announce itself, because it ends with its command; another command that
//! comes meanwhile waits a moment for the home folder.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use freehold_api::client::{Client, LiveStream};

use crate::compose::{EndSignals, RunningServer, Setup};
use crate::failure::{Exit, Failure};
use crate::home::ServerRecord;

/// How long a command waits for another command that uses the home folder.
const HOME_WAIT: Duration = Duration::from_secs(10);
const HOME_LOOK_PAUSE: Duration = Duration::from_millis(50);
/// What a process that was interrupted ends with.
const INTERRUPTED: i32 = 130;

/// A way to a server.
pub(crate) struct Connection {
    /// Asks the server.
    pub(crate) client: Client,
    address: SocketAddr,
    token: String,
    embedded: Option<Embedded>,
}

struct Embedded {
    runtime: tokio::runtime::Runtime,
    end: tokio::sync::oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
}

impl Connection {
    /// Finds the server of the home folder, or starts one for this command.
    pub(crate) fn open(setup: &Setup) -> Result<Self, Failure> {
        let begun = Instant::now();
        loop {
            if let Some(connection) = Self::find(setup)? {
                return Ok(connection);
            }
            match Self::embed(setup) {
                Err(failure) if failure.body.code == "home_in_use" && begun.elapsed() < HOME_WAIT => {
                    std::thread::sleep(HOME_LOOK_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Whether the server ends with this command, and the agents with it.
    #[must_use]
    pub(crate) const fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Opens the live connection; events from now on come through it.
    pub(crate) fn live(&self) -> Result<LiveStream, Failure> {
        Ok(LiveStream::connect(&self.address.to_string(), &self.token, None)?)
    }

    /// Ends the embedded server, if there is one, and waits until it has ended.
    pub(crate) fn close(self) {
        if let Some(Embedded { runtime, end, server }) = self.embedded {
            // It fails only when a signal ended the server already.
            let _ = end.send(());
            let _ = runtime.block_on(server);
        }
    }

    /// Finds the server that runs on the home folder.
    pub(crate) fn find(setup: &Setup) -> Result<Option<Self>, Failure> {
        let (Some(record), Some(token)) = (setup.home.find_server(), setup.home.find_token()?) else {
            return Ok(None);
        };
        let client = Client::new(&record.address.to_string(), &token);
        if client.health().is_err() {
            return Ok(None);
        }
        require_same_database(setup, &record)?;
        Ok(Some(Self { client, address: record.address, token, embedded: None }))
    }

    fn embed(setup: &Setup) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let (signals, server) = runtime.block_on(async {
            Ok::<_, Failure>((EndSignals::listen()?, RunningServer::start(setup, 0).await?))
        })?;
        let (address, token) = (server.address(), server.token().to_owned());
        let (end, ended) = tokio::sync::oneshot::channel();
        let server = runtime.spawn(async move {
            tokio::select! {
                _ = ended => server.stop().await,
                () = signals.wait() => {
                    server.stop().await;
                    std::process::exit(INTERRUPTED);
                }
            }
        });
        let client = Client::new(&address.to_string(), &token);
        Ok(Self { client, address, token, embedded: Some(Embedded { runtime, end, server }) })
    }
}

/// Makes the threads that a server runs on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Runtime::new().map_err(|error| {
        Failure::new(Exit::Failure, "internal", format!("cannot start the server's threads: {error}"))
    })
}

fn require_same_database(setup: &Setup, record: &ServerRecord) -> Result<(), Failure> {
    let wanted = setup.database.to_string();
    if !setup.is_database_named || record.database == wanted {
        return Ok(());
    }
    let message = format!(
        "the server that runs on {} (process {}) uses the database {}, not {wanted}",
        setup.home.root().display(),
        record.pid,
        record.database
    );
    Err(Failure::new(Exit::Conflict, "other_database", message)
        .hint("leave --database away, stop that server, or choose another home folder with --home"))
}
