//! The permit to remove: only a claimed cleanup job can produce one, and only this module can name it.

use freehold_domain::cleanup::{CleanupJob, CleanupState, ResourceSnapshot};
use freehold_domain::id::CleanupJobId;
use freehold_git::{RemovalError, RemovalOutcome, RemovalTarget, Remover};

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
        RemovalPermit { job_id: self.job.id.clone(), target }
    }
}

/// The right to remove one worktree, once.
#[derive(Debug)]
pub(in crate::cleanup) struct RemovalPermit {
    job_id: CleanupJobId,
    target: RemovalTarget,
}

impl RemovalPermit {
    /// Removes the worktree; blocking. Git looks again, under the repository lock, before anything moves.
    pub(in crate::cleanup) fn redeem(self, remover: &Remover) -> Result<RemovalOutcome, RemovalError> {
        tracing::info!(job_id = %self.job_id, path = %self.target.path.display(), "removing a worktree");
        remover.remove(&self.target)
    }
}
