//! The only place that starts git.
//!
//! A command is an argument list, never a shell line. The environment of a child loses every `GIT_*` variable
//! that could point it at another repository, index or configuration: a server started from a Git hook would
//! otherwise work on the repository of the hook. Reads take no optional locks, so that they never make a
//! person's commit fail, and start no program that a repository names (hooks, fsmonitor, external diffs).

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::lock::RepositoryLock;
use crate::watch::{Ended, wait_within};
use crate::{GitError, Oid};

/// The oldest Git whose options are used here.
const NEEDED: &str = "2.34";
const NEEDED_NUMBER: (u32, u32) = (2, 34);

/// How long one other holder of a repository's lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(60);

/// How long a hook of a repository may keep a new worktree waiting.
const HOOK_LIMIT: Duration = Duration::from_secs(60);

/// How long a remote may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// How much of what git says on its error stream is kept.
const MAX_STDERR_BYTES: u64 = 16 * 1024;

/// `GIT_*` variables that children keep: where Git's own parts and the user's configuration are, and how to
/// reach a remote. Everything else is scrubbed, also variables that future versions of Git will know.
const KEPT_VARIABLES: [&str; 9] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ATTR_NOSYSTEM",
];
const KEPT_PREFIX: &str = "GIT_SSL_";

/// The git program of this machine, together with a folder for what its use leaves for a moment.
#[derive(Debug, Clone)]
pub struct Git {
    program: Arc<Program>,
}

#[derive(Debug, Clone)]
struct Program {
    path: PathBuf,
    version: String,
    number: (u32, u32),
    scratch_dir: PathBuf,
    lock_wait: Duration,
    hook_limit: Duration,
    fetch_limit: Duration,
    environment: Vec<(OsString, OsString)>,
}

impl Git {
    /// Finds git on `PATH` and refuses a version that is too old. Scratch indexes and what git prints are kept in
    /// `scratch_dir` for a moment; it is made when it is missing, and a process may share it with others.
    pub fn open(scratch_dir: &Path) -> Result<Self, GitError> {
        let path = find_on_path("git").ok_or(GitError::GitMissing { needed: NEEDED })?;
        std::fs::create_dir_all(scratch_dir).map_err(GitError::io("making the folder", scratch_dir))?;
        let scratch_dir =
            scratch_dir.canonicalize().map_err(GitError::io("opening the folder", scratch_dir))?;
        let program = Program {
            path,
            version: String::new(),
            number: NEEDED_NUMBER,
            scratch_dir,
            lock_wait: LOCK_WAIT,
            hook_limit: HOOK_LIMIT,
            fetch_limit: FETCH_LIMIT,
            environment: Vec::new(),
        };
        let mut git = Self { program: Arc::new(program) };
        let answer =
            git.bare_command("asking for the version of", Path::new("git")).arg("version").stdout()?;
        let answer = String::from_utf8_lossy(&answer).trim().to_owned();
        let version = answer.strip_prefix("git version ").unwrap_or(&answer);
        let number = version_number(version).filter(|number| *number >= NEEDED_NUMBER);
        let number = number.ok_or_else(|| GitError::GitTooOld { found: version.into(), needed: NEEDED })?;
        let program = Arc::make_mut(&mut git.program);
        program.version = version.to_owned();
        program.number = number;
        Ok(git)
    }

    /// The version of the git program, for example `2.47.3`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.program.version
    }

    /// Sets an environment variable for every git it starts, for example `GIT_CONFIG_GLOBAL`.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Arc::make_mut(&mut self.program).environment.push((name.into(), value.into()));
        self
    }

    /// Sets how long one other holder of a repository's lock is waited for; 60 seconds unless set.
    #[must_use]
    pub fn with_lock_wait(mut self, limit: Duration) -> Self {
        Arc::make_mut(&mut self.program).lock_wait = limit;
        self
    }

    /// Sets how long a hook of a repository may keep a new worktree waiting; 60 seconds unless set. The worktree is
    /// complete by then, so a hook that takes longer is ended and the worktree stays.
    #[must_use]
    pub fn with_hook_limit(mut self, limit: Duration) -> Self {
        Arc::make_mut(&mut self.program).hook_limit = limit;
        self
    }

    /// Sets how long a remote may take to answer and to send; two minutes unless set.
    #[must_use]
    pub fn with_fetch_limit(mut self, limit: Duration) -> Self {
        Arc::make_mut(&mut self.program).fetch_limit = limit;
        self
    }

    pub(crate) fn hook_limit(&self) -> Duration {
        self.program.hook_limit
    }

    pub(crate) fn lock_wait(&self) -> Duration {
        self.program.lock_wait
    }

    pub(crate) fn scratch_dir(&self) -> &Path {
        &self.program.scratch_dir
    }

    pub(crate) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.program.number >= (major, minor)
    }

    /// Begins a command that looks at the repository or worktree at `subject` and changes nothing.
    pub(crate) fn read(&self, operation: &'static str, subject: &Path) -> GitCommand {
        let mut command = self.trusting_command(operation, subject);
        command.command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
        for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false"] {
            command = command.arg("-c").arg(setting);
        }
        command.arg("-C").arg(subject)
    }

    /// Begins a command that changes the repository whose lock is given.
    pub(crate) fn write(
        &self,
        operation: &'static str,
        subject: &Path,
        lock: &RepositoryLock,
    ) -> LockedCommand {
        let mut command = self.trusting_command(operation, subject);
        for setting in ["gc.auto=0", "maintenance.auto=false", "worktree.useRelativePaths=false"] {
            command = command.arg("-c").arg(setting);
        }
        LockedCommand { command: command.arg("-C").arg(subject), lock: lock.clone() }
    }

    /// Begins a command that brings objects into the repository whose lock is given and talks over pipes, as what
    /// it is given may be large. It changes nothing that others see, and runs no hook.
    pub(crate) fn feed(&self, operation: &'static str, subject: &Path, lock: &RepositoryLock) -> GitCommand {
        let mut command = self.trusting_command(operation, subject);
        command.command.env("GIT_NO_LAZY_FETCH", "1");
        for setting in ["gc.auto=0", "maintenance.auto=false", "core.hooksPath=/dev/null"] {
            command = command.arg("-c").arg(setting);
        }
        debug_assert!(subject.starts_with(lock.common_dir()), "the lock is that of another repository");
        command.arg("-C").arg(subject)
    }

    /// Begins a command that speaks with a remote: it asks nobody for a password, starts no hook and no upkeep, and
    /// does not take longer than the limit.
    pub(crate) fn reach(&self, operation: &'static str, subject: &Path) -> Result<GitCommand, GitError> {
        let mut command = self.trusting_command(operation, subject);
        command.command.env_remove("SSH_ASKPASS").env("GCM_INTERACTIVE", "never");
        for setting in
            ["gc.auto=0", "maintenance.auto=false", "core.hooksPath=/dev/null", "core.fsmonitor=false"]
        {
            command = command.arg("-c").arg(setting);
        }
        let [stdout, stderr] = [self.scratch_file()?, self.scratch_file()?];
        command.bounds = Some(Bounds { limit: self.program.fetch_limit, stdout, stderr });
        Ok(command.arg("-C").arg(subject))
    }

    /// An empty file without a name, which is gone when it is closed.
    fn scratch_file(&self) -> Result<File, GitError> {
        static TICKETS: AtomicU64 = AtomicU64::new(0);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        let path = self.program.scratch_dir.join(format!("said-{}-{ticket}.out", std::process::id()));
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = opened.map_err(GitError::io("opening", &path))?;
        std::fs::remove_file(&path).map_err(GitError::io("removing", &path))?;
        Ok(file)
    }

    /// An environment variable as the children get it.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let set = self.program.environment.iter().rev().find(|(set, _)| set == name);
        set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
    }

    /// Whether Git opens what is at a path.
    pub(crate) fn opens(&self, path: &Path) -> bool {
        let command = self.bare_command("opening", path).arg("-C").arg(path).args(["rev-parse", "--git-dir"]);
        command.output().is_ok_and(|output| output.is_success())
    }

    /// Begins a command that opens what belongs to a repository that a person trusts.
    fn trusting_command(&self, operation: &'static str, subject: &Path) -> GitCommand {
        let command = self.bare_command(operation, subject);
        match self.untold_safe_path(subject) {
            None => command,
            Some(path) => {
                let mut setting = OsString::from("safe.directory=");
                setting.push(path);
                command.arg("-c").arg(setting)
            }
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where git is started, with a clean environment"
    )]
    fn bare_command(&self, operation: &'static str, subject: &Path) -> GitCommand {
        let mut command = Command::new(&self.program.path);
        for (name, _) in std::env::vars_os() {
            if is_scrubbed(&name) {
                command.env_remove(name);
            }
        }
        command.env_remove("LANGUAGE").env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.program.environment.iter().map(|(name, value)| (name, value)));
        // Not the server's own folder, which may be gone; `-C` says where the work is.
        command.current_dir("/").arg("--no-pager");
        let subject = subject.to_owned();
        GitCommand { command, operation, subject, input: Vec::new(), limit: None, bounds: None }
    }
}

fn is_scrubbed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("GIT_") && !name.starts_with(KEPT_PREFIX) && !KEPT_VARIABLES.contains(&name.as_ref())
}

/// Finds a program by the absolute entries of `PATH`; a relative entry would find it in whatever folder is
/// worked on.
fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let candidates = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    candidates.map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn version_number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// How a git ended and what it printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// Whether more was printed than was wanted; the rest is lost and the code means nothing.
    pub(crate) is_cut: bool,
}

impl Output {
    pub(crate) fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// One git to be started, and what it is started for.
pub(crate) struct GitCommand {
    command: Command,
    operation: &'static str,
    subject: PathBuf,
    input: Vec<u8>,
    limit: Option<u64>,
    bounds: Option<Bounds>,
}

/// A limit of time, and where the child prints. Not into pipes: an ssh may leave a shared connection behind that
/// keeps them open for hours.
struct Bounds {
    limit: Duration,
    stdout: File,
    stderr: File,
}

impl GitCommand {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives the child these bytes to read.
    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = bytes;
        self
    }

    /// Keeps at most so many bytes of what the child prints and ends it when it prints more.
    pub(crate) fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// Runs to the end and returns what was printed; a failure is an error.
    pub(crate) fn stdout(self) -> Result<Vec<u8>, GitError> {
        let (operation, subject) = (self.operation, self.subject.clone());
        let output = self.output()?;
        if output.is_success() { Ok(output.stdout) } else { Err(failure(operation, &subject, &output)) }
    }

    /// Runs a command that answers yes or no by ending with 0 or 1 and returns what a yes printed.
    pub(crate) fn answer(self) -> Result<Option<Vec<u8>>, GitError> {
        let (operation, subject) = (self.operation, self.subject.clone());
        let output = self.output()?;
        match output.code {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(failure(operation, &subject, &output)),
        }
    }

    /// Writes to the child and reads from it at the same time, as much as either side likes; a failure of any
    /// side is an error.
    pub(crate) fn converse<T>(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), GitError> + Send,
        read: impl FnOnce(&mut dyn Read) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (operation, subject) = (self.operation, self.subject);
        let child = self.command.spawn();
        let mut child =
            child.map_err(|source| GitError::Spawn { operation, subject: subject.clone(), source })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || stdin.map_or(Ok(()), |mut stdin| write(&mut stdin)));
            let stderr = scope.spawn(move || stderr.map(drain).unwrap_or_default());
            let value = match stdout {
                Some(mut stdout) => read(&mut stdout),
                None => read(&mut std::io::empty()),
            };
            if value.is_err() {
                _ = child.kill();
            }
            let waited = child.wait().map_err(GitError::io("waiting for a git that works on", &subject));
            let written = writer.join();
            let stderr = stderr.join().unwrap_or_default();
            let output = Output { code: waited?.code(), stdout: Vec::new(), stderr, is_cut: false };
            let value = value?;
            if !output.is_success() {
                return Err(failure(operation, &subject, &output));
            }
            let lost =
                || GitError::io("writing to a git that works on", &subject)(std::io::ErrorKind::Other.into());
            written.unwrap_or_else(|_| Err(lost()))?;
            Ok(value)
        })
    }

    /// Runs to the end, whatever that is.
    pub(crate) fn output(mut self) -> Result<Output, GitError> {
        if let Some(bounds) = self.bounds.take() {
            return self.output_within(bounds);
        }
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command.spawn();
        let (operation, subject) = (self.operation, self.subject);
        let child =
            child.map_err(|source| GitError::Spawn { operation, subject: subject.clone(), source })?;
        exchange(child, &self.input, self.limit)
            .map_err(GitError::io("talking to a git that works on", &subject))
    }

    /// Runs to the end, or until the limit passes and its process group is ended.
    fn output_within(self, bounds: Bounds) -> Result<Output, GitError> {
        let (mut command, operation, subject) = (self.command, self.operation, self.subject);
        let Bounds { limit, mut stdout, mut stderr } = bounds;
        let inherit = |file: &File| file.try_clone().map_err(GitError::io("sharing a file for", &subject));
        command.stdin(Stdio::null()).stdout(inherit(&stdout)?).stderr(inherit(&stderr)?).process_group(0);
        let child = command.spawn();
        let mut child =
            child.map_err(|source| GitError::Spawn { operation, subject: subject.clone(), source })?;
        let waited = wait_within(&mut child, limit, || true);
        let Ended { status, is_late } =
            waited.map_err(GitError::io("waiting for a git that works on", &subject))?;
        if is_late {
            return Err(GitError::TooSlow { operation, subject, limit_s: limit.as_secs() });
        }
        let mut kept = Vec::new();
        let read = stdout.rewind().and_then(|()| stdout.read_to_end(&mut kept));
        read.map_err(GitError::io("reading what was said about", &subject))?;
        _ = stderr.rewind();
        Ok(Output { code: status.code(), stdout: kept, stderr: drain(stderr), is_cut: false })
    }
}

/// Feeds and drains all three streams at once, so that neither side ever waits for the other.
fn exchange(mut child: Child, input: &[u8], limit: Option<u64>) -> std::io::Result<Output> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // A git that ends without reading everything says so by its exit code, not by a broken pipe.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let stderr = scope.spawn(move || stderr.map(drain).unwrap_or_default());
        let mut kept = Vec::new();
        let mut is_cut = false;
        if let Some(mut stdout) = stdout {
            match limit {
                None => _ = stdout.read_to_end(&mut kept)?,
                Some(limit) => {
                    _ = stdout.by_ref().take(limit + 1).read_to_end(&mut kept)?;
                    is_cut = kept.len() as u64 > limit;
                    kept.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                }
            }
        }
        if is_cut {
            child.kill()?;
        }
        let code = child.wait()?.code();
        let stderr = stderr.join().unwrap_or_default();
        Ok(Output { code, stdout: kept, stderr, is_cut })
    })
}

/// Reads a stream to its end and keeps its beginning.
fn drain(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let read = stream.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut kept);
    if read.is_ok() {
        _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// A git that changes a repository.
///
/// Its standard input is the open lock file: the lock belongs to the open file and not to a process, so a git
/// that outlives a killed server still holds it, and the next server waits until that git is done. Git gives
/// hooks and filters other inputs, so that no program of the repository can keep the lock.
///
/// What it prints goes to a file and not to a pipe: a hook may leave a program behind that keeps the pipe open
/// for hours.
pub(crate) struct LockedCommand {
    command: GitCommand,
    lock: RepositoryLock,
}

impl LockedCommand {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command = self.command.env(name, value);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command = self.command.args(arguments);
        self
    }

    /// Runs to the end; a failure is an error.
    pub(crate) fn run(self) -> Result<(), GitError> {
        self.finish(|command| Ok(Ended { status: command.status()?, is_late: false })).map(drop)
    }

    /// Runs to the end, but from the moment that `counts` says so at most for the limit; then everything that it
    /// started is ended with it, which is an error too.
    pub(crate) fn run_within(
        self,
        limit: Duration,
        counts: impl Fn() -> bool + Send,
    ) -> Result<(), GitError> {
        let (operation, subject) = (self.command.operation, self.command.subject.clone());
        let (is_late, printed) =
            self.finish(|command| wait_within(&mut command.process_group(0).spawn()?, limit, counts))?;
        if !is_late {
            return Ok(());
        }
        let message = format!("it took longer than {} s and was ended{}", limit.as_secs(), said(&printed));
        Err(GitError::Failed { operation, subject, message })
    }

    /// Runs with everything inherited, and tells whether it was late and, if so, what was printed.
    fn finish(
        self,
        run: impl FnOnce(&mut Command) -> std::io::Result<Ended>,
    ) -> Result<(bool, String), GitError> {
        let GitCommand { mut command, operation, subject, .. } = self.command;
        let mut printed = self.lock.output_file()?;
        let inherit = |file: &File| file.try_clone().map_err(GitError::io("sharing a file for", &subject));
        command.stdin(inherit(self.lock.file())?).stdout(inherit(&printed)?).stderr(inherit(&printed)?);
        let ended = run(&mut command);
        let Ended { status, is_late } =
            ended.map_err(|source| GitError::Spawn { operation, subject: subject.clone(), source })?;
        if status.success() && !is_late {
            return Ok((false, String::new()));
        }
        _ = printed.rewind();
        let stderr = drain(printed);
        if is_late {
            return Ok((true, stderr));
        }
        let output = Output { code: status.code(), stdout: Vec::new(), stderr, is_cut: false };
        Err(failure(operation, &subject, &output))
    }
}

fn said(printed: &str) -> String {
    let printed = printed.trim();
    if printed.is_empty() { String::new() } else { format!("; it said: {}", beginning(printed)) }
}

fn beginning(text: &str) -> String {
    text.chars().take(2_000).collect()
}

/// Turns a failed git into an error; the refusals that a person can do something about have their own.
fn failure(operation: &'static str, subject: &Path, output: &Output) -> GitError {
    let path = subject.to_owned();
    if output.stderr.contains("detected dubious ownership") {
        return GitError::DubiousOwnership { path };
    }
    if output.stderr.contains("not a git repository") {
        return GitError::NotARepository { path };
    }
    let message = output.stderr.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    let message = match (message.is_empty(), output.code) {
        (false, _) => beginning(message),
        (true, Some(code)) => format!("it ended with code {code} and said nothing"),
        (true, None) => "it was ended by a signal".to_owned(),
    };
    GitError::Failed { operation, subject: path, message }
}

/// Reads a path that git printed as a line of its own; the path itself may hold line breaks.
pub(crate) fn path_from_output(output: &[u8]) -> PathBuf {
    path_from_bytes(output.strip_suffix(b"\n").unwrap_or(output))
}

/// Takes bytes as the path they are on this system.
pub(crate) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

/// The commit that a revision names; none when it names none.
pub(crate) fn commit_of(git: &Git, dir: &Path, revision: &str) -> Result<Option<Oid>, GitError> {
    let revision = format!("{revision}^{{commit}}");
    let command = git.read("resolving a name in", dir).args(["rev-parse", "--verify", "--quiet"]);
    let found = command.args(["--end-of-options", &revision]).answer()?;
    found.map(|output| Oid::from_output(&output)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_git_variable_is_scrubbed_unless_it_is_known_to_be_harmless() {
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_NOT_YET_KNOWN"]
        {
            assert!(is_scrubbed(OsStr::new(name)), "{name}");
        }
        for name in ["GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO", "PATH", "HOME", "GITHUB_ACTIONS"] {
            assert!(!is_scrubbed(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn versions_of_every_packager_are_read() {
        assert_eq!(version_number("2.47.3"), Some((2, 47)));
        assert_eq!(version_number("2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version_number("2.45.1.windows.1"), Some((2, 45)));
        assert_eq!(version_number("nonsense"), None);
        assert!(version_number("2.34.0") >= Some(NEEDED_NUMBER));
        assert!(version_number("2.33.8") < Some(NEEDED_NUMBER));
    }
}
