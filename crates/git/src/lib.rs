//! Worktrees, branches, status and diffs through the `git` program; knows no task.
//!
//! Every call is blocking and reads the truth from disk. [`command`] is the only place that starts `git`.
//! Changes to a repository's shared state are made under one lock per common directory ([`lock`]).
//! [`removal`] is the only code that destroys, and needs a [`Remover`], which is composed once.

mod branch;
mod command;
mod diff;
mod error;
mod lock;
mod oid;
pub mod removal;
mod repository;
mod status;
mod worktree;

pub use branch::{Branch, StartPoint};
pub use command::Git;
pub use diff::{ChangeKind, FileChange, FileDiff};
pub use error::GitError;
pub use lock::RepositoryLock;
pub use oid::Oid;
pub use removal::{
    Assessment, BranchPolicy, ExpectedIdentity, Finding, FindingKind, Presence, RemovalError, RemovalOutcome,
    RemovalTarget, Remover,
};
pub use repository::RepositoryInfo;
pub use status::{HeadState, WorktreeStatus};
pub use worktree::{ListedWorktree, WorktreeIdentity, WorktreePlan};
