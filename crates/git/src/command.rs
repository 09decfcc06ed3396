//! Running `git`: the only place that starts it.
//!
//! Arguments are given one by one, never through a shell. The child's environment has none of the variables
//! that could lead Git to another repository. A *read* takes no optional locks and runs nothing that the
//! repository configures: no hooks, no file-system monitor, no external diff.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use crate::GitError;

/// The oldest version that has everything used here.
const OLDEST: (u32, u32) = (2, 34);
const OLDEST_TEXT: &str = "2.34";
/// How much of a failed command's last words is kept, in bytes.
const STDERR_TAIL: usize = 2_000;

/// The `git` program with the folder of its locks; cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    version: String,
    lock_dir: PathBuf,
}

impl Git {
    /// Finds `git` in `PATH` and checks its version. `lock_dir` is where lock files live; it is made if absent.
    pub fn open(lock_dir: &Path) -> Result<Self, GitError> {
        let output = command().arg("version").output();
        let output = output.map_err(|source| GitError::ProgramMissing { source })?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = text.strip_prefix("git version ").unwrap_or(&text).to_owned();
        if parse_version(&version).is_none_or(|found| found < OLDEST) {
            return Err(GitError::TooOld { found: version, needed: OLDEST_TEXT });
        }
        std::fs::create_dir_all(lock_dir).map_err(|source| GitError::FileSystem {
            operation: "make the lock folder",
            path: lock_dir.to_owned(),
            source,
        })?;
        Ok(Self { inner: Arc::new(Inner { version, lock_dir: lock_dir.to_owned() }) })
    }

    /// The version of the program, for example `2.47.3`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    pub(crate) fn lock_dir(&self) -> &Path {
        &self.inner.lock_dir
    }
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', ' ']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// One `git` command to be run in a directory.
pub(crate) struct GitCommand {
    name: String,
    directory: PathBuf,
    command: Command,
}

impl GitCommand {
    /// A command that only looks.
    pub(crate) fn read(directory: &Path, name: &str) -> Self {
        let mut git = Self::new(directory, name);
        git.command.env("GIT_OPTIONAL_LOCKS", "0");
        git.command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        git.command.arg(name);
        git
    }

    /// A command that changes something; `config` is a list of `name=value`.
    pub(crate) fn change(directory: &Path, name: &str, config: &[&str]) -> Self {
        let mut git = Self::new(directory, name);
        for setting in ["gc.auto=0", "maintenance.auto=false"].iter().chain(config) {
            git.command.args(["-c", setting]);
        }
        git.command.arg(name);
        git
    }

    fn new(directory: &Path, name: &str) -> Self {
        let mut command = command();
        command.arg("-C").arg(directory).arg("--no-pager").stdin(Stdio::null());
        Self { name: name.to_owned(), directory: directory.to_owned(), command }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives the child a file as its standard input.
    pub(crate) fn stdin(mut self, file: std::fs::File) -> Self {
        self.command.stdin(Stdio::from(file));
        self
    }

    /// Runs the command; a failure to start it is the only error.
    pub(crate) fn output(mut self) -> Result<(Output, Ran), GitError> {
        let output = self.command.output();
        let output = output.map_err(|source| GitError::Spawn { command: self.name.clone(), source })?;
        Ok((output, Ran { name: self.name, directory: self.directory }))
    }

    /// Runs the command and returns its standard output; fails when it fails.
    pub(crate) fn run(self) -> Result<Vec<u8>, GitError> {
        let (output, ran) = self.output()?;
        if output.status.success() { Ok(output.stdout) } else { Err(ran.failed(&output)) }
    }

    /// Runs the command and returns its output without the final line break; fails when it is not UTF-8.
    pub(crate) fn run_text(self) -> Result<String, GitError> {
        let ran = Ran { name: self.name.clone(), directory: self.directory.clone() };
        let text = String::from_utf8(self.run()?).map_err(|error| ran.unreadable(error.as_bytes()))?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Runs a command whose exit code 1 means "no".
    pub(crate) fn run_question(self) -> Result<bool, GitError> {
        let (output, ran) = self.output()?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(ran.failed(&output)),
        }
    }
}

/// What was run, for messages.
pub(crate) struct Ran {
    name: String,
    directory: PathBuf,
}

impl Ran {
    pub(crate) fn failed(self, output: &Output) -> GitError {
        GitError::Failed {
            command: self.name,
            directory: self.directory,
            message: last_words(&output.stderr),
        }
    }

    pub(crate) fn unreadable(self, output: &[u8]) -> GitError {
        let excerpt = String::from_utf8_lossy(output).chars().take(200).collect();
        GitError::Unreadable { command: self.name, directory: self.directory, excerpt }
    }
}

/// The end of what a command said on its standard error.
pub(crate) fn last_words(stderr: &[u8]) -> String {
    let tail = &stderr[stderr.len().saturating_sub(STDERR_TAIL)..];
    String::from_utf8_lossy(tail).trim().to_owned()
}

/// Variables of Git that say how to reach the network or where its own files are, not which repository to use.
const KEPT_VARIABLES: [&str; 8] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
];

#[expect(clippy::disallowed_methods, reason = "this module is the one that starts git")]
fn command() -> Command {
    let mut command = Command::new("git");
    for name in inherited_git_variables() {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    command
}

fn inherited_git_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") && !KEPT_VARIABLES.contains(&name.as_ref())
    })
}
