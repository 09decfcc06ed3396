//! Cleanup jobs: the durable intent to give a task's resources back, and the barrier that holds meanwhile.

use crate::clock::Timestamp;
use crate::environment::WorktreeOrigin;
use crate::id::{
    CleanupJobId, CreationId, EnvironmentId, EnvironmentRepoId, NodeId, QuarantineId, RepositoryId, SealId,
    TaskId, WorktreeId,
};
use crate::words;

words! {
    /// What caused a cleanup job. There is no session trigger: deleting a session gives nothing back.
    pub enum CleanupTrigger("cleanup trigger") {
        /// The task was archived.
        Archive = "archive",
        /// The task was deleted.
        Delete = "delete",
        /// An ancestor was archived.
        CascadeArchive = "cascade_archive",
        /// An ancestor was deleted.
        CascadeDelete = "cascade_delete",
        /// The workspace it belongs to was deleted.
        WorkspaceDelete = "workspace_delete",
        /// A quick chat was closed or expired.
        QuickChatExpire = "quick_chat_expire",
        /// The task gets a new environment.
        EnvironmentReset = "environment_reset",
        /// An attempt to create a workspace failed or was interrupted.
        FailedCreation = "failed_creation",
        /// The task leaves the trash: it goes, and its seals with it.
        TrashPurge = "trash_purge",
        /// Seals that nothing refers to any more have reached their age.
        SealExpiry = "seal_expiry",
        /// Newer runs of the same automation took its place among those that keep their workspaces.
        AutomationRetention = "automation_retention",
        /// A person put something that is no task's into quarantine.
        Quarantine = "quarantine",
        /// Something leaves the quarantine for good.
        QuarantinePurge = "quarantine_purge",
        /// Another program's; kept for databases that hold it.
        Reconcile = "reconcile",
        /// Stands for a word that this version does not know; a row keeps its word.
        Unknown = "unknown",
    }
}

impl CleanupTrigger {
    /// Reads a stored word.
    #[must_use]
    pub fn read(word: &str) -> Self {
        word.parse().unwrap_or(Self::Unknown)
    }

    /// Whether an unfinished job of this kind forbids new sessions and worktrees for its task. A failed
    /// creation concerns paths that only the failed attempt used, and an expiry seals that nobody uses, so they do
    /// not.
    #[must_use]
    pub const fn is_barrier(self) -> bool {
        !matches!(self, Self::FailedCreation | Self::SealExpiry)
    }

    /// Whether its task is deleted by it, and comes into the trash when the workspace is given back.
    #[must_use]
    pub const fn deletes_task(self) -> bool {
        matches!(self, Self::Delete | Self::CascadeDelete | Self::WorkspaceDelete | Self::QuickChatExpire)
    }

    /// Whether its task is archived by it.
    #[must_use]
    pub const fn archives_task(self) -> bool {
        matches!(self, Self::Archive | Self::CascadeArchive | Self::AutomationRetention)
    }

    /// Whether such a job takes seals away and no workspace.
    #[must_use]
    pub const fn purges(self) -> bool {
        matches!(self, Self::TrashPurge | Self::SealExpiry)
    }

    /// Whether such a job concerns a place that is no task's. The id of its entry in the quarantine stands where
    /// other jobs name their task.
    #[must_use]
    pub const fn concerns_quarantine(self) -> bool {
        matches!(self, Self::Quarantine | Self::QuarantinePurge)
    }

    /// Whether the branches made for the task go with it when their commits are found elsewhere.
    #[must_use]
    pub const fn removes_branches(self) -> bool {
        self.deletes_task() || matches!(self, Self::FailedCreation)
    }
}

words! {
    /// How far a cleanup job has come.
    pub enum CleanupState("cleanup state") {
        /// Barrier: committed before the inventory is taken; nothing has changed yet.
        Prepared = "prepared",
        /// The task has changed; the worker may claim it.
        Pending = "pending",
        /// Claimed by a worker.
        Running = "running",
        /// Failed; tried again at `next_attempt_at`.
        RetryWait = "retry_wait",
        /// Waits for a person; nothing was removed.
        NeedsDecision = "needs_decision",
        /// Everything is given back, and that was verified by looking.
        Succeeded = "succeeded",
        /// Given up after the last attempt; nothing more happens by itself.
        Failed = "failed",
        /// Called off; the workspace is kept.
        Cancelled = "cancelled",
    }
}

impl CleanupState {
    /// Reads a stored word. One that is not known says nothing about what may be done, so a person decides.
    #[must_use]
    pub fn read(word: &str) -> Self {
        word.parse().unwrap_or(Self::NeedsDecision)
    }

    /// Whether nothing more will happen to the job.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// Moves to `next`; fails when a job in this state cannot get there.
    pub fn step(self, next: Self) -> Result<Self, InvalidCleanupStep> {
        use CleanupState::{
            Cancelled, Failed, NeedsDecision, Pending, Prepared, RetryWait, Running, Succeeded,
        };
        let allowed = matches!(
            (self, next),
            (Prepared | NeedsDecision | Failed, Pending | Cancelled)
                | (Pending | RetryWait, Running | Cancelled)
                | (Running, Succeeded | RetryWait | NeedsDecision | Failed | Running)
        );
        if allowed { Ok(next) } else { Err(InvalidCleanupStep { from: self, to: next }) }
    }
}

/// Says that a cleanup job cannot go from one state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cleanup job cannot go from {from} to {to}")]
pub struct InvalidCleanupStep {
    /// The state it is in.
    pub from: CleanupState,
    /// The state asked for.
    pub to: CleanupState,
}

/// The durable intent to give resources back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupJob {
    /// Its id.
    pub id: CleanupJobId,
    /// `<trigger>:<task id>:<uuid>`; a repeated request with the same id is the same job.
    pub operation_id: String,
    /// The task; the row may be gone when the job ends.
    pub task_id: TaskId,
    /// The task's title when the job was made, for people.
    pub task_title: String,
    /// What caused it.
    pub trigger: CleanupTrigger,
    /// How far it has come.
    pub state: CleanupState,
    /// What it gives back; fixed before the task changes.
    pub snapshot: Snapshot,
    /// How often it was tried.
    pub attempts: i64,
    /// When it is tried next.
    pub next_attempt_at: Option<Timestamp>,
    /// Who works on it, until when.
    pub lease: Option<Lease>,
    /// Counts claims; a worker whose fence is no longer the row's may not write.
    pub fence: i64,
    /// What stopped it last; otherwise empty.
    pub last_error: String,
    /// What a person must decide; empty unless it waits for that.
    pub stakes: Vec<Stake>,
    /// What a person agreed to lose; it counts as long as exactly that is found.
    pub accepted: Vec<Stake>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it reached a final state.
    pub completed_at: Option<Timestamp>,
}

impl CleanupJob {
    /// What the job gives back; none when another program made the job, because then its record and its reason
    /// are not understood and nothing may be removed because of it.
    #[must_use]
    pub const fn resources(&self) -> Option<&ResourceSnapshot> {
        match (&self.snapshot, self.trigger) {
            (_, CleanupTrigger::Reconcile | CleanupTrigger::Unknown) | (Snapshot::Foreign(_), _) => None,
            (Snapshot::Own(resources), _) => Some(resources),
        }
    }
}

/// The record of what a job gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every record is Freehold's own, and few are held at a time"
)]
pub enum Snapshot {
    /// Taken by Freehold while the barrier held.
    Own(ResourceSnapshot),
    /// Another program's, as it stands in the row.
    Foreign(String),
}

impl Snapshot {
    /// Reads a stored record. Only a text with exactly the fields that Freehold writes is its own.
    #[must_use]
    pub fn parse(text: String) -> Self {
        serde_json::from_str(&text).map_or(Self::Foreign(text), Self::Own)
    }
}

/// The right of one worker to work on a job until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The server.
    pub owner: NodeId,
    /// When another may take over.
    pub expires_at: Timestamp,
}

/// How often a cleanup job is tried before it is given up.
pub const MAX_ATTEMPTS: i64 = 8;

/// Milliseconds to wait before the attempt after `attempts` failed ones: 1 s, doubling, at most 5 minutes.
#[must_use]
pub fn retry_delay_ms(attempts: i64) -> i64 {
    let doublings = attempts.saturating_sub(1).clamp(0, 20);
    (1_000_i64 << doublings).min(300_000)
}

/// What a cleanup job gives back, taken while the barrier held.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceSnapshot {
    /// The environment, when the task owned one.
    pub environment_id: Option<EnvironmentId>,
    /// The kind of executor that the environment is on; empty without one.
    #[serde(default)]
    pub executor_type: String,
    /// The directory in which the task's agents start; empty without an environment. For a failed creation, the folder
    /// that it certainly restored.
    #[serde(default)]
    pub workspace_path: String,
    /// The attempt whose traces are removed, for a failed creation.
    pub creation_id: Option<CreationId>,
    /// The server whose file system holds the worktrees.
    pub node_id: Option<NodeId>,
    /// The name of the task's directory under the managed root.
    pub task_dir_name: String,
    /// The worktrees that the task owned.
    pub worktrees: Vec<SnapshotWorktree>,
    /// The checkout of a person in which the task worked, which stays as it is; otherwise empty.
    #[serde(default)]
    pub kept_path: String,
    /// The seals that are taken away.
    #[serde(default)]
    pub seals: Vec<SnapshotSeal>,
    /// The entry of the quarantine that is filled or emptied; none for what is a task's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine_id: Option<QuarantineId>,
}

/// One seal of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSeal {
    /// The seal.
    pub id: SealId,
    /// The absolute path of its repository.
    pub repository_path: String,
    /// The commit that holds it; another one under the same name is left alone.
    pub commit: String,
}

/// One worktree of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotWorktree {
    /// The row that recorded it; none for a failed creation, whose rows were never stored.
    pub environment_repo_id: Option<EnvironmentRepoId>,
    /// The worktree.
    pub worktree_id: WorktreeId,
    /// The repository.
    pub repository_id: RepositoryId,
    /// The absolute path of the repository; empty when it is not known any more.
    pub repository_path: String,
    /// The absolute path of the worktree.
    pub path: String,
    /// The branch made for it, or checked out in it.
    pub branch: String,
    /// Whether Freehold certainly made the branch; any other stays.
    #[serde(default = "made")]
    pub branch_made: bool,
    /// The commit it was made at; empty when it was not recorded.
    pub base_commit: String,
    /// The proof of its identity; none when the attempt died before it was known, or when another program made
    /// the worktree.
    pub origin: Option<WorktreeOrigin>,
    /// What Freehold put there from the main checkout; it is no work.
    #[serde(default)]
    pub planted: Vec<crate::preparation::Planted>,
}

/// Before it was recorded, Freehold made every branch.
const fn made() -> bool {
    true
}

words! {
    /// What kind of work would be lost, or why a directory is not what was recorded.
    pub enum StakeKind("stake kind") {
        /// Tracked files with changes that are not committed.
        Uncommitted = "uncommitted",
        /// Files that Git does not track.
        Untracked = "untracked",
        /// Ignored files that cannot be made again by a build.
        Ignored = "ignored",
        /// Commits found on no branch that stays.
        Commits = "commits",
        /// A repository or worktree inside the worktree.
        NestedRepository = "nested_repository",
        /// A rebase, merge, cherry-pick, revert or bisect that is not finished.
        OperationInProgress = "operation_in_progress",
        /// The path holds something other than the recorded worktree.
        Occupied = "occupied",
        /// A person locked the worktree.
        Locked = "locked",
        /// Programs still work inside.
        InUse = "in_use",
        /// Files that a seal does not hold: too large, or not to be read.
        Unsealed = "unsealed",
        /// The state could not be found out.
        Unknown = "unknown",
    }
}

impl StakeKind {
    /// Whether a seal holds all of what such a stake names, so that nobody need be asked.
    #[must_use]
    pub const fn is_sealable(self) -> bool {
        matches!(
            self,
            Self::Uncommitted | Self::Untracked | Self::Ignored | Self::Commits | Self::OperationInProgress
        )
    }

    /// Whether a person may agree to lose what such a stake names. The others are doubts, which no agreement
    /// settles.
    #[must_use]
    pub const fn is_discardable(self) -> bool {
        self.is_sealable() || matches!(self, Self::NestedRepository | Self::Unsealed)
    }
}

/// Something that a person must decide about before a workspace is given back.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stake {
    /// What kind of work it is.
    pub kind: StakeKind,
    /// The absolute path of the worktree.
    pub worktree_path: String,
    /// Files relative to the worktree, commits as `<short id> <subject>`, or other names; at most
    /// [`MAX_STAKE_ITEMS`].
    pub items: Vec<String>,
    /// How many there are in all.
    pub total: u64,
    /// A sentence for people.
    pub detail: String,
}

/// How many names a stake lists.
pub const MAX_STAKE_ITEMS: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_activation_or_a_decision_makes_a_job_claimable() {
        for from in CleanupState::ALL {
            if from.step(CleanupState::Pending).is_ok() {
                assert!(
                    matches!(
                        from,
                        CleanupState::Prepared | CleanupState::NeedsDecision | CleanupState::Failed
                    ),
                    "{from}"
                );
            }
            assert!(CleanupState::Succeeded.step(*from).is_err());
            assert!(CleanupState::Cancelled.step(*from).is_err());
        }
        assert!(CleanupState::Running.step(CleanupState::Cancelled).is_err());
    }

    #[test]
    fn only_a_record_with_exactly_the_own_fields_is_understood() {
        let own = serde_json::to_string(&ResourceSnapshot::default()).unwrap_or_default();
        assert_eq!(Snapshot::parse(own.clone()), Snapshot::Own(ResourceSnapshot::default()));
        let with_more = own.replacen('{', "{\"container\":\"c\",", 1);
        for foreign in ["", "{}", "null", "[]", "no JSON", r#"{"task":"t"}"#, &with_more] {
            assert_eq!(Snapshot::parse(foreign.to_owned()), Snapshot::Foreign(foreign.to_owned()));
        }
    }

    #[test]
    fn retries_back_off_to_five_minutes() {
        assert_eq!([1, 2, 3, 9, 60].map(retry_delay_ms), [1_000, 2_000, 4_000, 256_000, 300_000]);
    }
}
