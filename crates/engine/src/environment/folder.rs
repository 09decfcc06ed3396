//! The task's own folder when it is made and when it comes back: the scratch folder of a task without a repository,
//! or what lay beside the worktrees.
//!
//! A scratch folder is made under the name that the journal holds. What was in a folder comes back from its seal,
//! before the worktrees that stand apart in it.

use std::path::{Path, PathBuf};

use freehold_domain::environment::{Creation, EnvironmentStatus, WorkspaceKind};
use freehold_domain::id::TaskId;
use freehold_domain::seal::WorkspaceSeal;
use freehold_git::{FolderRestoreRequest, RestoreError};
use freehold_store as store;

use super::reopen::Closed;
use crate::{Engine, EngineError};

impl Engine {
    /// Makes the folder; it may not exist.
    pub(super) async fn make_scratch(&self, task_dir_name: &str) -> Result<(), EngineError> {
        let path: PathBuf = self.inner.options.workspaces_root.join(task_dir_name);
        self.blocking("making a scratch folder", move |_| make(&path)).await
    }

    /// Makes the folder of a task that comes back; there was nothing in it when it went.
    pub(super) async fn make_scratch_again(&self, creation: &Creation) -> Result<(), EngineError> {
        let task_id: TaskId = creation.task_id.clone();
        let Some((environment, _)) = self.environment_of(task_id).await? else { return Ok(()) };
        let is_scratch = environment.kind() == Some(WorkspaceKind::Scratch);
        let path = self.inner.options.workspaces_root.join(&creation.task_dir_name);
        if creation.folder_seal.is_none() && is_scratch && !path.is_dir() {
            self.make_scratch(&creation.task_dir_name).await?;
        }
        Ok(())
    }

    /// The seal from which the folder of a closed task comes back; none while the folder is there. Where no worktree
    /// comes back, the task gets another folder with its next workspace, and what was in the old one stays sealed.
    pub(super) fn folder_to_restore<'c>(
        &self,
        closed: &'c Closed,
        brings_worktrees: bool,
    ) -> Option<&'c WorkspaceSeal> {
        let (environment, seal) = (closed.environment.as_ref()?, closed.folder_seal.as_ref()?);
        let is_given_back = environment.status == EnvironmentStatus::Stopped;
        let is_there = !is_given_back && Path::new(&seal.worktree_path).symlink_metadata().is_ok();
        let is_whole = closed.repos.iter().all(|repo| repo.worktree_id.is_none());
        (!is_there && (brings_worktrees || is_whole)).then_some(seal)
    }

    /// Restores the folder, or finds that an earlier attempt of the same plan did.
    pub(super) async fn restore_folder_of(&self, creation: &Creation) -> Result<(), EngineError> {
        let Some(id) = creation.folder_seal.clone() else { return Ok(()) };
        let seal = self.inner.store.read(move |tx| store::seal::require(tx, &id)).await?;
        let request = FolderRestoreRequest {
            vault: PathBuf::from(&seal.repository_path),
            id: seal.id.to_string(),
            path: self.inner.options.workspaces_root.join(&creation.task_dir_name),
        };
        let restoring = self.blocking("restoring a task's folder", move |git| {
            let restored = git.restore_folder(&request);
            let Err(RestoreError::PathTaken { .. }) = &restored else { return restored.map(drop) };
            if git.is_restored_folder(&request.vault, &request.id, &request.path)? {
                return Ok(());
            }
            restored.map(drop)
        });
        restoring.await?;
        crate::failpoint!("engine.reopen.folder_restored");
        Ok(())
    }

    /// Where an attempt restored a folder before it failed; empty when it did not.
    pub(super) async fn restored_folder_of(&self, creation: &Creation) -> Result<String, EngineError> {
        let Some(id) = creation.folder_seal.clone() else { return Ok(String::new()) };
        let seal = self.inner.store.read(move |tx| store::seal::require(tx, &id)).await?;
        let path = self.inner.options.workspaces_root.join(&creation.task_dir_name);
        self.blocking("looking for a restored folder", move |git| {
            let is_restored =
                git.is_restored_folder(Path::new(&seal.repository_path), seal.id.as_str(), &path)?;
            Ok::<_, EngineError>(if is_restored { path.display().to_string() } else { String::new() })
        })
        .await
    }
}

fn make(path: &Path) -> Result<(), EngineError> {
    std::fs::create_dir(path).map_err(|source| EngineError::Folder {
        operation: "making the scratch folder",
        path: path.display().to_string(),
        source,
    })
}
