//! The task's own folder: a scratch folder, or what lies beside the worktrees in the folder around them.
//!
//! It belongs to no repository, so its seal is in one of Freehold's own. It is looked at and sealed together with the
//! worktrees, which stand apart in it, and removed after them. An empty one needs no seal: it is tidied away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use freehold_domain::cleanup::{CleanupTrigger, ResourceSnapshot, Stake};
use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{RepositoryId, SealId};
use freehold_domain::seal::{MAX_LEFT_OUT, SealKind, WorkspaceSeal};
use freehold_git::{
    Finding, FolderSealRequest, FolderTarget, Presence, RemovalError, Remover, SealError, SealedFolder,
};
use freehold_store as store;

use super::permit::ClaimedJob;
use super::sealing::{MAX_NAMES, MAX_SEAL_ATTEMPTS, left_out};
use super::target::{JobView, doubt, finding_of, stakes_of, unknown};
use crate::{Engine, EngineError};

/// What was found at the task's own folder.
#[derive(Debug)]
pub(super) struct LookedFolder {
    target: FolderTarget,
    is_present: bool,
    /// Whether nothing is in it but what stands apart.
    is_empty: bool,
    stakes: Vec<Stake>,
}

impl LookedFolder {
    /// What a person must decide about: everything that a seal would not hold.
    pub(super) fn blocking(&self) -> impl Iterator<Item = &Stake> {
        self.stakes.iter().filter(|stake| !self.is_present || !stake.kind.is_sealable())
    }

    /// What a seal would hold.
    pub(super) fn sealable(&self) -> impl Iterator<Item = &Stake> {
        self.stakes.iter().filter(|stake| self.is_present && stake.kind.is_sealable())
    }

    /// Where it is.
    pub(super) fn path(&self) -> String {
        self.target.path.display().to_string()
    }
}

impl Engine {
    /// Looks at the task's own folder; none when the job has none. Changes nothing.
    pub(super) async fn assess_folder(&self, job: &JobView<'_>) -> Result<Option<LookedFolder>, EngineError> {
        let Some(target) = self.folder_target(job) else { return Ok(None) };
        let is_claimed = job.claimed.is_some();
        let looking = self.blocking("looking at a task's folder", move |git| {
            if is_claimed {
                git.put_back_folder(&target)?;
            }
            Ok::<_, EngineError>(look(target))
        });
        Ok(Some(looking.await?))
    }

    /// The folder that is the task's own, with what stands apart in it.
    fn folder_target(&self, job: &JobView<'_>) -> Option<FolderTarget> {
        let (root, resources) = (&self.inner.options.workspaces_root, job.resources);
        let name = &resources.task_dir_name;
        let is_one_name = Path::new(name).components().count() == 1 && !name.starts_with('.');
        let path = if job.trigger == CleanupTrigger::FailedCreation {
            Some(&resources.workspace_path).filter(|path| !path.is_empty()).map(PathBuf::from)
        } else if resources.executor_type == WorkspaceKind::Scratch.as_str() {
            Some(PathBuf::from(&resources.workspace_path))
        } else {
            is_one_name.then(|| root.join(name))
        }?;
        let worktrees = resources.worktrees.iter().map(|worktree| Path::new(&worktree.path));
        let inside = worktrees.filter(|worktree| worktree.parent() == Some(&path));
        let apart = inside.filter_map(Path::file_name).map(ToOwned::to_owned).collect();
        let shown = path.display().to_string();
        let accepted = job.accepted.iter().filter(|stake| stake.worktree_path == shown);
        Some(FolderTarget {
            vault: self.inner.options.folder_seals.clone(),
            accepted: accepted.filter_map(finding_of).collect(),
            managed_root: root.clone(),
            apart,
            path,
        })
    }

    /// How much of the disk comes back when the workspace of a snapshot goes, in bytes.
    pub(super) async fn disk_bytes_of(
        &self,
        snapshot: &ResourceSnapshot,
        trigger: CleanupTrigger,
    ) -> Result<u64, EngineError> {
        if self.unseen(snapshot).await?.is_some() {
            return Ok(0);
        }
        let view = JobView { resources: snapshot, trigger, accepted: &[], claimed: None };
        let folder = self.folder_target(&view).map(|target| target.path);
        let worktrees = snapshot.worktrees.iter().map(|worktree| PathBuf::from(&worktree.path));
        let is_inside = |path: &PathBuf| folder.as_ref().is_some_and(|folder| path.starts_with(folder));
        let mut places: Vec<PathBuf> = worktrees.filter(|path| !is_inside(path)).collect();
        places.extend(folder);
        self.blocking("measuring a workspace", move |_| {
            Ok::<_, EngineError>(places.iter().map(|path| freehold_git::disk_usage(path)).sum())
        })
        .await
    }

    /// Seals the folder and records the seal; none when there is nothing to be sealed. The inner error is what a
    /// person must decide.
    pub(super) async fn seal_folder(
        &self,
        claimed: &ClaimedJob,
        looked: Option<&LookedFolder>,
    ) -> Result<Result<Option<SealedFolder>, Vec<Stake>>, EngineError> {
        let Some(looked) = looked.filter(|looked| looked.is_present) else { return Ok(Ok(None)) };
        if looked.is_empty {
            self.bind_folder_seal(claimed, None).await?;
            return Ok(Ok(None));
        }
        let sealed = match self.take_folder_seal(claimed, looked).await {
            Err(EngineError::Seal(error)) if claimed.job().attempts >= MAX_SEAL_ATTEMPTS => {
                let detail = format!("It cannot be sealed, so it is not removed: {error}.");
                return Ok(Err(vec![doubt(&looked.path(), detail)]));
            }
            other => other?,
        };
        crate::failpoint!("engine.cleanup.folder_sealed");
        let id = self.record_folder_seal(claimed, looked, &sealed).await?;
        self.bind_folder_seal(claimed, Some(id)).await?;
        let unsealed = Finding::unsealed_in(sealed.seal());
        let unsealed = unsealed.filter(|finding| !looked.target.accepts(finding));
        let stakes: Vec<Stake> = stakes_of(&looked.path(), unsealed.into_iter().collect()).collect();
        Ok(if stakes.is_empty() { Ok(Some(sealed)) } else { Err(stakes) })
    }

    async fn take_folder_seal(
        &self,
        claimed: &ClaimedJob,
        looked: &LookedFolder,
    ) -> Result<SealedFolder, EngineError> {
        let seconds = self.now().as_micros().div_euclid(1_000_000);
        let FolderTarget { vault, path, apart, .. } = &looked.target;
        let mut request = FolderSealRequest::new(vault, path, "", seconds);
        request.apart.clone_from(apart);
        let (job, number) = (claimed.job().id.clone(), claimed.resources().worktrees.len());
        let sealing = self.blocking("sealing a task's folder", move |git| {
            let mut again = 0;
            loop {
                request.id = SealId::of_job(&job, number, again).to_string();
                match git.seal_folder(&request) {
                    // It changed since an earlier attempt sealed it; that seal stays as well.
                    Err(SealError::IdTaken { .. }) if again < MAX_NAMES => again += 1,
                    other => return other,
                }
            }
        });
        sealing.await
    }

    async fn record_folder_seal(
        &self,
        claimed: &ClaimedJob,
        looked: &LookedFolder,
        sealed: &SealedFolder,
    ) -> Result<SealId, EngineError> {
        let seal = sealed.seal();
        let row = WorkspaceSeal {
            id: SealId::new(seal.id.clone())?,
            kind: SealKind::Folder,
            task_id: claimed.job().task_id.clone(),
            job_id: claimed.job().id.clone(),
            node_id: self.inner.options.node_id.clone(),
            environment_repo_id: None,
            repository_id: RepositoryId::unnamed(),
            repository_path: looked.target.vault.display().to_string(),
            worktree_path: looked.path(),
            commit: seal.commit.to_string(),
            branch: String::new(),
            file_count: seal.file_count,
            size_bytes: seal.size_bytes,
            left_out: seal.left_out.iter().take(MAX_LEFT_OUT).map(left_out).collect(),
            created_at: self.now(),
        };
        let id = row.id.clone();
        self.inner.store.write(move |tx| store::seal::insert(tx, &row)).await?;
        Ok(id)
    }

    /// Records from which seal the folder comes back with its task.
    async fn bind_folder_seal(&self, claimed: &ClaimedJob, seal: Option<SealId>) -> Result<(), EngineError> {
        let Some(environment) = claimed.resources().environment_id.clone() else { return Ok(()) };
        let write =
            self.inner.store.write(move |tx| store::seal::set_folder_of(tx, &environment, seal.as_ref()));
        Ok(write.await?)
    }

    /// Removes the folder, of which the worktrees are gone by now; returns what is at stake when there was something
    /// at the last look.
    pub(super) async fn remove_folder(
        &self,
        claimed: &ClaimedJob,
        looked: Option<LookedFolder>,
        sealed: Option<SealedFolder>,
        remover: Arc<Remover>,
    ) -> Result<Option<Vec<Stake>>, EngineError> {
        let Some(looked) = looked else { return Ok(None) };
        let (shown, permit) = (looked.path(), claimed.folder_permit(looked.target));
        self.blocking("removing a task's folder", move |_| match permit.redeem(&remover, sealed.as_ref()) {
            Ok(_) => Ok(None),
            Err(RemovalError::AtStake(assessment)) => {
                Ok(Some(stakes_of(&shown, assessment.findings).collect()))
            }
            Err(RemovalError::Changed { path }) => {
                Err(EngineError::ChangedAfterSeal { path: shown, file: path.display().to_string() })
            }
            Err(RemovalError::Git(error)) => Err(EngineError::Git(error)),
        })
        .await
    }
}

fn look(target: FolderTarget) -> LookedFolder {
    let mut looked = LookedFolder { target, is_present: false, is_empty: false, stakes: Vec::new() };
    let path = looked.target.path.clone();
    let is_missing = path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if is_missing {
        return looked;
    }
    match Remover::assess_folder(&looked.target) {
        Ok(assessment) => {
            looked.is_present = assessment.presence == Presence::Present;
            looked.stakes = stakes_of(&looked.path(), assessment.findings).collect();
        }
        Err(error) => looked.stakes.push(unknown(&looked.path(), &error.into())),
    }
    looked.is_empty = path.read_dir().is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| looked.target.apart.contains(&entry.file_name())))
    });
    looked
}
