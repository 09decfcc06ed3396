//! The scene's server: `freehold serve` as a process of its own, so that it can be killed like any other.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use freehold_api::client::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::scene::Scene;
use crate::failure::{Exit, Failure};
use crate::program::{could_not_start, program};

/// A server that is healthy; it is killed when it is dropped.
pub(crate) struct DemoServer {
    child: Child,
    /// Asks it.
    pub(crate) client: Client,
}

/// What the server prints once it is healthy.
#[derive(Debug, Deserialize)]
struct Started {
    address: String,
    token: String,
}

impl DemoServer {
    /// Starts a server on a free port and waits until it is healthy.
    pub(crate) fn start(scene: &Scene) -> Result<Self, Failure> {
        let own_file = std::env::current_exe().map_err(|error| could_not_start("freehold", &error))?;
        let log_path = scene.server_log();
        let log = File::options().create(true).append(true).open(&log_path);
        let log = log.map_err(|source| Failure::file("write", &log_path, &source))?;
        let mut command = program(own_file);
        command.args(["serve", "--port", "0", "--no-open", "--json", "--home"]).arg(scene.home());
        command.env_remove("FREEHOLD_DATABASE").env_remove("FREEHOLD_LOG").env_remove("FREEHOLD_HOME");
        // The story counts worktrees, and those that are made ahead of time are no task's.
        command.env("FREEHOLD_IDLE_WORKTREES", "0");
        if let Some(database) = &scene.database {
            // Not as an argument, which every user of the machine can see.
            command.env("FREEHOLD_DATABASE", database);
        }
        let child = command.stdout(Stdio::piped()).stderr(log).spawn();
        let mut child = child.map_err(|error| could_not_start("freehold serve", &error))?;
        match read_start(&mut child) {
            Some(Started { address, token }) => Ok(Self { child, client: Client::new(&address, &token) }),
            None => {
                end(&mut child);
                let said = std::fs::read_to_string(&log_path).unwrap_or_default();
                let message = format!("the server did not start: {}", said.trim());
                Err(Failure::new(Exit::Unreachable, "server_unreachable", message))
            }
        }
    }

    /// Kills the server with SIGKILL, which it cannot see coming.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(drop).map_err(|error| {
            Failure::new(Exit::Failure, "internal", format!("the server could not be killed: {error}"))
        })
    }

    /// Asks the server to end, and waits until it has ended; true when it ended without a complaint.
    pub(crate) fn stop(mut self) -> Result<bool, Failure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        let status = self.child.wait().map_err(|error| {
            Failure::new(Exit::Failure, "internal", format!("the server could not be waited for: {error}"))
        })?;
        Ok(asked && status.success())
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // Both fail only when it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

fn read_start(child: &mut Child) -> Option<Started> {
    let mut line = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
