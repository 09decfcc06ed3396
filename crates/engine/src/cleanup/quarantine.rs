//! Quarantine jobs: what nobody owns is looked at, sealed and moved away like every workspace that is given back, but
//! into the quarantine; and what leaves the quarantine for good goes like every workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use freehold_domain::cleanup::{CleanupJob, CleanupTrigger, ResourceSnapshot, SnapshotSeal, Stake};
use freehold_domain::clock::Timestamp;
use freehold_domain::storage::{PlaceKind, QuarantineEntry, QuarantineState};
use freehold_git::{Finding, PlaceTarget, Presence, RemovalError, Remover, SealedWorktree};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use super::permit::ClaimedJob;
use super::steps::Attempt;
use super::target::{JobView, Looked, finding_of, stakes_of};
use crate::storage::places::is_named;
use crate::storage::quarantine::move_of;
use crate::{Engine, EngineError};

impl Engine {
    /// What stands in the way of putting something into quarantine; changes nothing.
    pub(crate) async fn quarantine_stakes(
        &self,
        entry: &QuarantineEntry,
        snapshot: &ResourceSnapshot,
    ) -> Result<Vec<Stake>, EngineError> {
        if entry.kind == PlaceKind::Worktree {
            let trigger = CleanupTrigger::Quarantine;
            let view = JobView { resources: snapshot, trigger, accepted: &[], claimed: None };
            let looked = self.assess(&view).await?;
            return Ok(looked.iter().flat_map(Looked::blocking).cloned().collect());
        }
        let target = self.place_target(entry, &entry.original_path, &[]);
        let looked = self.blocking("looking at a folder", move |_| Remover::assess_place(&target)).await?;
        Ok(stakes_of(&entry.original_path, looked.findings).collect())
    }

    fn place_target(&self, entry: &QuarantineEntry, path: &str, accepted: &[Stake]) -> PlaceTarget {
        let accepted = accepted.iter().filter(|stake| stake.worktree_path == path);
        PlaceTarget {
            path: PathBuf::from(path),
            managed_root: self.inner.options.workspaces_root.clone(),
            inode: entry.inode,
            accepted: accepted.filter_map(finding_of).collect::<Vec<Finding>>(),
        }
    }

    /// Carries out a job about the quarantine.
    pub(super) async fn attempt_quarantine(
        &self,
        claimed: &ClaimedJob,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        let Some(id) = claimed.resources().quarantine_id.clone() else { return Ok(Attempt::CalledOff) };
        let found = self.inner.store.read(move |tx| store::quarantine::find(tx, &id)).await?;
        let Some(entry) = found else { return Ok(Attempt::CalledOff) };
        if claimed.job().trigger == CleanupTrigger::Quarantine {
            self.move_into_quarantine(claimed, &entry, remover).await
        } else {
            self.empty_quarantine(claimed, &entry, remover).await
        }
    }

    async fn move_into_quarantine(
        &self,
        claimed: &ClaimedJob,
        entry: &QuarantineEntry,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        let moved = move_of(entry, &entry.original_path, &entry.held_path);
        if self.blocking("looking into the quarantine", move |git| git.finish_move(&moved)).await? {
            self.tidy_around(&entry.original_path);
            return Ok(Attempt::Done);
        }
        let is_gone = Path::new(&entry.original_path).symlink_metadata().is_err();
        if is_gone || self.has_owner_by_now(claimed.job(), entry).await? {
            return self.call_quarantine_off(entry).await;
        }
        crate::failpoint!("engine.quarantine.claimed");
        let outcome = if entry.kind == PlaceKind::Worktree {
            self.move_worktree(claimed, entry, remover).await?
        } else {
            self.move_folder(claimed, entry, remover).await?
        };
        crate::failpoint!("engine.quarantine.moved");
        if matches!(outcome, Attempt::Done) {
            self.tidy_around(&entry.original_path);
        }
        Ok(outcome)
    }

    async fn has_owner_by_now(&self, job: &CleanupJob, entry: &QuarantineEntry) -> Result<bool, EngineError> {
        let (root, job_id) = (self.inner.options.workspaces_root.clone(), job.id.clone());
        let path = PathBuf::from(&entry.original_path);
        let read = self.inner.store.read(move |tx| {
            let names = store::storage::names(tx)?;
            Ok::<_, StoreError>(is_named(&names, &root, &path, Some(&job_id)))
        });
        Ok(read.await?)
    }

    async fn call_quarantine_off(&self, entry: &QuarantineEntry) -> Result<Attempt, EngineError> {
        let (id, now) = (entry.id.clone(), self.now());
        let state = QuarantineState::CalledOff;
        self.inner.store.write(move |tx| store::quarantine::enter(tx, &id, state, now)).await?;
        Ok(Attempt::CalledOff)
    }

    async fn move_worktree(
        &self,
        claimed: &ClaimedJob,
        entry: &QuarantineEntry,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        let (looked, sealed) = match self.look_and_seal(claimed).await? {
            Ok(sealed) => sealed,
            Err(stakes) => return Ok(Attempt::AtStake(stakes)),
        };
        crate::failpoint!("engine.quarantine.sealed");
        let only = looked.into_iter().zip(sealed).next();
        let Some((looked, Some(sealed))) = only else { return self.call_quarantine_off(entry).await };
        let (permit, target) = (claimed.quarantine_permit(&entry.held_path), looked.target);
        let moving = move |_: &_| outcome_of(&target.path, permit.redeem(&remover, &target, &sealed));
        let stakes = self.blocking("moving into quarantine", moving).await?;
        Ok(stakes.map_or(Attempt::Done, Attempt::AtStake))
    }

    async fn move_folder(
        &self,
        claimed: &ClaimedJob,
        entry: &QuarantineEntry,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        let target = self.place_target(entry, &entry.original_path, &claimed.job().accepted);
        let permit = claimed.quarantine_permit(&entry.held_path);
        let moving = move |_: &_| outcome_of(&target.path, permit.redeem_place(&remover, &target));
        let stakes = self.blocking("moving into quarantine", moving).await?;
        Ok(stakes.map_or(Attempt::Done, Attempt::AtStake))
    }

    /// Looks at the worktrees of a job and seals them; the inner error is what a person must decide.
    async fn look_and_seal(
        &self,
        claimed: &ClaimedJob,
    ) -> Result<Result<(Vec<Looked>, Vec<Option<SealedWorktree>>), Vec<Stake>>, EngineError> {
        let view = JobView::of(claimed.job(), claimed.resources());
        let mut looked = self.assess(&view).await?;
        if self.put_back(&looked).await? {
            looked = self.assess(&view).await?;
        }
        let blocking: Vec<Stake> = looked.iter().flat_map(Looked::blocking).cloned().collect();
        if !blocking.is_empty() {
            return Ok(Err(blocking));
        }
        let sealed = self.seal_all(claimed, &looked).await?;
        Ok(sealed.map(|sealed| (looked, sealed)))
    }

    async fn empty_quarantine(
        &self,
        claimed: &ClaimedJob,
        entry: &QuarantineEntry,
        remover: Arc<Remover>,
    ) -> Result<Attempt, EngineError> {
        if claimed.resources().worktrees.is_empty() {
            let target = self.place_target(entry, &entry.held_path, &claimed.job().accepted);
            let Some(permit) = claimed.quarantine_purge_permit(target) else { return Ok(Attempt::CalledOff) };
            let (path, remover) = (PathBuf::from(&entry.held_path), remover.clone());
            let removing = move |_: &_| outcome_of(&path, permit.redeem(&remover).map(drop));
            if let Some(stakes) = self.blocking("emptying the quarantine", removing).await? {
                return Ok(Attempt::AtStake(stakes));
            }
        } else {
            let (looked, sealed) = match self.look_and_seal(claimed).await? {
                Ok(sealed) => sealed,
                Err(stakes) => return Ok(Attempt::AtStake(stakes)),
            };
            for (looked, sealed) in looked.iter().zip(sealed) {
                if let Some(stakes) = self.remove(claimed, looked, sealed, remover.clone()).await? {
                    return Ok(Attempt::AtStake(stakes));
                }
            }
            for worktree in &claimed.resources().worktrees {
                self.verify_removed(worktree).await?;
            }
        }
        crate::failpoint!("engine.quarantine.emptied");
        if let Some(folder) = Path::new(&entry.held_path).parent() {
            _ = std::fs::remove_dir(folder);
        }
        let (subject, job_id) = (entry.subject(), claimed.job().id.clone());
        let own = self.inner.store.read(move |tx| store::seal::of_task(tx, &subject)).await?;
        let own = own.into_iter().filter(|seal| QuarantineEntry::is_seal_of(&job_id, &seal.id));
        let own = own.map(|seal| SnapshotSeal {
            id: seal.id,
            repository_path: seal.repository_path,
            commit: seal.commit,
        });
        let seals: Vec<SnapshotSeal> = claimed.resources().seals.iter().cloned().chain(own).collect();
        self.purge_seals(claimed, &seals, remover).await
    }

    /// Removes the folder around a place when nothing is left in it.
    fn tidy_around(&self, path: &str) {
        let root = &self.inner.options.workspaces_root;
        let around = Path::new(path).parent().filter(|around| *around != root && around.starts_with(root));
        if let Some(around) = around {
            // Fails, as it should, when anything is in it.
            _ = std::fs::remove_dir(around);
        }
    }
}

/// What is at stake when Git found something at the last look.
fn outcome_of(path: &Path, outcome: Result<(), RemovalError>) -> Result<Option<Vec<Stake>>, EngineError> {
    let path = path.display().to_string();
    match outcome {
        Ok(()) => Ok(None),
        Err(RemovalError::AtStake(looked)) => {
            debug_assert!(looked.presence != Presence::Missing, "what is missing is at no stake");
            Ok(Some(stakes_of(&path, looked.findings).collect()))
        }
        Err(RemovalError::Changed { path: file }) => {
            Err(EngineError::ChangedAfterSeal { path, file: file.display().to_string() })
        }
        Err(RemovalError::Git(error)) => Err(EngineError::Git(error)),
    }
}

/// Stores that a job about the quarantine is done.
pub(super) fn store_done(
    tx: &mut Tx<'_>,
    job: &CleanupJob,
    resources: &ResourceSnapshot,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(id) = &resources.quarantine_id else { return Ok(()) };
    let Some(entry) = store::quarantine::find(tx, id)? else { return Ok(()) };
    if job.trigger == CleanupTrigger::Quarantine {
        store::storage::forget_idle(tx, &entry.original_path)?;
        return store::quarantine::enter(tx, id, QuarantineState::Held, now);
    }
    for seal in store::seal::of_task(tx, &entry.subject())? {
        store::seal::delete(tx, &seal.id)?;
    }
    store::storage::forget_unowned(tx, &entry.original_path)?;
    store::quarantine::delete(tx, id).map(drop)
}

/// Stores that a job about the quarantine was called off by a person.
pub(super) fn store_called_off(tx: &mut Tx<'_>, job: &CleanupJob, now: Timestamp) -> Result<(), StoreError> {
    let entry = job.resources().and_then(|resources| resources.quarantine_id.clone());
    match (job.trigger, entry) {
        (CleanupTrigger::Quarantine, Some(id)) => {
            store::quarantine::enter(tx, &id, QuarantineState::CalledOff, now)
        }
        _ => Ok(()),
    }
}
