//! What can go wrong with Git: one variant per operation, each naming its subject.

use std::path::PathBuf;

/// Says what Git, or the file system under it, could not do.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No `git` program in `PATH`.
    #[error("the git program was not found in PATH: {source}; install Git 2.34 or newer")]
    ProgramMissing {
        /// Why it could not be started.
        source: std::io::Error,
    },
    /// The `git` program is too old.
    #[error("git {found} is too old; Freehold needs {needed} or newer")]
    TooOld {
        /// The version found.
        found: String,
        /// The oldest version that works.
        needed: &'static str,
    },
    /// A command could not be run.
    #[error("cannot run git {command}: {source}")]
    Spawn {
        /// The sub-command.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("git {command} failed in {}: {message}", directory.display())]
    Failed {
        /// The sub-command.
        command: String,
        /// Where it ran.
        directory: PathBuf,
        /// The last lines of what it said.
        message: String,
    },
    /// A command's output cannot be understood.
    #[error("git {command} in {} put out something unexpected: {excerpt:?}", directory.display())]
    Unreadable {
        /// The sub-command.
        command: String,
        /// Where it ran.
        directory: PathBuf,
        /// A part of the output.
        excerpt: String,
    },
    /// A text is not an object id.
    #[error("{text:?} is not an object id")]
    InvalidOid {
        /// The text, shortened.
        text: String,
    },
    /// A path is not absolute.
    #[error("{} is not an absolute path", path.display())]
    RelativePath {
        /// The path.
        path: PathBuf,
    },
    /// Nothing is at the path.
    #[error("there is nothing at {}", path.display())]
    PathMissing {
        /// The path.
        path: PathBuf,
    },
    /// The path is a file.
    #[error("{} is not a folder", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The folder belongs to no repository.
    #[error("{} is not in a Git repository; run `git init` there first, or name another folder", path.display())]
    NotARepository {
        /// The path.
        path: PathBuf,
    },
    /// The repository has no commit.
    #[error("the repository {} has no commit yet; make a first commit, then add it", path.display())]
    NoCommit {
        /// The repository.
        path: PathBuf,
    },
    /// The repository has a work tree that is not there.
    #[error("the repository {} says that its files are elsewhere, but they are not there: {message}", path.display())]
    WorkTreeMissing {
        /// The repository.
        path: PathBuf,
        /// What Git says.
        message: String,
    },
    /// Git does not trust the repository's owner.
    #[error(
        "the repository {} belongs to another user, and Git refuses it; add it to safe.directory if you trust it",
        path.display()
    )]
    DubiousOwnership {
        /// The repository.
        path: PathBuf,
    },
    /// No branch is the default and none can be told.
    #[error("the repository {} has no branch checked out and no single branch to start from", path.display())]
    NoDefaultBranch {
        /// The repository.
        path: PathBuf,
    },
    /// A name leads to no commit.
    #[error("{name:?} is no branch, tag or commit of {}{}", repo.display(), near(near_names))]
    UnknownStart {
        /// The repository.
        repo: PathBuf,
        /// The name.
        name: String,
        /// Names that are alike.
        near_names: Vec<String>,
    },
    /// A branch is there already.
    #[error("the branch {branch:?} exists already in {}", repo.display())]
    BranchExists {
        /// The repository.
        repo: PathBuf,
        /// The branch.
        branch: String,
    },
    /// Something is at the path of a new worktree.
    #[error("{} exists already; nothing was changed", path.display())]
    PathExists {
        /// The path.
        path: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {operation} {}: {source}", path.display())]
    FileSystem {
        /// What was tried.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The lock of a repository was not free in time.
    #[error("the repository {} is busy: {holder} has held its lock for {waited_s} s", common_dir.display())]
    LockBusy {
        /// The common directory.
        common_dir: PathBuf,
        /// Who holds it, as far as known.
        holder: String,
        /// How long was waited, in seconds.
        waited_s: u64,
    },
    /// A path does not stay inside its worktree.
    #[error("{path:?} is not a path inside {}", worktree.display())]
    OutsideWorktree {
        /// The path, shortened.
        path: String,
        /// The worktree.
        worktree: PathBuf,
    },
    /// The path is not a worktree of the repository.
    #[error("{} is not a worktree of the recorded repository: {reason}", path.display())]
    NotTheWorktree {
        /// The path.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
}

impl GitError {
    /// Whether what the caller named is wrong, rather than the state of the machine.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        matches!(
            self,
            Self::InvalidOid { .. }
                | Self::RelativePath { .. }
                | Self::PathMissing { .. }
                | Self::NotADirectory { .. }
                | Self::NotARepository { .. }
                | Self::NoCommit { .. }
                | Self::WorkTreeMissing { .. }
                | Self::DubiousOwnership { .. }
                | Self::NoDefaultBranch { .. }
                | Self::UnknownStart { .. }
                | Self::OutsideWorktree { .. }
        )
    }
}

fn near(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(", ")) }
}
