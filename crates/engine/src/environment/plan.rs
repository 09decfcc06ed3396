//! Planning one worktree: which branch, at which commit.

use std::path::PathBuf;

use freehold_domain::environment::{PlannedBranch, PlannedWorktree};
use freehold_domain::id::{RepositoryId, TaskId, WorktreeId};
use freehold_domain::repository::{FetchedRef, Repository, TaskRepository, WorkStart};
use freehold_git::{Git, RemoteRef};
use freehold_store as store;

use crate::{Engine, EngineError};

/// Where a worktree goes and what it is named after.
pub(super) struct Site<'s> {
    pub(super) title: &'s str,
    pub(super) task_dir_name: &'s str,
    pub(super) path: String,
    pub(super) again: MadeAgain,
}

/// What is known of the worktree that the task had before, when it had one.
pub(super) struct MadeAgain {
    /// Where this one starts, when that is not what the base says now.
    pub(super) start_commit: Option<String>,
    /// Whether a name that was given for its branch may be taken by the branch from before.
    pub(super) had_one: bool,
}

/// The branch and commit that were chosen.
struct Choice {
    branch: String,
    origin: PlannedBranch,
    base_branch: String,
    base_commit: String,
}

impl Engine {
    /// Reads what is known of the worktree that the task had before.
    pub(super) async fn made_again(
        &self,
        task_id: &TaskId,
        repository_id: &RepositoryId,
    ) -> Result<MadeAgain, EngineError> {
        let (task_id, repository_id) = (task_id.clone(), repository_id.clone());
        let read = self.inner.store.read(move |tx| {
            let mut starts = store::task::start_commits_of(tx, &task_id)?;
            starts.retain(|(id, _)| *id == repository_id);
            let start_commit = starts.pop().map(|(_, commit)| commit);
            Ok::<_, EngineError>(MadeAgain {
                start_commit,
                had_one: !store::seal::of_task(tx, &task_id)?.is_empty(),
            })
        });
        read.await
    }

    /// Chooses branch and start commit; makes nothing but the private name of what was fetched.
    pub(super) async fn plan_worktree(
        &self,
        site: Site<'_>,
        repository: Repository,
        used: TaskRepository,
    ) -> Result<PlannedWorktree, EngineError> {
        let base = if used.base_branch.is_empty() { repository.default_branch } else { used.base_branch };
        let repo = PathBuf::from(&repository.local_path);
        let (prefix, title) = (repository.branch_prefix, site.title.to_owned());
        let suffix: String = site.task_dir_name.chars().take(6).collect();
        let (path, again) = (site.path, site.again);
        let choosing = self.blocking("planning a worktree", move |git| {
            let (name, fetched) = match used.start {
                WorkStart::ExistingBranch { branch } => return choose_existing(git, &repo, &branch),
                WorkStart::NewBranch { name, fetched } => (name, fetched),
                WorkStart::InPlace | WorkStart::Adopted { .. } => (None, None),
            };
            let base_commit = match (again.start_commit, fetched) {
                (Some(commit), _) => git.resolve_start(&repo, &commit)?.commit,
                (None, Some(FetchedRef { remote, reference })) => {
                    git.fetch(&repo, &RemoteRef { remote, reference })?
                }
                (None, None) => git.resolve_start(&repo, &base)?.commit,
            };
            let is_left = |name: &String| !again.had_one || git.require_free_branch(&repo, name).is_ok();
            let (branch, origin) = match name.filter(is_left) {
                Some(name) => (name, PlannedBranch::Named),
                None => (git.unused_branch_name(&repo, &prefix, &title, &suffix)?, PlannedBranch::MadeUp),
            };
            Ok(Choice { branch, origin, base_branch: base, base_commit: base_commit.to_string() })
        });
        let Choice { branch, origin, base_branch, base_commit } = choosing.await?;
        Ok(PlannedWorktree {
            worktree_id: WorktreeId::generate(self.ids()),
            repository_id: repository.id,
            repository_path: repository.local_path,
            path,
            branch,
            branch_origin: origin,
            base_branch,
            base_commit,
            seal: None,
            environment_repo_id: None,
        })
    }
}

fn choose_existing(git: &Git, repo: &std::path::Path, branch: &str) -> Result<Choice, EngineError> {
    let found = git.resolve_branch(repo, branch)?;
    git.require_unused_branch(repo, &found.branch)?;
    let base_commit = found.commit.to_string();
    Ok(match found.remote_branch {
        Some(base_branch) => {
            Choice { branch: found.branch, origin: PlannedBranch::Named, base_branch, base_commit }
        }
        None => Choice {
            base_branch: found.branch.clone(),
            branch: found.branch,
            origin: PlannedBranch::Existing,
            base_commit,
        },
    })
}
