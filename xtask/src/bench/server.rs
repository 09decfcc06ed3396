//! A real server with a home of its own, spoken to over its HTTP interface.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Bench;
use crate::Failure;
use crate::program::program;

/// How long anything may take before the run is given up.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// A running server; it is ended with the value.
pub(super) struct Server {
    child: Child,
    home: PathBuf,
    port: u16,
    idle_worktrees: u32,
    token: String,
    agent: ureq::Agent,
}

impl Server {
    /// Starts a server on a fresh home, with so many idle worktrees per repository, and waits until it is healthy.
    pub(super) fn start(bench: &Bench, idle_worktrees: u32) -> Result<Self, Failure> {
        let home = bench.folder.path().join("home");
        let port = free_port()?;
        let child = spawn(&bench.binary, &home, port, idle_worktrees)?;
        let agent = ureq::Agent::config_builder().timeout_global(Some(LIMIT)).build().new_agent();
        let mut server = Self { child, home, port, idle_worktrees, token: String::new(), agent };
        server.wait_until_healthy()?;
        let token = server.home.join("token");
        let text = std::fs::read_to_string(&token)
            .map_err(|error| Failure::new(format!("could not read {}: {error}", token.display())))?;
        text.trim().clone_into(&mut server.token);
        Ok(server)
    }

    /// Ends the server as a person would, starts it again on the same home and tells how long it took from
    /// the start of the program to the first healthy answer.
    pub(super) fn restart(&mut self, binary: &Path) -> Result<Duration, Failure> {
        self.end();
        let started = Instant::now();
        self.child = spawn(binary, &self.home, self.port, self.idle_worktrees)?;
        self.wait_until_healthy()?;
        Ok(started.elapsed())
    }

    fn wait_until_healthy(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        while self.agent.get(self.url("/health")).call().is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Failure::new(format!("the server ended with {status}")));
            }
            if started.elapsed() > LIMIT {
                return Err(Failure::new("the server did not become healthy"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Where removals move what they take away.
    pub(super) fn trash_folder(&self) -> PathBuf {
        self.home.join("workspaces/.trash")
    }

    /// The process number.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The access token.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// `127.0.0.1:<port>`.
    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The full address of a path of the interface.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}/api/v1{path}", self.address())
    }

    /// Asks and gives the body as it came over the wire, compressed where a browser would get it so.
    pub(super) fn get_bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let answer = self.agent.get(self.url(path)).header("Accept-Encoding", "gzip, br");
        let mut answer =
            answer.header("Authorization", self.bearer()).call().map_err(|e| refused(path, &e))?;
        answer.body_mut().read_to_vec().map_err(|error| refused(path, &error))
    }

    /// Asks and reads the answer.
    pub(super) fn get(&self, path: &str) -> Result<Value, Failure> {
        let request = self.agent.get(self.url(path)).header("Authorization", self.bearer());
        let mut answer = request.call().map_err(|error| refused(path, &error))?;
        answer.body_mut().read_json().map_err(|error| refused(path, &error))
    }

    /// Sends and reads the answer.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.agent.post(self.url(path)).header("Authorization", self.bearer());
        let mut answer = request.send_json(body).map_err(|error| refused(path, &error))?;
        answer.body_mut().read_json().map_err(|error| refused(path, &error))
    }

    /// Changes and drops the answer.
    pub(super) fn patch(&self, path: &str, body: &Value) -> Result<(), Failure> {
        let request = self.agent.patch(self.url(path)).header("Authorization", self.bearer());
        let mut answer = request.send_json(body).map_err(|error| refused(path, &error))?;
        answer.body_mut().read_to_vec().map(drop).map_err(|error| refused(path, &error))
    }

    /// Registers a repository; gives its id.
    pub(super) fn add_repository(&self, path: &Path) -> Result<String, Failure> {
        let added = self.post("/repositories", &json!({ "path": path }))?;
        Ok(text(&added["repository"]["id"]))
    }

    /// Stores a task without starting it; gives its id.
    pub(super) fn add_task(&self, title: &str, repository_id: &str) -> Result<String, Failure> {
        let repositories = json!([{ "repository_id": repository_id }]);
        let task = self.post("/tasks", &json!({ "title": title, "repositories": repositories }))?;
        Ok(text(&task["task"]["id"]))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn end(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // Fails only when it has ended already.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The text of a JSON value; empty when it is none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn refused(path: &str, error: &ureq::Error) -> Failure {
    Failure::new(format!("the server refused {path}: {error}"))
}

fn spawn(binary: &Path, home: &Path, port: u16, idle_worktrees: u32) -> Result<Child, Failure> {
    let mut command = program(binary);
    command.arg("serve").arg("--home").arg(home).args(["--port", &port.to_string(), "--no-open"]);
    command.env("FREEHOLD_IDLE_WORKTREES", idle_worktrees.to_string());
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().map_err(|error| Failure::new(format!("could not start {}: {error}", binary.display())))
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| Failure::new(format!("no free port: {error}")))
}
