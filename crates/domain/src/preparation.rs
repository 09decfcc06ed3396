//! What a new workspace gets besides its tracked files: copies, links, ports and set-up scripts.
//!
//! Terms: to *plant* is to put a file or link into a worktree that belongs to the main checkout. What was planted
//! is recorded, so that it is never taken for work of the task.

use crate::clock::Timestamp;
use crate::id::{EnvironmentId, EnvironmentRepoId, NodeId, RepositoryId, SetupId};
use crate::words;

/// The longest script in bytes.
pub const MAX_SCRIPT_BYTES: usize = 256 * 1024;
/// The most globs, and the most links, of one repository.
pub const MAX_PLANTED_ENTRIES: usize = 200;
/// The first and the last port that blocks are taken from.
pub const PORT_RANGE: (u16, u16) = (20_000, 29_999);
/// How many ports a workspace gets.
pub const PORTS_PER_WORKSPACE: u16 = 10;
/// How much of what a script printed is kept, in bytes; the end matters most.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// Where a repository may keep its own script, by kind; such a file is run only when its content is trusted.
pub const SETUP_FILE: &str = ".freehold/setup.sh";
/// The same for the script that runs before a workspace is given back.
pub const TEARDOWN_FILE: &str = ".freehold/teardown.sh";

words! {
    /// What happens to submodules in a new worktree.
    pub enum Submodules("submodule setting") {
        /// Their folders stay empty.
        Off = "off",
        /// They are checked out from the copies that the main checkout has.
        On = "on",
    }
}

/// What a person set for the workspaces of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositorySettings {
    /// The repository.
    pub repository_id: RepositoryId,
    /// Patterns in the syntax of `.gitignore`: ignored files of the main checkout that are copied.
    pub copy: Vec<String>,
    /// Paths that become links into the main checkout, relative to its top.
    pub links: Vec<String>,
    /// What `sh` runs in a new worktree; empty for nothing.
    pub setup: String,
    /// What `sh` runs before a worktree is given back; empty for nothing.
    pub teardown: String,
    /// What happens to submodules.
    pub submodules: Submodules,
}

impl RepositorySettings {
    /// Holds for a repository for which nothing was set.
    #[must_use]
    pub fn unset(repository_id: RepositoryId) -> Self {
        let (copy, links) = (Vec::new(), Vec::new());
        let (setup, teardown) = (String::new(), String::new());
        Self { repository_id, copy, links, setup, teardown, submodules: Submodules::Off }
    }

    /// The script of a kind; none when none was set.
    #[must_use]
    pub fn script(&self, kind: SetupKind) -> Option<&str> {
        let script = match kind {
            SetupKind::Setup => &self.setup,
            SetupKind::Teardown => &self.teardown,
        };
        Some(script.as_str()).filter(|script| !script.trim().is_empty())
    }
}

/// Says why a path cannot name something inside a checkout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside the repository: {reason}")]
pub struct InvalidInnerPath {
    /// The path that was refused.
    pub path: String,
    /// Why.
    pub reason: &'static str,
}

/// Accepts a path that stays inside a checkout and out of its `.git`; gives it without a slash at the end.
pub fn inner_path(path: &str) -> Result<String, InvalidInnerPath> {
    let invalid = |reason| Err(InvalidInnerPath { path: path.to_owned(), reason });
    let trimmed = path.trim_end_matches('/').trim_start_matches("./");
    if trimmed.is_empty() {
        return invalid("it is empty");
    }
    if trimmed.starts_with('/') {
        return invalid("it is absolute");
    }
    if trimmed.chars().any(char::is_control) {
        return invalid("it holds a control character");
    }
    for part in trimmed.split('/') {
        match part {
            "" | "." | ".." => return invalid("it has an empty, `.` or `..` part"),
            part if part.eq_ignore_ascii_case(".git") => return invalid("it leads into `.git`"),
            _ => {}
        }
    }
    Ok(trimmed.to_owned())
}

/// A file or link that Freehold put into a worktree.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Planted {
    /// Where, relative to the worktree.
    pub path: String,
    /// What it was copied from or leads to: an absolute path in the main checkout.
    pub source: String,
    /// Whether it is a link.
    pub is_link: bool,
}

/// What was not planted, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// The path, relative to the checkout.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What a worktree got besides its tracked files.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Preparation {
    /// The files and links that were planted.
    pub planted: Vec<Planted>,
    /// How many bytes the copied files have.
    pub copied_bytes: u64,
    /// What was not planted; the first hundred.
    pub skipped: Vec<Skipped>,
    /// How many were not planted.
    pub skipped_total: u64,
    /// What a person should know about the worktree, in sentences.
    pub notes: Vec<String>,
}

impl Preparation {
    /// The paths of the links.
    pub fn links(&self) -> impl Iterator<Item = &Planted> {
        self.planted.iter().filter(|planted| planted.is_link)
    }
}

words! {
    /// When a script runs.
    pub enum SetupKind("set-up kind") {
        /// After the worktree was made.
        Setup = "setup",
        /// Before the worktree is given back.
        Teardown = "teardown",
    }
}

words! {
    /// How far one run of a script came.
    pub enum SetupState("set-up state") {
        /// Not begun.
        Pending = "pending",
        /// Running.
        Running = "running",
        /// Ended with exit code 0.
        Succeeded = "succeeded",
        /// Ended otherwise, or could not be started.
        Failed = "failed",
        /// Ended by Freehold when its time was over.
        TimedOut = "timed_out",
        /// Ended because the server or the task ended.
        Interrupted = "interrupted",
        /// Not run: nobody trusted the content of the repository's own script.
        Untrusted = "untrusted",
    }
}

impl SetupState {
    /// Whether nothing more will happen.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// One run of a script in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Its id; also the execution mark of its processes.
    pub id: SetupId,
    /// The repository of the environment.
    pub environment_repo_id: EnvironmentRepoId,
    /// The server that runs it.
    pub node_id: NodeId,
    /// When the script runs.
    pub kind: SetupKind,
    /// How far it came.
    pub state: SetupState,
    /// The exit code, when it ended by itself.
    pub exit_code: Option<i64>,
    /// The end of what it printed, or why it was not run.
    pub output: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// Ports that are reserved for one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortBlock {
    /// The server on whose machine they are.
    pub node_id: NodeId,
    /// The workspace.
    pub environment_id: EnvironmentId,
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl PortBlock {
    /// The last port.
    #[must_use]
    pub const fn last(&self) -> u16 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }

    /// The variables in which programs of the workspace find them.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, String); 3] {
        let first = self.first.to_string();
        [
            ("FREEHOLD_PORT", first.clone()),
            ("FREEHOLD_PORTS", format!("{first}-{}", self.last())),
            ("PORT", first),
        ]
    }
}

/// Adds text to the end of an output and forgets the beginning when it is too long.
pub fn append_output(output: &mut String, text: &str) {
    output.push_str(text);
    if output.len() > MAX_OUTPUT_BYTES {
        let from = output.len() - MAX_OUTPUT_BYTES;
        let from = (from..output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
        output.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_the_repository_or_enters_git_is_refused() {
        for path in ["", "/", "/etc", "../x", "a/../b", ".git/hooks", "a/.GIT", "a//b", "a\nb", "."] {
            assert!(inner_path(path).is_err(), "{path:?}");
        }
        assert_eq!(inner_path("./node_modules/").unwrap(), "node_modules");
        assert_eq!(inner_path("a/.gitx/b").unwrap(), "a/.gitx/b");
    }

    #[test]
    fn a_long_output_keeps_its_end_in_whole_characters() {
        let mut output = String::new();
        for _ in 0..3 {
            append_output(&mut output, &"é".repeat(MAX_OUTPUT_BYTES / 3));
        }
        append_output(&mut output, "the end");
        assert!(output.len() <= MAX_OUTPUT_BYTES && output.ends_with("éthe end"));
    }
}
