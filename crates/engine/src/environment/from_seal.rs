//! A new task from seals: a workspace that was given back, such as by a reset, comes to life beside the task it was
//! of.
//!
//! A workspace is brought back as a whole: the seal that is named, and what was sealed with it. The task and the plan
//! (the same journal as a creation's) are stored together, then everything is restored to a new folder, then the
//! environment is stored. An attempt that a crash cut short is finished by the next start; one that fails takes its
//! task with it, and the seals stay.

use std::path::{Path, PathBuf};

use freehold_domain::environment::{Creation, CreationState, PlannedBranch, PlannedWorktree};
use freehold_domain::event::EventBody;
use freehold_domain::id::{CreationId, SealId, TaskId, TaskRepositoryId, WorktreeId};
use freehold_domain::repository::{Repository, TaskRepository, WorkStart};
use freehold_domain::seal::{SealKind, WorkspaceSeal};
use freehold_domain::task::{Task, TaskState, TaskTitle};
use freehold_git::{Git, HeadState, MadeWorktree, Oid, Restored, WorktreeIdentity};
use freehold_store as store;

use crate::task::{NewTask, place_of};
use crate::{Engine, EngineError};

/// What is known of a sealed workspace before a task is made of it.
struct SealedWorkspace {
    origin: Task,
    folder: Option<WorkspaceSeal>,
    worktrees: Vec<(WorkspaceSeal, Repository, TaskRepository)>,
}

impl Engine {
    /// Makes a task whose workspace is the one that the seal is of. Returns when the files are there.
    pub async fn task_from_seal(&self, id: SealId, title: Option<String>) -> Result<TaskId, EngineError> {
        let title = title.map(|title| TaskTitle::parse(&title)).transpose()?.map(Into::into);
        let engine = self.clone();
        self.to_the_end("making a task from a seal", async move {
            let task_id = TaskId::generate(engine.ids());
            let _turn = engine.inner.launches.one_at_a_time(&task_id).await;
            let sealed = engine.sealed_workspace(id, &task_id).await?;
            let creation = engine.plan_from_seals(&sealed, &task_id).await?;
            engine.store_with_plan(sealed, creation.clone(), title).await?;
            crate::failpoint!("engine.from_seal.planned");
            engine.carry_out_from_seals(creation).await?;
            Ok(task_id)
        })
        .await
    }

    /// Goes on with an attempt that an earlier server did not finish.
    pub(super) async fn finish_from_seals(&self, creation: Creation) {
        let task_id = creation.task_id.clone();
        let _turn = self.inner.launches.one_at_a_time(&task_id).await;
        if let Err(error) = self.carry_out_from_seals(creation).await {
            tracing::error!(%task_id, %error, "a task could not be made from seals");
        }
    }

    async fn sealed_workspace(&self, id: SealId, task_id: &TaskId) -> Result<SealedWorkspace, EngineError> {
        let (task_id, ids, now) = (task_id.clone(), self.inner.clone(), self.now());
        let read = self.inner.store.read(move |tx| {
            let named = store::seal::require(tx, &id)?;
            let mut seals: Vec<WorkspaceSeal> = Vec::new();
            // The newest first: what was sealed again is taken as it was at last.
            for seal in store::seal::of_task(tx, &named.task_id)? {
                let is_known = seals.iter().any(|known| known.worktree_path == seal.worktree_path);
                if seal.job_id == named.job_id && !is_known {
                    seals.push(seal);
                }
            }
            let origin = store::task::require(tx, &named.task_id)?;
            let used = store::task::repositories_of(tx, &named.task_id)?;
            let (folders, mut of_worktrees): (Vec<_>, Vec<_>) =
                seals.into_iter().partition(|seal| seal.kind == SealKind::Folder);
            of_worktrees.sort_by(|one, other| one.worktree_path.cmp(&other.worktree_path));
            let mut worktrees = Vec::new();
            for (seal, position) in of_worktrees.into_iter().zip(0..) {
                let repository = store::repository::require(tx, &seal.repository_id)?;
                let earlier = used.iter().find(|used| used.repository_id == repository.id);
                let base = earlier.map(|used| used.base_branch.clone()).filter(|base| !base.is_empty());
                let use_of_it = TaskRepository {
                    id: TaskRepositoryId::generate(ids.ids.as_ref()),
                    task_id: task_id.clone(),
                    repository_id: repository.id.clone(),
                    base_branch: base.unwrap_or_else(|| repository.default_branch.clone()),
                    start: WorkStart::NewBranch { name: None, fetched: None },
                    position,
                    created_at: now,
                };
                worktrees.push((seal, repository, use_of_it));
            }
            Ok::<_, EngineError>(SealedWorkspace { origin, folder: folders.into_iter().next(), worktrees })
        });
        let sealed = read.await?;
        for seal in sealed.folder.iter().chain(sealed.worktrees.iter().map(|(seal, ..)| seal)) {
            self.require_sealed_here(seal)?;
        }
        Ok(sealed)
    }

    /// Chooses folder and branches; writes and restores nothing.
    async fn plan_from_seals(
        &self,
        sealed: &SealedWorkspace,
        task_id: &TaskId,
    ) -> Result<Creation, EngineError> {
        let id = CreationId::generate(self.ids());
        let task_dir_name = super::directory_name(&id);
        let folder = self.inner.options.workspaces_root.join(&task_dir_name);
        let mut worktrees = Vec::new();
        for (seal, repository, used) in &sealed.worktrees {
            let name = Path::new(&seal.worktree_path).file_name().unwrap_or_default();
            let (branch, branch_origin, base) =
                self.branch_from(seal, repository, &sealed.origin.title, &task_dir_name).await?;
            worktrees.push(PlannedWorktree {
                worktree_id: WorktreeId::generate(self.ids()),
                repository_id: repository.id.clone(),
                repository_path: seal.repository_path.clone(),
                path: folder.join(name).display().to_string(),
                branch,
                branch_origin,
                base_branch: used.base_branch.clone(),
                base_commit: base.map(|base| base.to_string()).unwrap_or_default(),
                seal: Some(seal.id.clone()),
                environment_repo_id: None,
            });
        }
        let now = self.now();
        Ok(Creation {
            id,
            task_id: task_id.clone(),
            node_id: self.inner.options.node_id.clone(),
            state: CreationState::Planned,
            task_dir_name,
            worktrees,
            created_at: now,
            updated_at: now,
            folder_seal: sealed.folder.as_ref().map(|seal| seal.id.clone()),
        })
    }

    /// The sealed branch where it is free, else a new one; and the commit that the work is compared with.
    async fn branch_from(
        &self,
        seal: &WorkspaceSeal,
        repository: &Repository,
        title: &str,
        task_dir_name: &str,
    ) -> Result<(String, PlannedBranch, Option<Oid>), EngineError> {
        let (repo, id) = (PathBuf::from(&seal.repository_path), seal.id.to_string());
        let (prefix, title) = (repository.branch_prefix.clone(), title.to_owned());
        let suffix: String = task_dir_name.chars().take(6).collect();
        self.blocking("choosing a branch name", move |git| {
            let sealed = git.read_seal(&repo, &id)?;
            let base = sealed.base.clone();
            let Some(HeadState::Branch { name, tip }) = sealed.head else {
                return Ok((String::new(), PlannedBranch::Existing, base));
            };
            if !git.has_branch(&repo, &name)? {
                return Ok((name, PlannedBranch::MadeUp, base));
            }
            if is_free(git, &repo, &name, tip.as_ref())? {
                return Ok((name, PlannedBranch::Existing, base));
            }
            let made_up = git.unused_branch_name(&repo, &prefix, &title, &suffix)?;
            Ok::<_, EngineError>((made_up, PlannedBranch::MadeUp, base))
        })
        .await
    }

    async fn store_with_plan(
        &self,
        sealed: SealedWorkspace,
        creation: Creation,
        title: Option<String>,
    ) -> Result<(), EngineError> {
        let (now, node) = (self.now(), self.inner.options.node_id.clone());
        let write = self.inner.store.write(move |tx| {
            let origin = sealed.origin;
            let wish = NewTask { workspace_id: Some(origin.workspace_id), ..NewTask::default() };
            let place = place_of(tx, &wish)?;
            // A workspace that is being deleted takes no new task.
            let held = store::workspace::lock(tx, &place.workspace_id)?;
            held.ok_or_else(|| EngineError::NotFound {
                noun: "workspace",
                id: place.workspace_id.to_string(),
            })?;
            let task = Task {
                automation: String::new(),
                id: creation.task_id.clone(),
                parent_id: None,
                borrowed_environment_id: None,
                workspace_id: place.workspace_id,
                workflow_id: place.workflow_id,
                position: store::task::next_position(tx, &place.step_id)?,
                step_id: place.step_id,
                title: title.unwrap_or(origin.title),
                prompt: String::new(),
                state: TaskState::Todo,
                error_message: String::new(),
                agent_profile_id: origin.agent_profile_id,
                start_requested: false,
                is_quick: false,
                expires_at: None,
                archived_at: None,
                deleted_at: None,
                trashed_at: None,
                created_at: now,
                updated_at: now,
            };
            let used: Vec<TaskRepository> = sealed.worktrees.into_iter().map(|(_, _, used)| used).collect();
            store::task::insert(tx, &task, &used)?;
            store::task::set_start_node(tx, &task.id, &node)?;
            store::creation::insert(tx, &creation)?;
            tx.emit(EventBody::TaskChanged { task_id: task.id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    async fn carry_out_from_seals(&self, creation: Creation) -> Result<(), EngineError> {
        let Err(error) = self.restore_and_own(&creation).await else { return Ok(()) };
        let (task_id, now) = (creation.task_id.clone(), self.now());
        self.abandon(creation, 0).await?;
        let write = self.inner.store.write(move |tx| {
            store::task::delete_row(tx, &task_id)?;
            tx.emit(EventBody::TaskDeleted { task_id }, now);
            Ok::<_, EngineError>(())
        });
        write.await?;
        Err(error)
    }

    async fn restore_and_own(&self, creation: &Creation) -> Result<(), EngineError> {
        self.restore_folder_of(creation).await?;
        let mut made = Vec::new();
        for planned in &creation.worktrees {
            let Some(id) = planned.seal.clone() else { continue };
            let seal = self.inner.store.read(move |tx| store::seal::require(tx, &id)).await?;
            let restored = self.restore(planned, &seal).await?;
            made.push(MadeWorktree { identity: identity_of(restored), warning: None });
            crate::failpoint!("engine.from_seal.restored");
        }
        self.persist(creation, made).await?;
        crate::failpoint!("engine.from_seal.persisted");
        Ok(())
    }
}

/// Whether a branch is where it was sealed and checked out nowhere.
fn is_free(git: &Git, repo: &Path, name: &str, tip: Option<&Oid>) -> Result<bool, EngineError> {
    let now = git.resolve_branch(repo, name)?.commit;
    Ok(Some(&now) == tip && git.require_unused_branch(repo, name).is_ok())
}

fn identity_of(restored: Restored) -> WorktreeIdentity {
    let Restored { path, common_dir, registration, device, inode, head, seal } = restored;
    // Before the first commit there is none; the seal stands in, as it is only shown.
    let head = head.tip().cloned().unwrap_or(seal.commit);
    WorktreeIdentity { path, registration, common_dir, device, inode, head }
}
