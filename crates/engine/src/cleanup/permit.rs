//! The permit to remove: only a claimed cleanup job, or the row of an idle worktree that is given back, can
//! produce one, and only this module can make it.

use std::path::{Path, PathBuf};

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger, ResourceSnapshot, SnapshotSeal};
use freehold_domain::id::CleanupJobId;
use freehold_domain::pool::{IdleState, IdleWorktree};
use freehold_domain::removed::RemovedDirectory;
use freehold_domain::storage::QuarantineEntry;
use freehold_git::{
    FolderTarget, GitError, GivenBack, IdlePlan, PlaceTarget, Prepared, Reaped, RemovalError, RemovalOutcome,
    RemovalTarget, Remover, SealedFolder, SealedWorktree,
};

use crate::EngineError;

/// A cleanup job whose lease this worker holds, and whose record is Freehold's own.
#[derive(Debug)]
pub(in crate::cleanup) struct ClaimedJob {
    job: CleanupJob,
    resources: ResourceSnapshot,
}

impl ClaimedJob {
    /// Accepts a job that was just claimed; none when it is not running, or when another program made it.
    pub(in crate::cleanup) fn new(job: CleanupJob) -> Option<Self> {
        let resources = job.resources()?.clone();
        (job.state == CleanupState::Running && job.lease.is_some()).then_some(Self { job, resources })
    }

    /// The job as claimed.
    pub(in crate::cleanup) const fn job(&self) -> &CleanupJob {
        &self.job
    }

    /// What the job gives back.
    pub(in crate::cleanup) const fn resources(&self) -> &ResourceSnapshot {
        &self.resources
    }

    /// The right to remove one worktree of the job's snapshot.
    pub(in crate::cleanup) fn permit(&self, target: RemovalTarget) -> RemovalPermit {
        RemovalPermit { row: self.job.id.to_string(), target }
    }

    /// The right to move what the job is about into quarantine.
    pub(in crate::cleanup) fn quarantine_permit(&self, held_path: &str) -> QuarantinePermit {
        QuarantinePermit { job_id: self.job.id.clone(), held_path: PathBuf::from(held_path) }
    }

    /// The right to remove a folder from the quarantine; none when the job does not empty it.
    pub(in crate::cleanup) fn quarantine_purge_permit(
        &self,
        target: PlaceTarget,
    ) -> Option<QuarantinePurgePermit> {
        let empties = self.job.trigger == CleanupTrigger::QuarantinePurge;
        empties.then(|| QuarantinePurgePermit { job_id: self.job.id.clone(), target })
    }

    /// The right to remove the folder of the job's task.
    pub(in crate::cleanup) fn folder_permit(&self, target: FolderTarget) -> FolderPermit {
        FolderPermit { job_id: self.job.id.clone(), target }
    }

    /// The right to take one seal of the job's snapshot away; none when the job is not about seals.
    pub(in crate::cleanup) fn purge_permit(&self, seal: &SnapshotSeal) -> Option<PurgePermit> {
        let purges = self.job.trigger.purges() || self.job.trigger == CleanupTrigger::QuarantinePurge;
        let is_own = || {
            self.job.trigger == CleanupTrigger::QuarantinePurge
                && QuarantineEntry::is_seal_of(&self.job.id, &seal.id)
        };
        let is_listed = purges && (self.resources.seals.contains(seal) || is_own());
        is_listed.then(|| PurgePermit { job_id: self.job.id.clone(), seal: seal.clone() })
    }
}

/// An idle worktree that is being given back. It is no task's, so no job stands for it: its own row does.
#[derive(Debug)]
pub(in crate::cleanup) struct ReturningIdle(IdleWorktree);

impl ReturningIdle {
    /// Accepts the row of an idle worktree; none unless the row says that it is given back.
    pub(in crate::cleanup) fn new(idle: IdleWorktree) -> Option<Self> {
        (idle.state == IdleState::Returning).then_some(Self(idle))
    }

    /// The row.
    pub(in crate::cleanup) const fn idle(&self) -> &IdleWorktree {
        &self.0
    }

    /// The right to remove it.
    pub(in crate::cleanup) fn permit(&self, target: RemovalTarget) -> RemovalPermit {
        RemovalPermit { row: self.0.id.to_string(), target }
    }
}

/// The right to remove one worktree, once.
#[derive(Debug)]
pub(in crate::cleanup) struct RemovalPermit {
    /// The id of the job, or of the idle worktree, that gives the right.
    row: String,
    target: RemovalTarget,
}

impl RemovalPermit {
    /// Gives the worktree back; blocking. Its files stay in the trash. Git looks again, under the repository lock, before anything moves. With a
    /// seal, the work in it may go; without one, a worktree with work stays.
    pub(in crate::cleanup) fn redeem(
        self,
        remover: &Remover,
        sealed: Option<&SealedWorktree>,
    ) -> Result<GivenBack, RemovalError> {
        tracing::info!(row = self.row, path = %self.target.path.display(), "removing a worktree");
        remover.give_back(&self.target, sealed)
    }
}

/// The row of a directory that a removal took away: the right to unlink it.
#[derive(Debug)]
pub(in crate::cleanup) struct RemovedRow(RemovedDirectory);

impl RemovedRow {
    /// Accepts a row that was just read.
    pub(in crate::cleanup) const fn new(removed: RemovedDirectory) -> Self {
        Self(removed)
    }

    /// The row.
    pub(in crate::cleanup) const fn removed(&self) -> &RemovedDirectory {
        &self.0
    }

    /// Makes an idle worktree of what is in the directory; blocking.
    pub(in crate::cleanup) fn reuse(&self, remover: &Remover, plan: &IdlePlan) -> Result<Prepared, GitError> {
        remover.reuse(&super::reaper::entry_of(&self.0), plan)
    }

    /// Unlinks the directory in steps, as long as the caller goes on; blocking.
    pub(in crate::cleanup) fn reap(
        &self,
        remover: &Remover,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Reaped, GitError> {
        remover.reap(&super::reaper::entry_of(&self.0), goes_on)
    }
}

/// The right to move something into quarantine, once.
#[derive(Debug)]
pub(in crate::cleanup) struct QuarantinePermit {
    job_id: CleanupJobId,
    held_path: PathBuf,
}

impl QuarantinePermit {
    /// Moves a sealed worktree; blocking. Git looks again, under the repository lock, before and after the move.
    pub(in crate::cleanup) fn redeem(
        self,
        remover: &Remover,
        target: &RemovalTarget,
        sealed: &SealedWorktree,
    ) -> Result<(), RemovalError> {
        tracing::info!(job_id = %self.job_id, path = %target.path.display(), "moving a worktree into quarantine");
        remover.quarantine_worktree(target, sealed, &self.held_path)
    }

    /// Moves a folder that is no worktree; blocking.
    pub(in crate::cleanup) fn redeem_place(
        self,
        remover: &Remover,
        target: &PlaceTarget,
    ) -> Result<(), RemovalError> {
        tracing::info!(job_id = %self.job_id, path = %target.path.display(), "moving a folder into quarantine");
        remover.quarantine_place(target, &self.held_path)
    }
}

/// The right to remove a folder from the quarantine, once.
#[derive(Debug)]
pub(in crate::cleanup) struct QuarantinePurgePermit {
    job_id: CleanupJobId,
    target: PlaceTarget,
}

impl QuarantinePurgePermit {
    /// Removes the folder, when it still is the one that was recorded; blocking.
    pub(in crate::cleanup) fn redeem(self, remover: &Remover) -> Result<RemovalOutcome, RemovalError> {
        tracing::info!(job_id = %self.job_id, path = %self.target.path.display(), "removing a folder from quarantine");
        remover.remove_place(&self.target)
    }
}

/// The right to remove the folder of one task, once.
#[derive(Debug)]
pub(in crate::cleanup) struct FolderPermit {
    job_id: CleanupJobId,
    target: FolderTarget,
}

impl FolderPermit {
    /// Removes the folder, which must be as it was sealed; blocking. Without a seal there was nothing in it, or it is
    /// gone from its place, and only what an earlier attempt left in the trash is unlinked.
    pub(in crate::cleanup) fn redeem(
        self,
        remover: &Remover,
        sealed: Option<&SealedFolder>,
    ) -> Result<RemovalOutcome, RemovalError> {
        let Some(sealed) = sealed else { return remover.finish_folder(&self.target) };
        tracing::info!(job_id = %self.job_id, path = %self.target.path.display(), "removing a task's folder");
        remover.remove_folder(&self.target, sealed)
    }
}

/// The right to take one seal away, once.
#[derive(Debug)]
pub(in crate::cleanup) struct PurgePermit {
    job_id: CleanupJobId,
    seal: SnapshotSeal,
}

impl PurgePermit {
    /// Takes the seal away, if it still is the one that was recorded; blocking.
    pub(in crate::cleanup) fn redeem(self, remover: &Remover) -> Result<bool, EngineError> {
        let SnapshotSeal { id, repository_path, commit } = self.seal;
        tracing::info!(job_id = %self.job_id, seal_id = %id, "purging a seal");
        Ok(remover.purge_seal(Path::new(&repository_path), id.as_str(), &commit.parse()?)?)
    }
}
