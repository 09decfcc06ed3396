//! Storage: what takes room on a server's disk, what of it nobody owns, and the quarantine.
//!
//! Terms: a *place* is a path on the file system of one server. A place is *owned* when a row of this database names
//! it, and *unowned* otherwise. Whether another database names an unowned place cannot be seen, so without a record
//! of it its owner is *unknown*, which is not the same as none.

use crate::clock::Timestamp;
use crate::id::{CleanupJobId, NodeId, QuarantineId, RepositoryId, SealId, TaskId};
use crate::words;

words! {
    /// What is at a place.
    pub enum PlaceKind("kind of place") {
        /// A linked Git worktree: it and its registration name each other.
        Worktree = "worktree",
        /// A directory that is no worktree.
        Folder = "folder",
        /// A file or a link.
        File = "file",
        /// Nothing; only a row or a Git registration tells of it.
        Missing = "missing",
    }
}

words! {
    /// Why a place is listed as unowned.
    pub enum UnownedReason("reason for having no owner") {
        /// An upgrade recorded that no task owns it any more.
        LostOwner = "lost_owner",
        /// A task's workspace was given back here, and something is here again.
        GivenBack = "given_back",
        /// It was restored from the quarantine.
        Restored = "restored",
        /// It was made ahead of time, and there may be somebody's work in it.
        IdleInDoubt = "idle_in_doubt",
        /// A removal moved it away, and no job is going to end what was begun.
        TrashLeftOver = "trash_left_over",
        /// It lies in the quarantine, and no entry names it.
        QuarantineLeftOver = "quarantine_left_over",
        /// No row of this database names it. Another database may.
        NotRecorded = "not_recorded",
    }
}

impl UnownedReason {
    /// Whether this database has a record of the place, so that it is no other server's.
    #[must_use]
    pub const fn is_recorded(self) -> bool {
        !matches!(self, Self::NotRecorded | Self::TrashLeftOver | Self::QuarantineLeftOver)
    }
}

words! {
    /// What is happening to something in quarantine.
    pub enum QuarantineState("quarantine state") {
        /// A cleanup job seals it and moves it away.
        Moving = "moving",
        /// It is in quarantine.
        Held = "held",
        /// It is being moved back.
        Restoring = "restoring",
        /// It is back, where the entry says.
        Restored = "restored",
        /// The move was called off; it stayed where it was.
        CalledOff = "called_off",
    }
}

/// How much room a place takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// The bytes that its files take on disk; a file with several names counts once.
    pub size_bytes: u64,
    /// How many files, links and directories it has.
    pub file_count: u64,
    /// Whether all of it was measured; otherwise it takes at least this much.
    pub is_complete: bool,
}

/// A measurement that is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The server on whose file system it is.
    pub node_id: NodeId,
    /// The absolute path that was measured.
    pub path: String,
    /// What was found.
    pub room: Room,
    /// When.
    pub measured_at: Timestamp,
    /// Since when the place is known to have no owner; none while it has one.
    pub unowned_since: Option<Timestamp>,
}

/// Something that a person put into quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineEntry {
    /// Its id.
    pub id: QuarantineId,
    /// The server on whose file system it is.
    pub node_id: NodeId,
    /// What is happening to it.
    pub state: QuarantineState,
    /// What it is.
    pub kind: PlaceKind,
    /// The absolute path where it was found.
    pub original_path: String,
    /// The absolute path where it is kept.
    pub held_path: String,
    /// The absolute path to which it is, or was, restored; otherwise empty.
    pub restore_path: String,
    /// The registered repository that a worktree is of, where it is one.
    pub repository_id: Option<RepositoryId>,
    /// The absolute path of the repository of a worktree; empty for a folder.
    pub repository_path: String,
    /// The name of the registration of a worktree; empty for a folder.
    pub registration: String,
    /// The device of its directory.
    pub device: u64,
    /// The inode of its directory.
    pub inode: u64,
    /// Why it had no owner.
    pub reason: UnownedReason,
    /// That in words, where there is more to say; otherwise empty.
    pub detail: String,
    /// Who asked for it, as they named themselves.
    pub requested_by: String,
    /// How much room it took when it was last measured.
    pub size_bytes: u64,
    /// The cleanup job that moves it.
    pub job_id: CleanupJobId,
    /// Why it could not be restored last; otherwise empty.
    pub error_message: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it came into quarantine.
    pub held_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl QuarantineEntry {
    /// What stands for the entry where jobs and seals name a task.
    #[must_use]
    pub fn subject(&self) -> TaskId {
        TaskId::of_quarantine(&self.id)
    }

    /// Whether the job of an entry took a seal.
    #[must_use]
    pub fn is_seal_of(job: &CleanupJobId, seal: &SealId) -> bool {
        let rest = seal.as_str().strip_prefix(job.as_str());
        rest.is_some_and(|rest| rest.starts_with('-'))
    }
}
