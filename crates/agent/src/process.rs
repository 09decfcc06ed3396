//! The only place that starts agents, and the place that ends them.
//!
//! Terms: the *leader* is the process that was started; its number is also the number of its *process group*.
//! The *execution mark* is the variable [`EXECUTION_VARIABLE`] in the environment of the leader, inherited by
//! everything it starts. Invariant: once the leader is gone, whether by itself or by us, no process of its
//! group, of its control group or with its mark is left.
//!
//! Three nets, because each has holes: a process can leave its group (`setsid`), a control group often may not
//! be made, and a mark can be wiped from an environment. The leader is reaped only after the nets are empty:
//! until then its number cannot be given to a stranger, so a signal to the group cannot hit one.

mod control_group;
mod group;
mod program;
mod sweep;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::environment::allowed_variables;
use crate::error::{AgentError, last_lines};
pub(crate) use group::{Ending, ProcessGroup};
pub use sweep::{end_execution, end_group, is_running};

/// The variable that marks every process of an execution.
///
/// Its value is taken from [`AgentCommand::env`] when set there, so that a caller can record it and later find
/// what is left with [`end_execution`]; otherwise it is made up.
pub const EXECUTION_VARIABLE: &str = "FREEHOLD_EXECUTION";

/// A program to run as an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// An absolute path, or a name to look up in `PATH`.
    pub program: PathBuf,
    /// Its arguments; never given to a shell.
    pub args: Vec<String>,
    /// Variables it gets beyond the allowed ones.
    pub env: BTreeMap<String, String>,
    /// The directory it works in; absolute.
    pub cwd: PathBuf,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The process number, also of its process group.
    pub pid: u32,
    /// The start time in clock ticks since boot, from `/proc/<pid>/stat`; 0 where the system does not tell.
    pub start_ticks: u64,
    /// The kernel's boot id; empty where the system does not tell.
    pub boot_id: String,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitReport {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The last lines of its standard error.
    pub stderr_tail: String,
}

impl ExitReport {
    pub(crate) fn new(status: Option<ExitStatus>, stderr_tail: String) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            stderr_tail,
        }
    }
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}.")?,
            (None, Some(signal)) => write!(f, "ended by signal {signal}.")?,
            (None, None) => write!(f, "the way it ended is not known.")?,
        }
        f.write_str(&last_lines(&self.stderr_tail))
    }
}

/// A started agent with its three pipes.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) group: Arc<ProcessGroup>,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts the program as leader of its own process group, with the allowed environment only.
pub(crate) fn spawn(command: &AgentCommand) -> Result<Spawned, AgentError> {
    let name = command.program.display().to_string();
    let program = program::find(command)?;
    if !command.cwd.is_dir() {
        return Err(AgentError::DirectoryMissing { program: name, cwd: command.cwd.clone() });
    }
    let execution = command.env.get(EXECUTION_VARIABLE).cloned().unwrap_or_else(new_execution);
    let mut child =
        prepare(command, &program, &execution).spawn().map_err(|error| spawn_error(&name, &error))?;
    // Before anything else can fail: from here on the group's owner ends it.
    let group = Arc::new(ProcessGroup::adopt(child.id().unwrap_or_default(), execution));
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Spawned { child, group, stdin, stdout, stderr }),
        _ => Err(AgentError::Spawn { program: name, reason: "its standard streams are missing".to_owned() }),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts agents, each with an owner")]
fn prepare(command: &AgentCommand, program: &Path, execution: &str) -> tokio::process::Command {
    let mut prepared = tokio::process::Command::new(program);
    prepared
        .args(&command.args)
        .env_clear()
        .envs(allowed_variables())
        .envs(&command.env)
        .env(EXECUTION_VARIABLE, execution)
        // Programs trust PWD when it names their directory; the server's own would mislead them.
        .env("PWD", &command.cwd)
        .current_dir(&command.cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    prepared
}

fn spawn_error(program: &str, error: &std::io::Error) -> AgentError {
    let (program, reason) = (program.to_owned(), error.to_string());
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => AgentError::NotExecutable { program, reason },
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            AgentError::NotExecutable { program, reason }
        }
        _ => AgentError::Spawn { program, reason },
    }
}

/// Makes a mark that no other execution of this boot has: this process, when it started, and a count.
fn new_execution() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let own = table::identify(std::process::id());
    format!("{}-{}-{}", own.pid, own.start_ticks, COUNT.fetch_add(1, Ordering::Relaxed))
}
