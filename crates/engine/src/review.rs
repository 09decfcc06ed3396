//! What changed since the task's base commit, read from disk each time.

use std::path::{Path, PathBuf};

use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus};
use freehold_domain::id::{RepositoryId, TaskId};
use freehold_git::{FileChange, FileDiff, HeadState, Oid};

use crate::{Engine, EngineError};

/// What differs from the base commit, in one repository of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryChanges {
    /// The repository.
    pub repository_id: RepositoryId,
    /// The repository's name.
    pub repository_name: String,
    /// The branch that is checked out now; empty when none is.
    pub branch: String,
    /// The commit that the files are compared with.
    pub base_commit: String,
    /// The files, by path.
    pub files: Vec<FileChange>,
    /// Why they cannot be shown; otherwise empty.
    pub error_message: String,
}

impl Engine {
    /// Lists the changed files of a task, per repository; a repository that cannot be read says why.
    pub async fn changes(&self, task_id: TaskId) -> Result<Vec<RepositoryChanges>, EngineError> {
        let mut changes = Vec::new();
        for (repo, name) in self.active_repos(&task_id).await? {
            let base_commit =
                repo.origin.as_ref().map(|origin| origin.base_commit.clone()).unwrap_or_default();
            let read = self.read_changes(&repo).await;
            let (branch, files, error_message) = match read {
                Ok((branch, files)) => (branch, files, String::new()),
                Err(error) => (String::new(), Vec::new(), error.to_string()),
            };
            let (repository_id, repository_name) = (repo.repository_id, name);
            changes.push(RepositoryChanges {
                repository_id,
                repository_name,
                branch,
                base_commit,
                files,
                error_message,
            });
        }
        Ok(changes)
    }

    /// Reads one file's difference from the base commit.
    pub async fn file_diff(
        &self,
        task_id: TaskId,
        repository_id: RepositoryId,
        path: String,
    ) -> Result<FileDiff, EngineError> {
        let repos = self.active_repos(&task_id).await?;
        let found = repos.into_iter().find(|(repo, _)| repo.repository_id == repository_id);
        let Some((repo, _)) = found else {
            let id = repository_id.to_string();
            return Err(EngineError::NotFound { noun: "repository of the task with the id", id });
        };
        let base = base_of(&repo)?;
        let worktree = PathBuf::from(repo.worktree_path);
        self.blocking("reading a diff", move |git| git.file_diff(&worktree, &base, &path)).await
    }

    async fn read_changes(&self, repo: &EnvironmentRepo) -> Result<(String, Vec<FileChange>), EngineError> {
        let base = base_of(repo)?;
        let worktree = PathBuf::from(&repo.worktree_path);
        self.blocking("reading changes", move |git| {
            let branch = match git.status(&worktree)?.head {
                HeadState::Branch { name, .. } => name,
                HeadState::Detached { .. } => String::new(),
            };
            Ok::<_, EngineError>((branch, git.changes(&worktree, &base)?))
        })
        .await
    }

    /// The repositories of the task that are on disk, each with its name.
    async fn active_repos(&self, task_id: &TaskId) -> Result<Vec<(EnvironmentRepo, String)>, EngineError> {
        let Some((_, repos)) = self.environment_of(task_id.clone()).await? else {
            return Err(EngineError::NoWorkspace { task_id: task_id.clone() });
        };
        Ok(repos.into_iter().filter(|(repo, _)| repo.status != EnvironmentRepoStatus::Deleted).collect())
    }
}

fn base_of(repo: &EnvironmentRepo) -> Result<Oid, EngineError> {
    let path = Path::new(&repo.worktree_path);
    let origin = repo.origin.as_ref().ok_or_else(|| EngineError::InvalidField {
        field: "base commit",
        reason: format!("none is recorded for {}", path.display()),
    })?;
    origin.base_commit.parse().map_err(EngineError::Git)
}
