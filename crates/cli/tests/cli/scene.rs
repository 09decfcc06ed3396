//! A home folder and a repository of a test's own, and the real binary.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use freehold_testkit::repo::TempRepo;
use serde_json::Value;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A home folder and a repository, gone when dropped.
pub(crate) struct Scene {
    pub(crate) repo: TempRepo,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Answer {
    /// The JSON document of a command that succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.out.trim_end().lines().count(), 1, "exactly one document: {}", self.out);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The error of a command that failed as expected and answered nothing.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> Value {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        let error: Value =
            serde_json::from_str(self.err.trim()).unwrap_or_else(|error| panic!("{error}: {}", self.err));
        assert_eq!(error.as_object().map(|object| object.len()), Some(1), "{error}");
        error["error"].clone()
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { repo: TempRepo::new() }
    }

    /// A scene whose repository is registered as `repo`.
    pub(crate) fn with_repository() -> Self {
        let scene = Self::new();
        scene.run(&["repo", "add", scene.repo.path().to_str().unwrap()]).json();
        scene
    }

    /// The home folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.repo.home().join("freehold")
    }

    /// Writes a script for the demo agent and gives its path.
    pub(crate) fn script(&self, name: &str, script: &Value) -> PathBuf {
        let path = self.repo.home().join(name);
        std::fs::write(&path, script.to_string()).unwrap();
        path
    }

    /// Registers an agent that follows a script.
    pub(crate) fn scripted_agent(&self, name: &str, script: &Value) {
        let path = self.script(&format!("{name}.json"), script);
        let words = ["agent", "add", name, "--", program(), "demo-agent", "--script", path.to_str().unwrap()];
        self.run(&words).json();
    }

    /// Runs a command with `--json` to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Answer {
        ended(&mut self.command(&[&["--json"], words].concat()))
    }

    /// Runs a command as a person would, with the output not on a terminal.
    pub(crate) fn read(&self, words: &[&str]) -> Answer {
        ended(&mut self.command(words))
    }

    /// The command, to be changed before it runs.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = plain(&[]);
        command.envs(self.repo.environment()).current_dir(self.repo.home());
        command.env("FREEHOLD_HOME", self.home()).env("FREEHOLD_AGENT_HANDSHAKE_MS", "1000");
        command.env("FREEHOLD_IDLE_WORKTREES", "0");
        command.args(words);
        command
    }

    /// Starts a server that dies at a failpoint.
    #[cfg(feature = "failpoints")]
    pub(crate) fn serve_until(&self, failpoint: &str) -> Server {
        let mut command = self.command(&["serve", "--port", "0", "--no-open", "--json"]);
        Server::start(command.env("FAILPOINTS", format!("{failpoint}=return")))
    }

    /// Starts a server and waits until it is healthy.
    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        let mut command = self.command(&["serve", "--port", "0", "--no-open", "--json"]);
        Server::start(command.args(options))
    }
}

/// The binary under test.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_freehold")
}

/// A command without any of Freehold's own variables.
#[expect(clippy::disallowed_methods, reason = "tests start the binary under test")]
pub(crate) fn plain(words: &[&str]) -> Command {
    let mut command = Command::new(program());
    for name in ["HOME", "DATABASE", "LOG"] {
        command.env_remove(format!("FREEHOLD_{name}"));
    }
    command.env_remove("COLUMNS").env_remove("FREEHOLD_DEMO_SCRIPT").stdin(Stdio::null()).args(words);
    command
}

/// Runs a command to its end.
pub(crate) fn ended(command: &mut Command) -> Answer {
    let output = command.output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A server that was started by a test; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// What it printed once it was healthy.
    pub(crate) started: Value,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, started: serde_json::from_str(&line).unwrap_or_default() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end and gives its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Waits until it has ended by itself.
    #[cfg(feature = "failpoints")]
    pub(crate) fn has_died(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills it with a signal that it cannot see coming.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The id in a JSON value.
#[track_caller]
pub(crate) fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

/// The processes that work in a folder.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    let table = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = table.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let works_there =
        |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    pids.filter(works_there).collect()
}
