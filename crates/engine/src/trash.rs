//! The trash: deleted tasks that can be brought back, and what their seals hold.

use std::path::PathBuf;

use freehold_domain::cleanup::CleanupJob;
use freehold_domain::clock::Timestamp;
use freehold_domain::id::{SealId, TaskId, WorkspaceId};
use freehold_domain::seal::WorkspaceSeal;
use freehold_git::{FileChange, FileDiff};
use freehold_store as store;

use crate::task::TaskSummary;
use crate::{Engine, EngineError};

/// A deleted task.
#[derive(Debug, Clone, PartialEq)]
pub struct TrashEntry {
    /// The task as a board showed it.
    pub summary: TaskSummary,
    /// Its seals, the newest first.
    pub seals: Vec<WorkspaceSeal>,
    /// When it came into the trash.
    pub trashed_at: Timestamp,
    /// When it goes for good.
    pub expires_at: Timestamp,
}

/// What a seal holds beside the files as they were committed.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedChanges {
    /// The seal.
    pub seal: WorkspaceSeal,
    /// The files that differ from the base commit, by path.
    pub files: Vec<FileChange>,
    /// Why they cannot be shown; otherwise empty.
    pub error_message: String,
}

impl Engine {
    /// Lists the deleted tasks of a workspace, the newest first.
    pub async fn trash(&self, workspace_id: Option<WorkspaceId>) -> Result<Vec<TrashEntry>, EngineError> {
        let retention = self.inner.options.retention_ms;
        let read = self.inner.store.read(move |tx| {
            let workspace = crate::workspace::require_also_deleted(tx, workspace_id.as_ref())?;
            let items = store::task::list_trash(tx, &workspace.id)?;
            let ids: Vec<&str> = items.iter().map(|item| item.task.id.as_str()).collect();
            let mut seals = store::seal::of_tasks(tx, &ids)?;
            let mut entries = Vec::new();
            for summary in items {
                let own = seals.extract_if(.., |seal| seal.task_id == summary.task.id).collect();
                entries.push(entry(summary, own, retention));
            }
            Ok::<_, EngineError>(entries)
        });
        read.await
    }

    /// Reads one deleted task.
    pub async fn trash_entry(&self, id: TaskId) -> Result<TrashEntry, EngineError> {
        let retention = self.inner.options.retention_ms;
        let read = self.inner.store.read(move |tx| {
            let found = store::task::find_item(tx, &id)?.filter(|item| item.task.trashed_at.is_some());
            let absent =
                || EngineError::NotFound { noun: "task in the trash with the id", id: id.to_string() };
            let summary = found.ok_or_else(absent)?;
            let seals = store::seal::of_task(tx, &summary.task.id)?;
            Ok::<_, EngineError>(entry(summary, seals, retention))
        });
        read.await
    }

    /// Lists the seals of a task, open or closed, the newest first.
    pub async fn seals(&self, id: TaskId) -> Result<Vec<WorkspaceSeal>, EngineError> {
        let read = self.inner.store.read(move |tx| {
            store::task::require(tx, &id)?;
            Ok::<_, EngineError>(store::seal::of_task(tx, &id)?)
        });
        read.await
    }

    /// Tells what each seal of a task changes; a seal that cannot be read says why.
    pub async fn sealed_changes(&self, id: TaskId) -> Result<Vec<SealedChanges>, EngineError> {
        let mut all = Vec::new();
        for seal in self.seals(id).await? {
            let (repo, name) = (PathBuf::from(&seal.repository_path), seal.id.to_string());
            let read = self.blocking("reading a seal", move |git| git.seal_diff(&repo, &name)).await;
            let (files, error_message) = match read {
                Ok(files) => (files, String::new()),
                Err(error) => (Vec::new(), error.to_string()),
            };
            all.push(SealedChanges { seal, files, error_message });
        }
        Ok(all)
    }

    /// Reads the difference of one file of a seal; the path is one that [`Engine::sealed_changes`] names.
    pub async fn sealed_file_diff(&self, id: SealId, path: String) -> Result<FileDiff, EngineError> {
        let seal = self.inner.store.read(move |tx| store::seal::require(tx, &id)).await?;
        let repo = PathBuf::from(&seal.repository_path);
        self.blocking("reading a seal", move |git| git.seal_file_diff(&repo, seal.id.as_str(), &path)).await
    }

    /// Takes a task out of the trash for good: its row, its conversations and its seals.
    pub async fn purge_task(&self, id: TaskId) -> Result<CleanupJob, EngineError> {
        let engine = self.clone();
        self.to_the_end("purging a task", async move { engine.purge_from_trash(id).await }).await
    }
}

fn entry(summary: TaskSummary, seals: Vec<WorkspaceSeal>, retention_ms: i64) -> TrashEntry {
    let trashed_at = summary.task.trashed_at.unwrap_or(summary.task.updated_at);
    TrashEntry { summary, seals, trashed_at, expires_at: trashed_at.plus_millis(retention_ms) }
}
