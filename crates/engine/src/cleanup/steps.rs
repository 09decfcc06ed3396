//! The steps of a claimed job: stop, re-check, seal, remove, verify, finish. Each can be repeated; a resource that
//! is gone counts as done for its step.

use std::path::Path;
use std::sync::Arc;

use freehold_domain::cleanup::{
    CleanupJob, CleanupTrigger, MAX_ATTEMPTS, ResourceSnapshot, SnapshotWorktree, Stake, retry_delay_ms,
};
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::EnvironmentStatus;
use freehold_domain::event::EventBody;
use freehold_git::{RemovalError, Remover, SealedWorktree};
use freehold_store as store;
use freehold_store::cleanup::CleanupOutcome;
use freehold_store::{StoreError, Tx};

use super::borrowing::Holding;
use super::folder::LookedFolder;
use super::permit::ClaimedJob;
use super::target::{JobView, Looked, foreign_executor, stakes_of};
use super::{FOREIGN, tell};
use crate::{Engine, EngineError};

/// How an attempt ended, before it is stored.
pub(super) enum Attempt {
    Done,
    /// The task was opened again meanwhile; there is nothing to give back.
    CalledOff,
    /// Another task owns the environment by now; of this one's nothing is left to give back.
    Transferred,
    AtStake(Vec<Stake>),
}

impl Engine {
    /// Works on a job that was just claimed, to the end of this attempt, and stores how it ended.
    pub(crate) async fn run_cleanup(
        &self,
        job: CleanupJob,
        remover: Arc<Remover>,
    ) -> Result<(), EngineError> {
        if job.resources().is_none() {
            return self.leave_to_a_person(job).await;
        }
        let Some(claimed) = ClaimedJob::new(job) else { return Ok(()) };
        let begun = std::time::Instant::now();
        let attempt = self.attempt(&claimed, remover).await;
        let job = claimed.job().clone();
        let now = self.now();
        let outcome = match &attempt {
            Ok(Attempt::Done | Attempt::CalledOff | Attempt::Transferred) => CleanupOutcome::Succeeded,
            Ok(Attempt::AtStake(stakes)) => CleanupOutcome::NeedsDecision {
                stakes: stakes.clone(),
                error: "a person must decide; nothing was removed that is not sealed".into(),
            },
            Err(error) => failed_attempt(&job, error, now),
        };
        let given_back = match attempt {
            Ok(Attempt::Done) => Some(claimed.resources().clone()),
            Ok(Attempt::Transferred) => Some(ResourceSnapshot::default()),
            _ => None,
        };
        let owned = given_back.as_ref().map_or(0, |resources| resources.worktrees.len());
        tracing::info!(job_id = %job.id, trigger = %job.trigger, ?outcome, "a cleanup attempt ended: {owned} owned workspaces given back");
        let (task_id, trigger) = (job.task_id.clone(), job.trigger);
        crate::metrics::attempt_ended(trigger, &outcome, begun.elapsed());
        let is_reset = given_back.is_some() && trigger == CleanupTrigger::EnvironmentReset;
        let write = self.inner.store.write(move |tx| {
            if let Some(resources) = &given_back {
                give_back_rows(tx, &job, resources, now)?;
            }
            store::cleanup::finish(tx, &job.id, job.fence, &outcome, now)?;
            tell(tx, &job, now);
            Ok::<_, StoreError>(())
        });
        write.await?;
        if is_reset {
            crate::failpoint!("engine.reset.given_back");
            self.make_environment_anew(task_id);
        }
        Ok(())
    }

    /// Touches nothing because of a job of another program: neither its task's agents nor files nor rows.
    async fn leave_to_a_person(&self, job: CleanupJob) -> Result<(), EngineError> {
        let now = self.now();
        let outcome = CleanupOutcome::NeedsDecision { stakes: Vec::new(), error: FOREIGN.into() };
        tracing::info!(job_id = %job.id, trigger = %job.trigger, "a cleanup job of another program waits for a person");
        let write = self.inner.store.write(move |tx| {
            store::cleanup::finish(tx, &job.id, job.fence, &outcome, now)?;
            tell(tx, &job, now);
            Ok::<_, StoreError>(())
        });
        Ok(write.await?)
    }

    async fn attempt(&self, claimed: &ClaimedJob, remover: Arc<Remover>) -> Result<Attempt, EngineError> {
        let (job, resources) = (claimed.job(), claimed.resources());
        if job.trigger.purges() {
            return self.purge(claimed, remover).await;
        }
        if job.trigger.concerns_quarantine() {
            return self.attempt_quarantine(claimed, remover).await;
        }
        if job.trigger != CleanupTrigger::FailedCreation {
            if !self.is_still_wanted(job).await? {
                return Ok(Attempt::CalledOff);
            }
            self.stop_sessions_of(&job.task_id).await?;
        }
        crate::failpoint!("engine.cleanup.stopped");
        if job.trigger != CleanupTrigger::FailedCreation {
            match self.holding_of(job, resources).await? {
                Holding::Own => self.stop_visitors_of(resources).await?,
                Holding::Transferred => return Ok(Attempt::Transferred),
                Holding::Held(stake) => return Ok(Attempt::AtStake(vec![stake])),
            }
        }
        if let Some(stake) = foreign_executor(resources) {
            return Ok(Attempt::AtStake(vec![stake]));
        }
        let mut looked = self.assess(&JobView::of(job, resources)).await?;
        if self.put_back(&looked).await? {
            looked = self.assess(&JobView::of(job, resources)).await?;
        }
        let folder = self.assess_folder(&JobView::of(job, resources)).await?;
        let blocking = looked.iter().flat_map(Looked::blocking);
        let blocking = blocking.chain(folder.iter().flat_map(LookedFolder::blocking));
        let blocking: Vec<Stake> = blocking.cloned().collect();
        if !blocking.is_empty() {
            return Ok(Attempt::AtStake(blocking));
        }
        let sealed = match self.seal_all(claimed, &looked).await? {
            Ok(sealed) => sealed,
            Err(stakes) => return Ok(Attempt::AtStake(stakes)),
        };
        let sealed_folder = match self.seal_folder(claimed, folder.as_ref()).await? {
            Ok(sealed) => sealed,
            Err(stakes) => return Ok(Attempt::AtStake(stakes)),
        };
        crate::failpoint!("engine.cleanup.sealed");
        // What a script changes now is found changed at the removal, and sealed too at the next attempt.
        self.run_teardown(job, resources).await?;
        for (looked, sealed) in looked.iter().zip(sealed) {
            self.give_way().await;
            if let Some(stakes) = self.remove(claimed, looked, sealed, remover.clone()).await? {
                return Ok(Attempt::AtStake(stakes));
            }
            crate::failpoint!("engine.cleanup.removed");
        }
        let folder_path = folder.as_ref().map(LookedFolder::path);
        if let Some(stakes) = self.remove_folder(claimed, folder, sealed_folder, remover).await? {
            return Ok(Attempt::AtStake(stakes));
        }
        crate::failpoint!("engine.cleanup.folder_removed");
        for worktree in &resources.worktrees {
            self.verify_removed(worktree).await?;
        }
        Self::tidy_task_directory(&self.inner.options.workspaces_root, &resources.task_dir_name);
        if let Some(path) = folder_path.filter(|path| Path::new(path).symlink_metadata().is_ok()) {
            // Something came into it since the look; the next attempt seals it too.
            return Err(EngineError::ChangedAfterSeal { path, file: ".".to_owned() });
        }
        crate::failpoint!("engine.cleanup.verified");
        Ok(Attempt::Done)
    }

    /// Puts back what an attempt that died had moved away before it was decided; tells whether there was any.
    pub(super) async fn put_back(&self, looked: &[Looked]) -> Result<bool, EngineError> {
        let mut is_back = false;
        for looked in looked.iter().filter(|looked| looked.is_missing) {
            let target = looked.target.clone();
            let put_back =
                self.blocking("putting a worktree back", move |git| git.put_back_worktree(&target));
            is_back |= put_back.await?;
        }
        Ok(is_back)
    }

    async fn is_still_wanted(&self, job: &CleanupJob) -> Result<bool, EngineError> {
        let id = job.task_id.clone();
        let task = self.inner.store.read(move |tx| store::task::find(tx, &id)).await?;
        let resets = job.trigger == CleanupTrigger::EnvironmentReset;
        Ok(task.is_none_or(|task| task.is_open() == resets))
    }

    /// Removes one worktree; returns what is at stake when Git found something at the last look.
    pub(super) async fn remove(
        &self,
        claimed: &ClaimedJob,
        looked: &Looked,
        sealed: Option<SealedWorktree>,
        remover: Arc<Remover>,
    ) -> Result<Option<Vec<Stake>>, EngineError> {
        let permit = claimed.permit(looked.target.clone());
        let path = looked.worktree.path.clone();
        let clean_commit = sealed.as_ref().and_then(SealedWorktree::clean_commit).cloned();
        let removal =
            self.blocking("removing a worktree", move |_| match permit.redeem(&remover, sealed.as_ref()) {
                Ok(given_back) => Ok(Ok(given_back.trash)),
                Err(RemovalError::AtStake(assessment)) => {
                    Ok(Err(stakes_of(&path, assessment.findings).collect()))
                }
                Err(RemovalError::Changed { path: file }) => {
                    Err(EngineError::ChangedAfterSeal { path, file: file.display().to_string() })
                }
                Err(RemovalError::Git(error)) => Err(EngineError::Git(error)),
            });
        let trash = match removal.await? {
            Ok(trash) => trash,
            Err(stakes) => return Ok(Some(stakes)),
        };
        crate::failpoint!("engine.cleanup.in_trash");
        let id = &looked.worktree.repository_id;
        // What an earlier attempt left is not what was just sealed.
        let clean_commit = clean_commit.as_ref().filter(|_| trash.len() == 1);
        let removed = trash.iter().map(|entry| self.removed_directory(entry, id, clean_commit));
        self.record_removed(removed.collect()).await?;
        Ok(None)
    }

    /// Success is what disk and registry say, not what a command returned.
    pub(super) async fn verify_removed(&self, worktree: &SnapshotWorktree) -> Result<(), EngineError> {
        let (repo, path) = (worktree.repository_path.clone(), worktree.path.clone());
        self.blocking("verifying a removal", move |git| {
            let path = Path::new(&path);
            let is_listed = git.list_worktrees(Path::new(&repo))?.iter().any(|listed| listed.path == path);
            if is_listed || path.symlink_metadata().is_ok() {
                let source = std::io::Error::other("it is still there after its removal");
                return Err(EngineError::Folder {
                    operation: "verifying the removal of",
                    path: path.display().to_string(),
                    source,
                });
            }
            Ok(())
        })
        .await
    }
}

fn failed_attempt(job: &CleanupJob, error: &EngineError, now: Timestamp) -> CleanupOutcome {
    let error = error.to_string();
    if job.attempts >= MAX_ATTEMPTS {
        return CleanupOutcome::Failed { error };
    }
    CleanupOutcome::RetryWait { at: now.plus_millis(retry_delay_ms(job.attempts)), error }
}

/// Stores that the resources are gone: rows of an archived task say so, a deleted task comes into the trash.
fn give_back_rows(
    tx: &mut Tx<'_>,
    job: &CleanupJob,
    resources: &ResourceSnapshot,
    now: Timestamp,
) -> Result<(), StoreError> {
    for worktree in &resources.worktrees {
        if let Some(id) = &worktree.environment_repo_id {
            store::environment::mark_repo_deleted(tx, id, now)?;
        }
    }
    if let Some(id) = &resources.creation_id {
        store::creation::delete(tx, id)?;
    }
    let task_id = job.task_id.clone();
    for seal in &resources.seals {
        store::seal::delete(tx, &seal.id)?;
    }
    match job.trigger {
        CleanupTrigger::SealExpiry => return Ok(()),
        CleanupTrigger::Quarantine | CleanupTrigger::QuarantinePurge => {
            return super::quarantine::store_done(tx, job, resources, now);
        }
        CleanupTrigger::TrashPurge => {
            let workspace_id = store::task::find(tx, &task_id)?.map(|task| task.workspace_id);
            store::task::delete_row(tx, &task_id)?;
            if let Some(id) = workspace_id {
                store::workspace::delete_if_empty(tx, &id)?;
            }
            tx.emit(EventBody::TaskDeleted { task_id }, now);
            return Ok(());
        }
        CleanupTrigger::EnvironmentReset => {
            if let Some(id) = &resources.environment_id {
                store::environment::delete(tx, id)?;
            }
            tx.emit(EventBody::TaskChanged { task_id }, now);
            return Ok(());
        }
        _ => {}
    }
    if let Some(id) = &resources.environment_id {
        store::environment::set_status(tx, id, EnvironmentStatus::Stopped, now)?;
        store::port_block::free(tx, id)?;
    }
    if job.trigger.deletes_task() {
        // The row may be gone: a job outlives it.
        if store::task::find(tx, &task_id)?.is_some() {
            store::task::set_trashed(tx, &task_id, now)?;
        }
        tx.emit(EventBody::TaskDeleted { task_id }, now);
        return Ok(());
    }
    tx.emit(EventBody::TaskChanged { task_id }, now);
    Ok(())
}
