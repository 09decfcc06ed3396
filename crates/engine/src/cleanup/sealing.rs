//! Seals every worktree of a job before any of them is removed.

use std::path::Path;
use std::sync::Arc;

use freehold_domain::cleanup::{CleanupTrigger, SnapshotSeal, SnapshotWorktree, Stake};
use freehold_domain::id::{CleanupJobId, SealId};
use freehold_domain::seal::{MAX_LEFT_OUT, SealKind, SealLeftOut, WorkspaceSeal};
use freehold_git::{
    Finding, HeadState, LeftOut, LeftOutReason, Remover, SealError, SealRequest, SealedWorktree,
};
use freehold_store as store;

use super::permit::ClaimedJob;
use super::steps::Attempt;
use super::target::{Looked, doubt, stakes_of};
use crate::{Engine, EngineError};

/// How often a worktree may have changed under the name of an earlier seal of the same job.
pub(super) const MAX_NAMES: u32 = 100;

/// After how many attempts of a job a person hears that its workspace cannot be sealed.
pub(super) const MAX_SEAL_ATTEMPTS: i64 = 3;

impl Engine {
    /// Seals what is on disk, worktree by worktree, and records each seal; a worktree that is gone needs none, and
    /// neither does one that was never exposed and holds no work. The inner error is what a person must decide.
    pub(super) async fn seal_all(
        &self,
        claimed: &ClaimedJob,
        looked: &[Looked],
    ) -> Result<Result<Vec<Option<SealedWorktree>>, Vec<Stake>>, EngineError> {
        let has_failed = claimed.job().trigger == CleanupTrigger::FailedCreation;
        // What is moved into quarantine is lost neither way.
        let goes_along = claimed.job().trigger == CleanupTrigger::Quarantine;
        let mut all = Vec::new();
        let mut stakes: Vec<Stake> = Vec::new();
        for (number, looked) in looked.iter().enumerate() {
            if !looked.is_present || (has_failed && looked.stakes.is_empty()) {
                all.push(None);
                continue;
            }
            self.give_way().await;
            match self.seal(&claimed.job().id, number, looked).await {
                Ok(sealed) => {
                    self.record_seal(claimed, &looked.worktree, &sealed).await?;
                    let unsealed = Finding::unsealed(&sealed);
                    let unsealed = unsealed.filter(|finding| !goes_along && !looked.target.accepts(finding));
                    stakes.extend(stakes_of(&looked.worktree.path, unsealed.into_iter().collect()));
                    all.push(Some(sealed));
                }
                Err(EngineError::Seal(error)) if claimed.job().attempts >= MAX_SEAL_ATTEMPTS => {
                    let detail = format!("It cannot be sealed, so it is not removed: {error}.");
                    stakes.push(doubt(&looked.worktree.path, detail));
                }
                Err(error) => return Err(error),
            }
            crate::failpoint!("engine.cleanup.seal");
        }
        Ok(if stakes.is_empty() { Ok(all) } else { Err(stakes) })
    }

    async fn seal(
        &self,
        job: &CleanupJobId,
        number: usize,
        looked: &Looked,
    ) -> Result<SealedWorktree, EngineError> {
        let seconds = self.now().as_micros().div_euclid(1_000_000);
        let target = &looked.target;
        let mut request = SealRequest::new(&target.repo, &target.path, "", seconds);
        request.base = target.base.clone();
        let job = job.clone();
        let sealing = self.blocking("sealing a worktree", move |git| {
            let mut again = 0;
            loop {
                request.id = SealId::of_job(&job, number, again).to_string();
                match git.seal_for_removal(&request) {
                    // The worktree changed since an earlier attempt sealed it; that seal stays as well.
                    Err(SealError::IdTaken { .. }) if again < MAX_NAMES => again += 1,
                    other => return other,
                }
            }
        });
        sealing.await
    }

    async fn record_seal(
        &self,
        claimed: &ClaimedJob,
        worktree: &SnapshotWorktree,
        sealed: &SealedWorktree,
    ) -> Result<(), EngineError> {
        let seal = &sealed.seal;
        let left_out = seal.left_out.iter().take(MAX_LEFT_OUT).map(left_out);
        let row = WorkspaceSeal {
            id: SealId::new(seal.id.clone())?,
            kind: SealKind::Worktree,
            task_id: claimed.job().task_id.clone(),
            job_id: claimed.job().id.clone(),
            node_id: self.inner.options.node_id.clone(),
            environment_repo_id: worktree.environment_repo_id.clone(),
            repository_id: worktree.repository_id.clone(),
            repository_path: worktree.repository_path.clone(),
            worktree_path: worktree.path.clone(),
            commit: seal.commit.to_string(),
            branch: seal.head.as_ref().and_then(HeadState::branch).unwrap_or_default().to_owned(),
            file_count: seal.file_count,
            size_bytes: seal.size_bytes,
            left_out: left_out.collect(),
            created_at: self.now(),
        };
        Ok(self.inner.store.write(move |tx| store::seal::insert(tx, &row)).await?)
    }

    /// Takes the seals of a claimed job away. One that is gone, or whose repository is gone, is done.
    pub(super) async fn purge(
        &self,
        claimed: &ClaimedJob,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        self.purge_seals(claimed, &claimed.resources().seals, remover).await
    }

    /// Takes seals away that a claimed job listed, or took itself.
    pub(super) async fn purge_seals(
        &self,
        claimed: &ClaimedJob,
        seals: &[SnapshotSeal],
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        for seal in seals {
            let Some(permit) = claimed.purge_permit(seal) else { continue };
            if !Path::new(&seal.repository_path).exists() {
                continue;
            }
            let remover = remover.clone();
            let purged = self.blocking("purging a seal", move |_| permit.redeem(&remover)).await;
            if let Err(EngineError::Seal(error @ SealError::Replaced { .. })) = purged {
                let stake = doubt(&seal.repository_path, format!("{error}."));
                return Ok(Attempt::AtStake(vec![stake]));
            }
            purged?;
            crate::failpoint!("engine.purge.seal");
        }
        let vault = self.inner.options.folder_seals.clone();
        let is_in_vault = |seal: &SnapshotSeal| Path::new(&seal.repository_path) == vault;
        if vault.exists() && claimed.resources().seals.iter().any(is_in_vault) {
            self.blocking("giving back the room of seals", move |_| remover.compact_vault(&vault)).await?;
        }
        Ok(Attempt::Done)
    }
}

pub(super) fn left_out(left: &LeftOut) -> SealLeftOut {
    let reason = match left.reason {
        LeftOutReason::Disposable => "disposable",
        LeftOutReason::TooLarge => "too_large",
        LeftOutReason::OverTotal => "over_total",
        LeftOutReason::NestedRepository => "nested_repository",
        LeftOutReason::Submodule => "submodule",
        LeftOutReason::Mount => "mount",
        LeftOutReason::Unreadable => "unreadable",
        LeftOutReason::Special => "special",
    };
    let path = left.path.to_string_lossy().into_owned();
    SealLeftOut { path, size_bytes: left.size_bytes, reason: reason.to_owned() }
}
