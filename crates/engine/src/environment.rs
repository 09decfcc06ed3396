//! Task environments: planned in a journal, materialised by Git, then owned.
//!
//! plan → (journal) → lock and `git worktree add` per repository → persist ownership → expose. Each step is
//! written down before it is done. An attempt that fails, or that a crash cuts short, is *abandoned*: a
//! cleanup job removes what the attempt made, and only that. The directory of an attempt is named after the
//! attempt, never after the title, so no two attempts share a path.
//!
//! A task without a repository gets a scratch folder by the same steps. A task that works in a checkout of a person
//! makes nothing, so it skips them.

mod conflict;
mod folder;
mod from_seal;
pub(crate) mod making;
mod plan;
pub(crate) mod reconcile;
pub mod reopen;
mod standing;

use std::path::{Path, PathBuf};

use freehold_domain::agent::WORKTREE_EXECUTOR;
use freehold_domain::clock::Timestamp;
use freehold_domain::environment::{
    Creation, CreationState, EnvironmentRepo, EnvironmentRepoStatus, EnvironmentStatus, PlannedBranch,
    PlannedWorktree, TaskEnvironment, WorkspaceKind, WorktreeOrigin,
};
use freehold_domain::event::EventBody;
use freehold_domain::id::{CleanupJobId, CreationId, EnvironmentId, EnvironmentRepoId, ExecutorId, TaskId};
use freehold_domain::preparation::{PortBlock, Preparation, Setup};
use freehold_domain::repository::{Repository, TaskRepository, WorkStart};
use freehold_domain::task::Task;
use freehold_git::{BranchUse, MadeWorktree, WorktreePlan};
use freehold_store as store;
use freehold_store::{StoreError, Tx};

use self::plan::Site;
use self::standing::StandingWish;
use crate::cleanup::waiting::require_here;
use crate::{Engine, EngineError};

/// The environment that a task works in, its own or a borrowed one, with its repositories and their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentView {
    /// The environment.
    pub environment: TaskEnvironment,
    /// Its repositories, in order, each with its name.
    pub repos: Vec<(EnvironmentRepo, String)>,
    /// What the worktrees got besides their tracked files, in the order of the repositories; none while it is not
    /// recorded.
    pub preparations: Vec<Option<Preparation>>,
    /// The runs of scripts, oldest first.
    pub setups: Vec<Setup>,
    /// The ports that are reserved for it.
    pub ports: Option<PortBlock>,
}

pub(crate) fn read_view(tx: &mut Tx<'_>, task_id: &TaskId) -> Result<Option<EnvironmentView>, StoreError> {
    let Some(environment) = store::environment::find_visited(tx, task_id)? else { return Ok(None) };
    let mut repos = Vec::new();
    for repo in store::environment::repos_of(tx, &environment.id)? {
        let repository = store::repository::find(tx, &repo.repository_id)?;
        let name = repository.map_or_else(|| repo.repository_id.to_string(), |repository| repository.name);
        repos.push((repo, name));
    }
    let preparations = repos.iter().map(|(repo, _)| store::preparation::find(tx, &repo.id));
    let preparations = preparations.collect::<Result<Vec<_>, _>>()?;
    let setups = store::setup::list(tx, &environment.id)?;
    let ports = store::port_block::find(tx, &environment.id)?;
    Ok(Some(EnvironmentView { environment, repos, preparations, setups, ports }))
}

/// Makes the directory under which all workspaces are.
pub(crate) fn prepare_root(root: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(root).map_err(|source| EngineError::Folder {
        operation: "making the workspaces folder",
        path: root.display().to_string(),
        source,
    })
}

impl Engine {
    /// Reads the task's environment and its repositories with their names.
    pub(crate) async fn environment_of(
        &self,
        task_id: TaskId,
    ) -> Result<Option<(TaskEnvironment, Vec<(EnvironmentRepo, String)>)>, EngineError> {
        let read = self.inner.store.read(move |tx| {
            store::task::require(tx, &task_id)?;
            Ok::<_, StoreError>(read_view(tx, &task_id)?.map(|view| (view.environment, view.repos)))
        });
        Ok(read.await?)
    }

    /// Returns the task's environment, making it when there is none; one call per task at a time makes it.
    pub(crate) async fn require_environment(&self, task_id: &TaskId) -> Result<TaskEnvironment, EngineError> {
        let _turn = self.inner.launches.one_at_a_time(task_id).await;
        match self.environment_of(task_id.clone()).await? {
            Some((environment, _)) => {
                let (node, id) = (self.inner.options.node_id.clone(), task_id.clone());
                self.inner.store.read(move |tx| require_here(tx, &node, &id)).await?;
                self.prepare_environment(&environment).await?;
                Ok(environment)
            }
            None => {
                let environment = self.materialise(task_id).await?;
                self.prepare_environment(&environment).await?;
                Ok(environment)
            }
        }
    }

    async fn materialise(&self, task_id: &TaskId) -> Result<TaskEnvironment, EngineError> {
        let (task, mut repositories) = self.wish_of(task_id).await?;
        let _making = self.inner.makings.begin();
        let standing = repositories
            .iter()
            .position(|(_, used)| matches!(used.start, WorkStart::InPlace | WorkStart::Adopted { .. }));
        if let Some(position) = standing {
            let (repository, used) = repositories.swap_remove(position);
            return self.move_in(task_id, StandingWish { repository, start: used.start }).await;
        }
        let creation = match self.plan(task, repositories).await {
            Ok(creation) => creation,
            Err(error) => return Err(self.explain(error).await),
        };
        crate::failpoint!("engine.creation.planned");
        let mut made = Vec::new();
        let outcome = self.make_and_own(&creation, &mut made).await;
        match outcome {
            Ok(environment) => Ok(environment),
            Err(error) => {
                self.abandon(creation, made.len()).await?;
                Err(self.explain(error).await)
            }
        }
    }

    /// Reads what the task wishes for, and refuses when it is closed.
    async fn wish_of(
        &self,
        task_id: &TaskId,
    ) -> Result<(Task, Vec<(Repository, TaskRepository)>), EngineError> {
        let id = task_id.clone();
        let read = self.inner.store.read(move |tx| {
            let task = store::task::require(tx, &id)?;
            crate::session::require_open(tx, &task)?;
            let mut repositories = Vec::new();
            for used in store::task::repositories_of(tx, &id)? {
                repositories.push((store::repository::require(tx, &used.repository_id)?, used));
            }
            Ok::<_, EngineError>((task, repositories))
        });
        read.await
    }

    /// Chooses paths, branches and start commits and writes them into the journal; makes nothing.
    async fn plan(
        &self,
        task: Task,
        repositories: Vec<(Repository, TaskRepository)>,
    ) -> Result<Creation, EngineError> {
        let creation_id = CreationId::generate(self.ids());
        let task_dir_name = directory_name(&creation_id);
        let mut worktrees: Vec<PlannedWorktree> = Vec::new();
        for (repository, used) in repositories {
            let taken: Vec<&str> = worktrees.iter().map(|worktree| worktree.path.as_str()).collect();
            let path =
                worktree_path(&self.inner.options.workspaces_root, &task_dir_name, &repository, &taken);
            let again = self.made_again(&task.id, &repository.id).await?;
            let site = Site { title: &task.title, task_dir_name: &task_dir_name, path, again };
            worktrees.push(self.plan_worktree(site, repository, used).await?);
        }
        let now = self.now();
        let creation = Creation {
            id: creation_id,
            task_id: task.id,
            node_id: self.inner.options.node_id.clone(),
            state: CreationState::Planned,
            task_dir_name,
            worktrees,
            created_at: now,
            updated_at: now,
            folder_seal: None,
        };
        let stored = creation.clone();
        self.inner.store.write(move |tx| store::creation::insert(tx, &stored)).await?;
        Ok(creation)
    }

    /// Makes what was planned, and tells in `made` how far that came.
    async fn make_and_own(
        &self,
        creation: &Creation,
        made: &mut Vec<MadeWorktree>,
    ) -> Result<TaskEnvironment, EngineError> {
        self.set_creation_state(creation, CreationState::Materialising).await?;
        crate::failpoint!("engine.creation.materialising");
        if creation.worktrees.is_empty() {
            self.make_scratch(&creation.task_dir_name).await?;
        }
        for planned in &creation.worktrees {
            made.push(self.add_worktree(planned).await?);
            crate::failpoint!("engine.creation.added");
        }
        let environment = self.persist(creation, made.clone()).await?;
        crate::failpoint!("engine.creation.persisted");
        self.refill_idle(creation.worktrees.iter().map(|planned| planned.repository_id.clone()).collect());
        Ok(environment)
    }

    async fn add_worktree(&self, planned: &PlannedWorktree) -> Result<MadeWorktree, EngineError> {
        if self.inner.shutdown.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        let plan = WorktreePlan {
            repo: PathBuf::from(&planned.repository_path),
            path: PathBuf::from(&planned.path),
            branch: planned.branch.clone(),
            branch_use: match planned.branch_origin {
                PlannedBranch::MadeUp | PlannedBranch::Named => BranchUse::Make,
                PlannedBranch::Existing => BranchUse::CheckOut,
            },
            start: planned.base_commit.parse()?,
        };
        if let Some(identity) = self.take_idle(&planned.repository_id, &plan).await {
            return Ok(MadeWorktree { identity, warning: None });
        }
        self.blocking("making a worktree", move |git| git.add_worktree(&plan)).await
    }

    /// Stores the environment, its repositories and the session links in one transaction; a barrier that
    /// committed before refuses it.
    pub(super) async fn persist(
        &self,
        creation: &Creation,
        made: Vec<MadeWorktree>,
    ) -> Result<TaskEnvironment, EngineError> {
        let now = self.now();
        let environment = self.environment_row(creation, now)?;
        let repos: Vec<EnvironmentRepo> = creation
            .worktrees
            .iter()
            .zip(made)
            .zip(0..)
            .map(|((planned, made), position)| {
                let id = EnvironmentRepoId::generate(self.ids());
                EnvironmentRepo { position, ..environment_repo(id, &environment, planned, made) }
            })
            .collect();
        let (creation_id, node) = (creation.id.clone(), creation.node_id.clone());
        let stored = environment.clone();
        let write = self.inner.store.write(move |tx| {
            store_ready(tx, &stored, &repos, Some(&creation_id), now)?;
            Ok::<_, EngineError>(store::node::hold_environment(tx, &stored.id, &node)?)
        });
        write.await?;
        Ok(environment)
    }

    fn environment_row(&self, creation: &Creation, now: Timestamp) -> Result<TaskEnvironment, EngineError> {
        let task_dir = self.inner.options.workspaces_root.join(&creation.task_dir_name);
        let kind =
            if creation.worktrees.is_empty() { WorkspaceKind::Scratch } else { WorkspaceKind::Worktree };
        let workspace_path = match creation.worktrees.as_slice() {
            [only] => only.path.clone(),
            _ => task_dir.display().to_string(),
        };
        Ok(TaskEnvironment {
            id: EnvironmentId::generate(self.ids()),
            task_id: creation.task_id.clone(),
            executor_type: kind.to_string(),
            executor_id: Some(ExecutorId::new(WORKTREE_EXECUTOR)?),
            status: EnvironmentStatus::Ready,
            workspace_path,
            task_dir_name: creation.task_dir_name.clone(),
            created_at: now,
            updated_at: now,
        })
    }

    async fn set_creation_state(&self, creation: &Creation, state: CreationState) -> Result<(), EngineError> {
        let (id, now) = (creation.id.clone(), self.now());
        Ok(self.inner.store.write(move |tx| store::creation::set_state(tx, &id, state, now)).await?)
    }

    /// Hands what an attempt made to the one path that removes; `made` is how many of its worktrees are certainly
    /// its own.
    pub(crate) async fn abandon(&self, creation: Creation, made: usize) -> Result<(), EngineError> {
        let (job, mut snapshot) = self.failed_creation_job(&creation, made);
        if creation.restores() {
            snapshot.worktrees = self.restored_by(&creation).await?;
            snapshot.workspace_path = self.restored_folder_of(&creation).await?;
        }
        let (now, again) = (self.now(), CleanupJobId::generate(self.ids()));
        let here = self.inner.options.node_id.clone();
        let write = self.inner.store.write(move |tx| {
            store::creation::set_state(tx, &creation.id, CreationState::Abandoned, now)?;
            crate::cleanup::insert_pending(tx, &job, &snapshot, now)?;
            crate::cleanup::close_again(tx, &creation.task_id, again, &here, now)?;
            Ok::<_, EngineError>(())
        });
        write.await?;
        self.inner.cleanup_wake.notify_one();
        Ok(())
    }
}

/// The name of the directory that an attempt uses alone.
fn directory_name(id: &CreationId) -> String {
    id.as_str().chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}

/// Stores an environment with its repositories and the session links, and forgets the attempt that made it.
fn store_ready(
    tx: &mut Tx<'_>,
    environment: &TaskEnvironment,
    repos: &[EnvironmentRepo],
    creation: Option<&CreationId>,
    now: Timestamp,
) -> Result<(), EngineError> {
    store::environment::insert_ready(tx, environment, repos)?;
    // Nothing is put into a checkout of a person: it has no worktree id.
    for repo in repos.iter().filter(|repo| repo.worktree_id.is_some()) {
        store::preparation::insert_pending(tx, &repo.id, now)?;
    }
    store::session::set_environment(tx, &environment.task_id, &environment.id, now)?;
    if let Some(id) = creation {
        store::creation::delete(tx, id)?;
    }
    tx.emit(EventBody::TaskChanged { task_id: environment.task_id.clone() }, now);
    Ok(())
}

fn environment_repo(
    id: EnvironmentRepoId,
    environment: &TaskEnvironment,
    planned: &PlannedWorktree,
    made: MadeWorktree,
) -> EnvironmentRepo {
    let MadeWorktree { identity, warning } = made;
    EnvironmentRepo {
        id,
        environment_id: environment.id.clone(),
        repository_id: planned.repository_id.clone(),
        branch_slug: String::new(),
        worktree_id: Some(planned.worktree_id.clone()),
        worktree_path: planned.path.clone(),
        worktree_branch: planned.branch.clone(),
        position: 0,
        error_message: String::new(),
        status: EnvironmentRepoStatus::Active,
        created_at: environment.created_at,
        updated_at: environment.updated_at,
        merged_at: None,
        deleted_at: None,
        origin: Some(WorktreeOrigin {
            base_branch: planned.base_branch.clone(),
            base_commit: planned.base_commit.clone(),
            registration: identity.registration,
            device: identity.device,
            inode: identity.inode,
            branch_made: planned.branch_origin != PlannedBranch::Existing,
            warning: warning.unwrap_or_default(),
        }),
    }
}

/// `<root>/<task dir>/<repository name>`, with the name reduced to safe characters and made unique.
fn worktree_path(root: &Path, task_dir_name: &str, repository: &Repository, taken: &[&str]) -> String {
    let safe: String = repository
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' })
        .take(60)
        .collect();
    let name = match safe.trim_matches('-') {
        "" => "repository",
        name => name,
    };
    let path_of = |name: &str| root.join(task_dir_name).join(name).display().to_string();
    let numbered = (2..).map(|number| path_of(&format!("{name}-{number}")));
    std::iter::once(path_of(name))
        .chain(numbered)
        .find(|path| !taken.contains(&path.as_str()))
        .unwrap_or_default()
}
