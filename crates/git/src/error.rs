//! What can go wrong: one variant per operation or refusal, each with its subject and what to do next.

use std::path::{Path, PathBuf};

/// Why Git, or Freehold on Git's behalf, refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// No git program was found.
    #[error("the program git was not found on PATH; install Git {needed} or newer")]
    GitMissing {
        /// The oldest version that works.
        needed: &'static str,
    },
    /// The git program is too old.
    #[error("Git {found} is too old; install Git {needed} or newer")]
    GitTooOld {
        /// The version found.
        found: String,
        /// The oldest version that works.
        needed: &'static str,
    },
    /// The git program could not be started.
    #[error("git could not be started for {operation} {}", subject.display())]
    Spawn {
        /// What it was started for, for example `listing the branches of`.
        operation: &'static str,
        /// What it was to work on.
        subject: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The git program reported a failure.
    #[error("git failed at {operation} {}: {message}", subject.display())]
    Failed {
        /// What it was doing.
        operation: &'static str,
        /// What it worked on.
        subject: PathBuf,
        /// What it said, shortened.
        message: String,
    },
    /// The git program printed something that was not expected.
    #[error("git gave an answer that could not be read at {operation} {}: {excerpt:?}", subject.display())]
    Unreadable {
        /// What it was doing.
        operation: &'static str,
        /// What it worked on.
        subject: PathBuf,
        /// The beginning of what it printed.
        excerpt: String,
    },
    /// A file operation failed.
    #[error("{operation} {} failed: {source}", path.display())]
    Io {
        /// What was tried, for example `reading`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A text is no object id.
    #[error("{text:?} is not the full id of a commit")]
    InvalidOid {
        /// The text, shortened.
        text: String,
    },
    /// A path is not absolute.
    #[error("{} is a relative path; give the absolute path", path.display())]
    RelativePath {
        /// The path.
        path: PathBuf,
    },
    /// Nothing is at the path.
    #[error("{} does not exist; check the path", path.display())]
    PathMissing {
        /// The path.
        path: PathBuf,
    },
    /// The path is not a directory.
    #[error("{} is not a directory; give the folder of the repository", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The directory belongs to no repository.
    #[error("{} is not a Git repository; run `git init` there or choose another folder", path.display())]
    NotARepository {
        /// The path.
        path: PathBuf,
    },
    /// The repository has no commit that HEAD points at.
    #[error("the repository {} has no commit yet; make a first commit, then try again", path.display())]
    NoCommit {
        /// The repository.
        path: PathBuf,
    },
    /// The repository says that it has a work tree, and it is not there.
    #[error("the work tree of the repository {} is missing; restore it or repair `core.worktree`", path.display())]
    NoWorkTree {
        /// The repository.
        path: PathBuf,
    },
    /// The repository belongs to another user, so Git does not open it.
    #[error(
        "{} belongs to another user, so Git does not open it; \
         if you trust it, run `git config --global --add safe.directory {}`",
        path.display(), path.display()
    )]
    DubiousOwnership {
        /// The path.
        path: PathBuf,
    },
    /// HEAD is detached and nothing says which branch is the default one.
    #[error("the repository {} has no branch checked out and several to choose from; check one out", path.display())]
    NoDefaultBranch {
        /// The repository.
        path: PathBuf,
    },
    /// No branch, tag or commit has the name.
    #[error("the repository {} has no branch, tag or commit {name:?}{}", repo.display(), suggestion(near))]
    UnknownStart {
        /// The repository.
        repo: PathBuf,
        /// The name that was asked for.
        name: String,
        /// Names that look alike, at most five.
        near: Vec<String>,
    },
    /// A checkout and a branch have no commit in common.
    #[error("the checkout {} and {name:?} have no commit in common", worktree.display())]
    NoMergeBase {
        /// The checkout.
        worktree: PathBuf,
        /// The branch, tag or commit.
        name: String,
    },
    /// A worktree was to be made where something is already.
    #[error("a worktree cannot be made at {}: something is there or is registered there already", path.display())]
    PathTaken {
        /// The path.
        path: PathBuf,
    },
    /// A branch was to be made that exists or cannot be made beside another.
    #[error("the branch {branch:?} cannot be made in {}: {reason}", repo.display())]
    BranchTaken {
        /// The repository.
        repo: PathBuf,
        /// The branch.
        branch: String,
        /// What stands in the way.
        reason: String,
    },
    /// A git took longer than it may.
    #[error(
        "git took longer than {limit_s} s at {operation} {} and was ended; nothing was changed, try again",
        subject.display()
    )]
    TooSlow {
        /// What it was doing.
        operation: &'static str,
        /// What it worked on.
        subject: PathBuf,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// A branch cannot be checked out, as it already is somewhere else.
    #[error("the branch {branch:?} is already checked out at {}; nothing was made", checkout.display())]
    BranchInUse {
        /// The repository.
        repo: PathBuf,
        /// The branch.
        branch: String,
        /// The checkout that has it.
        checkout: PathBuf,
        /// Whether that is the main checkout.
        is_main: bool,
        /// The name of a new branch that is free.
        free: String,
    },
    /// A branch that is to be worked on is not where it was.
    #[error("the branch {branch:?} of {} changed while its worktree was made; try again", repo.display())]
    BranchMoved {
        /// The repository.
        repo: PathBuf,
        /// The branch.
        branch: String,
    },
    /// No branch has the name.
    #[error("the repository {} has no branch {name:?}{}", repo.display(), suggestion(near))]
    UnknownBranch {
        /// The repository.
        repo: PathBuf,
        /// The name that was asked for.
        name: String,
        /// Names that look alike, at most five.
        near: Vec<String>,
    },
    /// Several remotes have a branch of the name.
    #[error("several remotes of {} have a branch {name:?}; name one of: {}", repo.display(), among.join(", "))]
    AmbiguousBranch {
        /// The repository.
        repo: PathBuf,
        /// The name that was asked for.
        name: String,
        /// The remote branches.
        among: Vec<String>,
    },
    /// A remote branch was asked for whose local branch is elsewhere.
    #[error(
        "{remote_branch:?} cannot be checked out: the local branch {branch:?} of {} is at another commit;          name {branch:?} to work on that one, or start a new branch from {remote_branch:?}", repo.display()
    )]
    LocalBranchDiffers {
        /// The repository.
        repo: PathBuf,
        /// The local branch.
        branch: String,
        /// The remote branch.
        remote_branch: String,
    },
    /// No remote has the name, or none was named and there is not exactly one.
    #[error("{}", unknown_remote(repo, name, known))]
    UnknownRemote {
        /// The repository.
        repo: PathBuf,
        /// The name that was asked for; empty when none was.
        name: String,
        /// The remotes that there are.
        known: Vec<String>,
    },
    /// A text names nothing that a remote could have.
    #[error(
        "{name:?} is no ref of a remote; name one such as \"pull/42/head\", \"merge-requests/7/head\" or \"refs/heads/main\""
    )]
    InvalidRemoteRef {
        /// The text.
        name: String,
    },
    /// The remote does not have the ref.
    #[error("the remote {remote:?} of {} has no {reference}", repo.display())]
    RemoteRefMissing {
        /// The repository.
        repo: PathBuf,
        /// The remote.
        remote: String,
        /// The ref.
        reference: String,
    },
    /// A path is no linked worktree of the repository.
    #[error("{} cannot be adopted: {by}", path.display())]
    NotAdoptable {
        /// The path.
        path: PathBuf,
        /// What it is instead.
        by: String,
    },
    /// A directory is not a worktree of the repository that it should be of.
    #[error("{} is not the expected worktree: {by}", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What is there.
        by: String,
    },
    /// A path that is never removed was to be removed.
    #[error("{} is never removed: {reason}", path.display())]
    Protected {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A removal ended and something is still there.
    #[error("after its removal, {what} of {} is still there", path.display())]
    StillThere {
        /// The worktree.
        path: PathBuf,
        /// What is still there.
        what: &'static str,
    },
    /// Another process holds the lock of the repository.
    #[error(
        "the repository {} is in use by {holder} or by a git it started, since more than {waited_s} s; \
         nothing was changed, try again later", common_dir.display()
    )]
    LockBusy {
        /// The common directory of the repository.
        common_dir: PathBuf,
        /// Who holds it, for example `process 42`.
        holder: String,
        /// How long it was waited for, in seconds.
        waited_s: u64,
    },
}

impl GitError {
    /// Whether the request was wrong, rather than the machine: asking again unchanged would fail again.
    #[must_use]
    pub const fn is_invalid_input(&self) -> bool {
        matches!(
            self,
            Self::InvalidOid { .. }
                | Self::RelativePath { .. }
                | Self::PathMissing { .. }
                | Self::NotADirectory { .. }
                | Self::NotARepository { .. }
                | Self::NoCommit { .. }
                | Self::NoWorkTree { .. }
                | Self::DubiousOwnership { .. }
                | Self::NoDefaultBranch { .. }
                | Self::UnknownStart { .. }
                | Self::PathTaken { .. }
                | Self::BranchTaken { .. }
                | Self::UnknownBranch { .. }
                | Self::AmbiguousBranch { .. }
                | Self::LocalBranchDiffers { .. }
                | Self::UnknownRemote { .. }
                | Self::InvalidRemoteRef { .. }
                | Self::RemoteRefMissing { .. }
                | Self::NotAdoptable { .. }
        )
    }

    /// Wraps a failed file operation.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { operation, path, source }
    }
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near it are: {}", near.join(", ")) }
}

fn unknown_remote(repo: &Path, name: &str, known: &[String]) -> String {
    let repo = repo.display();
    match (name, known) {
        (_, []) => format!("the repository {repo} has no remote; add one with `git remote add`"),
        ("", known) => {
            format!("the repository {repo} has several remotes; name one of: {}", known.join(", "))
        }
        (name, known) => {
            format!("the repository {repo} has no remote {name:?}; it has: {}", known.join(", "))
        }
    }
}
