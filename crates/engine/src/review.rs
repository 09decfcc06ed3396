//! What changed since the task's base commit, read from disk each time.

use std::path::{Path, PathBuf};

use freehold_domain::environment::{EnvironmentRepo, EnvironmentRepoStatus};
use freehold_domain::id::{RepositoryId, TaskId};
use freehold_git::{FileChange, FileDiff, HeadState, Oid};
use freehold_store as store;
use freehold_store::StoreError;

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
    /// The branch whose newest common commit is the base, because no start commit was recorded; otherwise none.
    pub inferred_base: Option<String>,
    /// The files, by path.
    pub files: Vec<FileChange>,
    /// Why they cannot be shown; otherwise empty.
    pub error_message: String,
}

/// What the files of a worktree are compared with.
#[derive(Debug, Clone)]
struct Base {
    commit: Oid,
    /// The branch whose common commit it is; none for a recorded commit.
    inferred_from: Option<String>,
}

impl Engine {
    /// Lists the changed files of a task, per repository; a repository that cannot be read says why.
    pub async fn changes(&self, task_id: TaskId) -> Result<Vec<RepositoryChanges>, EngineError> {
        let mut changes = Vec::new();
        for (repo, name) in self.active_repos(&task_id).await? {
            let mut shown = RepositoryChanges {
                repository_id: repo.repository_id.clone(),
                repository_name: name,
                branch: String::new(),
                base_commit: String::new(),
                inferred_base: None,
                files: Vec::new(),
                error_message: String::new(),
            };
            match self.read_changes(&task_id, &repo).await {
                Ok((base, branch, files)) => {
                    (shown.branch, shown.files) = (branch, files);
                    (shown.base_commit, shown.inferred_base) = (base.commit.to_string(), base.inferred_from);
                }
                Err(error) => {
                    shown.base_commit = repo.origin.map(|origin| origin.base_commit).unwrap_or_default();
                    shown.error_message = error.to_string();
                }
            }
            changes.push(shown);
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
        let mut repos = self.active_repos(&task_id).await?;
        repos.retain(|(repo, _)| repo.repository_id == repository_id);
        let id = repository_id.to_string();
        let mut answer = Err(EngineError::NotFound { noun: "repository of the task with the id", id });
        // A task of an older database may have one repository on several branches: the file is where it differs.
        for (repo, _) in repos {
            answer = self.read_diff(&task_id, repo, path.clone()).await;
            if answer.as_ref().is_ok_and(|diff| diff.binary || !diff.patch.is_empty()) {
                break;
            }
        }
        answer
    }

    async fn read_diff(
        &self,
        task_id: &TaskId,
        repo: EnvironmentRepo,
        path: String,
    ) -> Result<FileDiff, EngineError> {
        require_directory(task_id, &repo)?;
        let base = self.base_of(task_id, &repo).await?.commit;
        let worktree = PathBuf::from(repo.worktree_path);
        self.blocking("reading a diff", move |git| git.file_diff(&worktree, &base, &path)).await
    }

    async fn read_changes(
        &self,
        task_id: &TaskId,
        repo: &EnvironmentRepo,
    ) -> Result<(Base, String, Vec<FileChange>), EngineError> {
        require_directory(task_id, repo)?;
        let base = self.base_of(task_id, repo).await?;
        let worktree = PathBuf::from(&repo.worktree_path);
        self.blocking("reading changes", move |git| {
            let branch = match git.status(&worktree)?.head {
                HeadState::Branch { name, .. } => name,
                HeadState::Detached { .. } => String::new(),
            };
            let files = git.changes(&worktree, &base.commit)?;
            Ok::<_, EngineError>((base, branch, files))
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

    /// The recorded start commit; for a worktree of an older database, which recorded none, the newest commit
    /// in common with the branch that the task was based on, else with the repository's default branch.
    async fn base_of(&self, task_id: &TaskId, repo: &EnvironmentRepo) -> Result<Base, EngineError> {
        if let Some(origin) = &repo.origin {
            return Ok(Base { commit: origin.base_commit.parse()?, inferred_from: None });
        }
        let branches = self.possible_bases(task_id, &repo.repository_id).await?;
        let worktree = PathBuf::from(&repo.worktree_path);
        self.blocking("looking for a base commit", move |git| {
            let mut last = None;
            for branch in branches {
                match git.merge_base(&worktree, &branch) {
                    Ok(commit) => return Ok(Base { commit, inferred_from: Some(branch) }),
                    Err(error) => last = Some(error),
                }
            }
            Err(last.map_or_else(|| no_base(&worktree), EngineError::Git))
        })
        .await
    }

    async fn possible_bases(
        &self,
        task_id: &TaskId,
        repository_id: &RepositoryId,
    ) -> Result<Vec<String>, EngineError> {
        let (task_id, repository_id) = (task_id.clone(), repository_id.clone());
        let read = self.inner.store.read(move |tx| {
            let used = store::task::repositories_of(tx, &task_id)?;
            let used = used.into_iter().find(|used| used.repository_id == repository_id);
            let repository = store::repository::find(tx, &repository_id)?;
            Ok::<_, StoreError>([
                used.map(|used| used.base_branch),
                repository.map(|repository| repository.default_branch),
            ])
        });
        Ok(read.await?.into_iter().flatten().filter(|branch| !branch.is_empty()).collect())
    }
}

/// Says of a worktree that is not there that it is missing, which Git would say as of a name it cannot resolve.
fn require_directory(task_id: &TaskId, repo: &EnvironmentRepo) -> Result<(), EngineError> {
    if Path::new(&repo.worktree_path).is_dir() {
        return Ok(());
    }
    Err(EngineError::WorkspaceMissing { task_id: task_id.clone(), path: repo.worktree_path.clone() })
}

fn no_base(worktree: &Path) -> EngineError {
    let reason = format!("none is recorded for {}, and no branch to compare with", worktree.display());
    EngineError::InvalidField { field: "base commit", reason }
}
