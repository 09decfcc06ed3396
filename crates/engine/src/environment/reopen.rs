//! Bringing a closed task back: its worktrees are restored from their seals, byte for byte.
//!
//! await the cleanup job, unless it can be called off → look what is still there → call it off and plan, in one
//! transaction (journal) → restore each → in one transaction the worktrees are the task's again and the task is
//! open. An attempt that a crash cut short is finished by the next start. One that fails is abandoned: what it
//! restored is given back through a cleanup job, the seals stay, and the task is as closed as it was: what it still
//! owned on disk gets a job anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use freehold_domain::cleanup::{CleanupJob, CleanupState, CleanupTrigger, SnapshotWorktree};
use freehold_domain::environment::{
    Creation, CreationState, EnvironmentRepo, EnvironmentRepoStatus, PlannedBranch, PlannedWorktree,
    TaskEnvironment, WorktreeOrigin,
};
use freehold_domain::event::EventBody;
use freehold_domain::id::{CleanupJobId, CreationId, RepositoryId, TaskId};
use freehold_domain::seal::WorkspaceSeal;
use freehold_domain::task::Task;
use freehold_git::{RestoreBranch, RestoreError, RestoreRequest, Restored};
use freehold_store as store;
use freehold_store::environment::RevivedRepo;
use freehold_store::{StoreError, Tx};

use super::reconcile::snapshot_of_plan;
use crate::{Engine, EngineError};

/// How long a cleanup job that is under way is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// How a closed task comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reopening {
    /// Where its worktrees come.
    pub place: Place,
    /// What they have checked out.
    pub branch: BranchChoice,
}

/// Where restored worktrees come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// Where they were.
    #[default]
    Same,
    /// In a new folder, as something else may be where they were.
    Elsewhere,
}

/// What restored worktrees have checked out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BranchChoice {
    /// What they had checked out.
    #[default]
    Sealed,
    /// A new branch at the sealed commit, as theirs may have moved on.
    New,
    /// The sealed commit, without a branch.
    Detached,
}

/// What is known of a closed task before it is brought back.
pub(super) struct Closed {
    task: Task,
    pub(super) environment: Option<TaskEnvironment>,
    pub(super) repos: Vec<EnvironmentRepo>,
    seals: Vec<WorkspaceSeal>,
    pub(super) folder_seal: Option<WorkspaceSeal>,
    branch_prefixes: Vec<(String, String)>,
}

impl Engine {
    /// Brings an archived or deleted task back, with its conversations and its workspace. Returns when the files
    /// are there.
    pub async fn reopen_task(&self, task_id: TaskId, reopening: Reopening) -> Result<(), EngineError> {
        let engine = self.clone();
        self.to_the_end("bringing a task back", async move {
            let _turn = engine.inner.launches.one_at_a_time(&task_id).await;
            loop {
                let job = engine.settle_job_of(&task_id).await?;
                let closed = engine.closed_task(&task_id).await?;
                let creation = engine.plan_reopening(&closed, reopening).await?;
                if engine.begin_reopening(&creation, job).await? {
                    crate::failpoint!("engine.reopen.planned");
                    return engine.carry_out_reopening(creation).await;
                }
            }
        })
        .await
    }

    /// Goes on in the background with an attempt that an earlier server did not finish. A task that is open was being
    /// made from seals; any other was being brought back.
    pub(super) fn finish_restoring(&self, creation: Creation, is_open: bool) {
        let engine = self.clone();
        self.own(async move {
            if is_open {
                return engine.finish_from_seals(creation).await;
            }
            let task_id = creation.task_id.clone();
            let _turn = engine.inner.launches.one_at_a_time(&task_id).await;
            if let Err(error) = engine.carry_out_reopening(creation).await {
                tracing::error!(%task_id, %error, "a task could not be brought back");
            }
        });
    }

    /// Waits for a job that has begun: a worktree is either there or sealed then. Gives the one that has not begun,
    /// or that came to rest, and can be called off.
    async fn settle_job_of(&self, task_id: &TaskId) -> Result<Option<CleanupJobId>, EngineError> {
        let began = self.now();
        let patience = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
        loop {
            let (id, now) = (task_id.clone(), self.now());
            let is_late = now.millis_since(began) > patience;
            let read = self.inner.store.read(move |tx| {
                let task = store::task::require(tx, &id)?;
                if task.is_open() {
                    return Err(EngineError::TaskOpen { task_id: id });
                }
                let Some(job) = hindrance(tx, &id)? else { return Ok(Some(None)) };
                if may_be_called_off(&job) {
                    return Ok(Some(Some(job.id)));
                }
                let waits_for_a_person =
                    matches!(job.state, CleanupState::Prepared | CleanupState::NeedsDecision);
                if is_late || waits_for_a_person {
                    let CleanupJob { id: job_id, task_id, trigger, .. } = job;
                    return Err(EngineError::Barrier { task_id, job_id, trigger });
                }
                Ok(None)
            });
            if let Some(settled) = read.await? {
                return Ok(settled);
            }
            self.inner.cleanup_wake.notify_one();
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn closed_task(&self, id: &TaskId) -> Result<Closed, EngineError> {
        let id = id.clone();
        let read = self.inner.store.read(move |tx| {
            let task = store::task::require(tx, &id)?;
            let environment = store::environment::find_by_task(tx, &id)?;
            let repos = match &environment {
                Some(environment) => store::environment::repos_of(tx, &environment.id)?,
                None => Vec::new(),
            };
            let seals = store::seal::of_task(tx, &id)?;
            let folder_seal = match &environment {
                Some(environment) => store::seal::folder_of(tx, &environment.id)?,
                None => None,
            };
            let mut branch_prefixes = Vec::new();
            for repo in &repos {
                if let Some(repository) = store::repository::find(tx, &repo.repository_id)? {
                    branch_prefixes.push((repository.local_path, repository.branch_prefix));
                }
            }
            Ok::<_, EngineError>(Closed { task, environment, repos, seals, folder_seal, branch_prefixes })
        });
        read.await
    }

    /// Calls the job off and writes the plan into the journal; false when the job went on meanwhile.
    async fn begin_reopening(
        &self,
        creation: &Creation,
        called_off: Option<CleanupJobId>,
    ) -> Result<bool, EngineError> {
        let (creation, now) = (creation.clone(), self.now());
        let write = self.inner.store.write(move |tx| {
            store::task::lock(tx, &creation.task_id)?;
            let job = hindrance(tx, &creation.task_id)?;
            if job.as_ref().map(|job| &job.id) != called_off.as_ref()
                || job.as_ref().is_some_and(|job| !may_be_called_off(job))
            {
                return Ok(false);
            }
            if let Some(job) = job {
                store::cleanup::cancel(tx, &job.id, now)?;
                crate::cleanup::tell(tx, &job, now);
            }
            store::creation::insert(tx, &creation)?;
            Ok::<_, EngineError>(true)
        });
        write.await
    }

    /// Chooses what is restored where; writes and restores nothing.
    async fn plan_reopening(&self, closed: &Closed, reopening: Reopening) -> Result<Creation, EngineError> {
        let id = CreationId::generate(self.ids());
        let new_name = super::directory_name(&id);
        let mut worktrees = Vec::new();
        for repo in &closed.repos {
            let newest = closed.seals.iter().find(|seal| seal.environment_repo_id.as_ref() == Some(&repo.id));
            let Some(seal) = newest else { continue };
            if repo.status != EnvironmentRepoStatus::Deleted && Path::new(&repo.worktree_path).exists() {
                continue;
            }
            self.require_sealed_here(seal)?;
            worktrees.push(self.plan_restoration(closed, repo, seal, reopening, &new_name).await?);
        }
        let folder_seal = self.folder_to_restore(closed, !worktrees.is_empty());
        folder_seal.map(|seal| self.require_sealed_here(seal)).transpose()?;
        let same_name = closed.environment.as_ref().map(|environment| environment.task_dir_name.clone());
        let task_dir_name = match reopening.place {
            Place::Elsewhere if !worktrees.is_empty() || folder_seal.is_some() => new_name,
            Place::Same | Place::Elsewhere => same_name.unwrap_or_default(),
        };
        let now = self.now();
        Ok(Creation {
            id,
            task_id: closed.task.id.clone(),
            node_id: self.inner.options.node_id.clone(),
            state: CreationState::Planned,
            task_dir_name,
            worktrees,
            created_at: now,
            updated_at: now,
            folder_seal: folder_seal.map(|seal| seal.id.clone()),
        })
    }

    pub(super) fn require_sealed_here(&self, seal: &WorkspaceSeal) -> Result<(), EngineError> {
        if seal.node_id == self.inner.options.node_id {
            return Ok(());
        }
        let (task_id, node_id) = (seal.task_id.clone(), seal.node_id.clone());
        Err(EngineError::SealedElsewhere { task_id, node_id })
    }

    async fn plan_restoration(
        &self,
        closed: &Closed,
        repo: &EnvironmentRepo,
        seal: &WorkspaceSeal,
        reopening: Reopening,
        new_name: &str,
    ) -> Result<PlannedWorktree, EngineError> {
        let path = match reopening.place {
            Place::Same => repo.worktree_path.clone(),
            Place::Elsewhere => {
                let name = Path::new(&repo.worktree_path).file_name().unwrap_or_default();
                let place = self.inner.options.workspaces_root.join(new_name).join(name);
                place.display().to_string()
            }
        };
        let branch = match reopening.branch {
            BranchChoice::Sealed => seal.branch.clone(),
            BranchChoice::Detached => String::new(),
            BranchChoice::New => self.free_branch(closed, seal, new_name).await?,
        };
        let origin = repo.origin.as_ref();
        Ok(PlannedWorktree {
            worktree_id: repo
                .worktree_id
                .clone()
                .unwrap_or_else(|| freehold_domain::id::WorktreeId::generate(self.ids())),
            repository_id: repo.repository_id.clone(),
            repository_path: seal.repository_path.clone(),
            path,
            branch,
            branch_origin: match reopening.branch {
                BranchChoice::New => PlannedBranch::MadeUp,
                _ if origin.is_some_and(|origin| origin.branch_made) => PlannedBranch::MadeUp,
                _ => PlannedBranch::Existing,
            },
            base_branch: origin.map(|origin| origin.base_branch.clone()).unwrap_or_default(),
            base_commit: origin.map(|origin| origin.base_commit.clone()).unwrap_or_default(),
            seal: Some(seal.id.clone()),
            environment_repo_id: Some(repo.id.clone()),
        })
    }

    async fn free_branch(
        &self,
        closed: &Closed,
        seal: &WorkspaceSeal,
        new_name: &str,
    ) -> Result<String, EngineError> {
        let prefix = closed.branch_prefixes.iter().find(|(path, _)| *path == seal.repository_path);
        let prefix = prefix.map(|(_, prefix)| prefix.clone()).unwrap_or_default();
        let (path, title) = (PathBuf::from(&seal.repository_path), closed.task.title.clone());
        let suffix: String = new_name.chars().take(6).collect();
        self.blocking("choosing a branch name", move |git| {
            git.unused_branch_name(&path, &prefix, &title, &suffix)
        })
        .await
    }

    async fn carry_out_reopening(&self, creation: Creation) -> Result<(), EngineError> {
        let outcome = self.restore_and_open(&creation).await;
        if outcome.is_err() {
            self.abandon(creation, 0).await?;
        }
        outcome
    }

    async fn restore_and_open(&self, creation: &Creation) -> Result<(), EngineError> {
        let _making = self.inner.makings.begin();
        self.restore_folder_of(creation).await?;
        let mut revived = Vec::new();
        for planned in &creation.worktrees {
            let (Some(seal), Some(id)) = (&planned.seal, &planned.environment_repo_id) else { continue };
            let id_of_seal = seal.clone();
            let record = self.inner.store.read(move |tx| store::seal::require(tx, &id_of_seal)).await?;
            let restored = self.restore(planned, &record).await?;
            revived.push(RevivedRepo {
                id: id.clone(),
                worktree_path: planned.path.clone(),
                worktree_branch: restored.head.branch().unwrap_or(&record.branch).to_owned(),
                origin: origin_of(planned, &restored),
            });
            crate::failpoint!("engine.reopen.restored");
        }
        self.make_scratch_again(creation).await?;
        let branches =
            if revived.is_empty() { self.remaining_branches(&creation.task_id).await? } else { Vec::new() };
        self.open_again(creation, revived, branches).await?;
        self.refill_idle(creation.worktrees.iter().map(|planned| planned.repository_id.clone()).collect());
        crate::failpoint!("engine.reopen.opened");
        Ok(())
    }

    /// Restores one worktree, or finds that an earlier attempt of the same plan did.
    pub(super) async fn restore(
        &self,
        planned: &PlannedWorktree,
        seal: &WorkspaceSeal,
    ) -> Result<Restored, EngineError> {
        if self.inner.shutdown.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        let branch = if planned.branch == seal.branch {
            RestoreBranch::Sealed
        } else if planned.branch.is_empty() {
            RestoreBranch::Detached
        } else {
            RestoreBranch::New(planned.branch.clone())
        };
        let request = RestoreRequest {
            repo: PathBuf::from(&planned.repository_path),
            id: seal.id.to_string(),
            path: PathBuf::from(&planned.path),
            branch,
        };
        let restored = self.restore_on_ground(&planned.repository_id, &request).await;
        let Err(EngineError::Restore(RestoreError::PathTaken { .. })) = &restored else { return restored };
        // An earlier attempt of the same plan may have come to its end and died before it could say so.
        let earlier = self.blocking("looking for a restored worktree", move |git| {
            git.find_restored(&request.repo, &request.path, &request.id)
        });
        match earlier.await? {
            Some(earlier) => Ok(earlier),
            None => restored,
        }
    }

    /// The branches of worktrees that are gone without a seal, as an older version archived them or a person removed
    /// them: the task goes on there when its workspace is made anew. None when any worktree of the task is there.
    async fn remaining_branches(&self, task_id: &TaskId) -> Result<Vec<(RepositoryId, String)>, EngineError> {
        let closed = self.closed_task(task_id).await?;
        if closed.repos.iter().any(|repo| repo.status != EnvironmentRepoStatus::Deleted) {
            return Ok(Vec::new());
        }
        let mut remaining = Vec::new();
        for repo in closed.repos.into_iter().filter(|repo| repo.worktree_id.is_some()) {
            let id = repo.repository_id.clone();
            let found = self.inner.store.read(move |tx| store::repository::find_path(tx, &id)).await?;
            let Some(path) = found.map(PathBuf::from) else { continue };
            let branch = repo.worktree_branch.clone();
            let looked =
                self.blocking("looking for a branch", move |git| git.has_branch(&path, &branch)).await;
            if looked.unwrap_or_default() {
                remaining.push((repo.repository_id, repo.worktree_branch));
            }
        }
        Ok(remaining)
    }

    async fn open_again(
        &self,
        creation: &Creation,
        revived: Vec<RevivedRepo>,
        branches: Vec<(RepositoryId, String)>,
    ) -> Result<(), EngineError> {
        let (creation, now) = (creation.clone(), self.now());
        let root = self.inner.options.workspaces_root.clone();
        let write = self.inner.store.write(move |tx| {
            let task_id = creation.task_id.clone();
            for used in store::task::repositories_of(tx, &task_id)? {
                if let Some(repository) = store::repository::find(tx, &used.repository_id)? {
                    crate::task::require_no_visitor(tx, &repository, &used.start, &task_id)?;
                }
            }
            crate::cleanup::lock_owner_too(tx, &task_id)?;
            if let Some(environment) = store::environment::find_by_task(tx, &task_id)?
                && environment.task_dir_name != creation.task_dir_name
            {
                let place = match revived.as_slice() {
                    [only] => only.worktree_path.clone(),
                    _ => root.join(&creation.task_dir_name).display().to_string(),
                };
                let name = &creation.task_dir_name;
                store::environment::set_place(tx, &environment.id, &place, name, now)?;
                store::node::hold_environment(tx, &environment.id, &creation.node_id)?;
            }
            if let Some(environment) = store::environment::find_by_task(tx, &task_id)? {
                store::seal::set_folder_of(tx, &environment.id, None)?;
            }
            store::environment::revive(tx, &task_id, &revived, now)?;
            for (repository, branch) in &branches {
                store::task::set_checkout(tx, &task_id, repository, branch, now)?;
            }
            store::environment::delete_if_given_back(tx, &task_id)?;
            crate::cleanup::visit_again(tx, &task_id, now)?;
            crate::workspace::bring_back(tx, &task_id, now)?;
            store::creation::delete(tx, &creation.id)?;
            tx.emit(EventBody::TaskChanged { task_id }, now);
            Ok::<_, EngineError>(())
        });
        write.await
    }

    /// What an attempt restored before it failed, with the proof that it is that: what was at a place before is
    /// none of it.
    pub(super) async fn restored_by(
        &self,
        creation: &Creation,
    ) -> Result<Vec<SnapshotWorktree>, EngineError> {
        let planned = creation.worktrees.clone();
        self.blocking("looking for restored worktrees", move |git| {
            let mut found = Vec::new();
            for planned in &planned {
                let Some(seal) = &planned.seal else { continue };
                let (repo, path) = (Path::new(&planned.repository_path), Path::new(&planned.path));
                if let Some(restored) = git.find_restored(repo, path, seal.as_str())? {
                    let origin = Some(origin_of(planned, &restored));
                    found.push(SnapshotWorktree { origin, ..snapshot_of_plan(planned, false) });
                }
            }
            Ok::<_, EngineError>(found)
        })
        .await
    }
}

/// The unfinished job that forbids to bring a task back: its barrier, or one that gives back what an earlier attempt
/// restored, at a place where it would be found again.
fn hindrance(tx: &mut Tx<'_>, task_id: &TaskId) -> Result<Option<CleanupJob>, StoreError> {
    if let Some(barrier) = store::cleanup::barrier_of(tx, task_id)? {
        return Ok(Some(barrier));
    }
    let gives_back_restored = |job: &CleanupJob| {
        let worktrees = job.resources().map(|resources| resources.worktrees.as_slice()).unwrap_or_default();
        job.trigger == CleanupTrigger::FailedCreation
            && !job.state.is_final()
            && worktrees.iter().any(|worktree| worktree.origin.is_some())
    };
    Ok(store::cleanup::list(tx, Some(task_id), None)?.into_iter().find(gives_back_restored))
}

/// Whether a job has touched nothing yet, or came to rest with every worktree either there or sealed.
fn may_be_called_off(job: &CleanupJob) -> bool {
    if !job.trigger.is_barrier() {
        return false;
    }
    match job.state {
        CleanupState::Pending => job.attempts == 0,
        CleanupState::NeedsDecision => true,
        _ => false,
    }
}

pub(super) fn origin_of(planned: &PlannedWorktree, restored: &Restored) -> WorktreeOrigin {
    WorktreeOrigin {
        base_branch: planned.base_branch.clone(),
        base_commit: planned.base_commit.clone(),
        registration: restored.registration.clone(),
        device: restored.device,
        inode: restored.inode,
        branch_made: planned.branch_origin != PlannedBranch::Existing,
        warning: String::new(),
    }
}
