//! Workspaces that are a person's own: the main checkout of a repository, or a worktree that a person made.
//!
//! Nothing is made for such a workspace, so there is no attempt to write down and nothing to undo. Its row names no
//! worktree id: an inventory of what a task owns never sees it.

use std::path::{Path, PathBuf};

use freehold_domain::environment::{
    EnvironmentRepo, EnvironmentRepoStatus, EnvironmentStatus, TaskEnvironment, WorkspaceKind, WorktreeOrigin,
};
use freehold_domain::id::{EnvironmentId, EnvironmentRepoId, TaskId};
use freehold_domain::repository::{Repository, WorkStart};
use freehold_git::StandingCheckout;
use freehold_store as store;

use crate::{Engine, EngineError};

/// A checkout of a person that a task is to work in.
#[derive(Debug, Clone)]
pub(super) struct StandingWish {
    pub(super) repository: Repository,
    pub(super) start: WorkStart,
}

impl StandingWish {
    const fn kind(&self) -> WorkspaceKind {
        match self.start {
            WorkStart::Adopted { .. } => WorkspaceKind::Adopted,
            _ => WorkspaceKind::InPlace,
        }
    }
}

impl Engine {
    /// Looks at the checkout once more and stores that the task works there.
    pub(super) async fn move_in(
        &self,
        task_id: &TaskId,
        wish: StandingWish,
    ) -> Result<TaskEnvironment, EngineError> {
        let found = self.look_at_standing(&wish).await?;
        let Some(path) = found.path.to_str().map(str::to_owned) else {
            let reason = format!("{} is not UTF-8 text; Freehold cannot store it", found.path.display());
            return Err(EngineError::InvalidField { field: "workspace_path", reason });
        };
        let now = self.now();
        let environment = TaskEnvironment {
            id: EnvironmentId::generate(self.ids()),
            task_id: task_id.clone(),
            executor_type: wish.kind().to_string(),
            executor_id: None,
            status: EnvironmentStatus::Ready,
            workspace_path: path.clone(),
            task_dir_name: String::new(),
            created_at: now,
            updated_at: now,
        };
        let repo = EnvironmentRepo {
            id: EnvironmentRepoId::generate(self.ids()),
            environment_id: environment.id.clone(),
            repository_id: wish.repository.id.clone(),
            branch_slug: String::new(),
            worktree_id: None,
            worktree_path: path,
            worktree_branch: found.branch.clone().unwrap_or_default(),
            position: 0,
            error_message: String::new(),
            status: EnvironmentRepoStatus::Active,
            created_at: now,
            updated_at: now,
            merged_at: None,
            deleted_at: None,
            origin: Some(origin_of(found)),
        };
        let (stored, node) = (environment.clone(), self.inner.options.node_id.clone());
        let write = self.inner.store.write(move |tx| {
            crate::task::require_no_visitor(tx, &wish.repository, &wish.start, &stored.task_id)?;
            super::store_ready(tx, &stored, &[repo], None, now)?;
            Ok::<_, EngineError>(store::node::hold_environment(tx, &stored.id, &node)?)
        });
        write.await?;
        Ok(environment)
    }

    async fn look_at_standing(&self, wish: &StandingWish) -> Result<StandingCheckout, EngineError> {
        let repo = PathBuf::from(&wish.repository.local_path);
        let WorkStart::Adopted { path } = &wish.start else {
            return self
                .blocking("looking at a checkout", move |git| git.standing_main_checkout(&repo))
                .await;
        };
        let path = self.require_adoptable(&wish.repository, Path::new(path)).await?;
        self.blocking("looking at a worktree", move |git| git.standing_worktree(&repo, Path::new(&path)))
            .await
    }
}

fn origin_of(found: StandingCheckout) -> WorktreeOrigin {
    let base_commit = found.head.to_string();
    WorktreeOrigin {
        base_branch: found.branch.unwrap_or_else(|| base_commit.clone()),
        base_commit,
        registration: found.registration.unwrap_or_default(),
        device: found.device,
        inode: found.inode,
        branch_made: false,
        warning: String::new(),
    }
}
