//! Worktrees, branches, status and diffs through the git program; knows no task.
//!
//! Terms: a *repository* is what a person registered; its *common directory* holds objects, refs and the
//! registrations of its worktrees. A *registration* is the directory `<common>/worktrees/<name>`: Git's record
//! of one linked worktree. Directory and registration point at each other, and both pointers together are the
//! *identity* of a worktree.
//!
//! Invariants: only `command` starts git; only `removal` destroys; everything that changes a repository holds
//! its lock. The interface blocks; callers that must not wait call it from threads of their own.

mod branch;
mod command;
mod contents;
mod diff;
mod error;
mod fetch;
mod head;
mod index;
mod lock;
mod oid;
mod ownership;
mod place;
mod plant;
mod pool;
mod registration;
mod removal;
mod repository;
mod room;
mod seal;
mod standing;
mod status;
mod submodule;
mod usage;
mod vault;
mod watch;
mod worktree;

pub use branch::{Branch, ExistingBranch, StartPoint};
pub use command::Git;
pub use diff::{ChangeKind, FileChange, FileDiff};
pub use error::GitError;
pub use fetch::RemoteRef;
pub use head::HeadState;
pub use lock::RepositoryLock;
pub use oid::Oid;
pub use place::{FoundWorktree, PlaceLook};
pub use plant::{PlantLimits, PlantRequest, PlantedFile, Planting};
pub use pool::{IdlePlan, IdleUse, IdleWorktree, Prepared, free_bytes, idle_path};
pub use removal::{
    Assessment, BranchPolicy, ExpectedIdentity, Finding, FindingKind, FolderTarget, GivenBack, PlaceMove,
    PlaceTarget, Presence, Pushed, Reaped, RemovalError, RemovalOutcome, RemovalTarget, Remover, TrashEntry,
    trash_name,
};
pub use repository::RepositoryInfo;
pub use room::{MeasuredRoom, RoomLimits, measure_room};
pub use seal::{
    FolderRestoreRequest, FolderSealRequest, GroundUse, LeftOut, LeftOutReason, ListedSeal, RestoreBranch,
    RestoreError, RestoreRequest, Restored, RestoredFolder, Seal, SealError, SealLimits, SealRequest,
    SealedFile, SealedFolder, SealedKind, SealedWorktree,
};
pub use standing::StandingCheckout;
pub use status::WorktreeStatus;
pub use usage::disk_usage;
pub use worktree::{BranchUse, ListedWorktree, MadeWorktree, WorktreeIdentity, WorktreePlan};

/// Ends the process here, as a crash would, when the named failpoint is set to `return`; costs nothing when the
/// feature `failpoints` is off.
macro_rules! failpoint {
    ($name:literal) => {
        fail::fail_point!($name, |_| std::process::abort());
    };
}
pub(crate) use failpoint;
