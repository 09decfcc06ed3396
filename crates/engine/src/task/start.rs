//! Where a new task starts: what is asked for, checked before anything is stored.
//!
//! The check speaks with no remote. What a remote has is fetched when the workspace is made, and the commit that
//! was found then is recorded.

use std::path::{Path, PathBuf};

use freehold_domain::environment::WorkspaceKind;
use freehold_domain::id::{RepositoryId, TaskId};
use freehold_domain::repository::{FetchedRef, Repository, WorkStart};
use freehold_git::{Git, RemoteRef};
use freehold_store as store;
use freehold_store::Tx;

use super::NewTask;
use crate::{Engine, EngineError};

/// One repository of a new task. What is absent is decided by Freehold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTaskRepository {
    /// The repository.
    pub repository_id: RepositoryId,
    /// What to start from; by default the repository's default branch.
    pub base_branch: Option<String>,
    /// The name of the new branch; by default one is made up from the title.
    pub new_branch: Option<String>,
    /// The existing branch to work on, local or remote, instead of a new one.
    pub checkout_branch: Option<String>,
    /// The ref to fetch from a remote and start from, for example `pull/42/head`.
    pub fetch_ref: Option<String>,
    /// The remote of that ref; by default the only one.
    pub remote: Option<String>,
    /// Whether to ask the remote of a remote branch where it is now, before work starts from it.
    pub refresh: bool,
    /// The worktree of a person to work in, for an adopted workspace.
    pub adopt_path: Option<PathBuf>,
}

impl NewTaskRepository {
    /// Asks for a worktree on a new branch from the default branch.
    #[must_use]
    pub const fn new(repository_id: RepositoryId) -> Self {
        Self {
            repository_id,
            base_branch: None,
            new_branch: None,
            checkout_branch: None,
            fetch_ref: None,
            remote: None,
            refresh: false,
            adopt_path: None,
        }
    }

    /// The names of the fields that are set, the repository left out.
    fn set_fields(&self) -> Vec<&'static str> {
        let fields = [
            ("base_branch", self.base_branch.is_some()),
            ("new_branch", self.new_branch.is_some()),
            ("checkout_branch", self.checkout_branch.is_some()),
            ("fetch_ref", self.fetch_ref.is_some()),
            ("remote", self.remote.is_some()),
            ("refresh", self.refresh),
            ("adopt_path", self.adopt_path.is_some()),
        ];
        fields.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }

    /// Takes empty texts for absent ones and trims the others.
    fn tidied(mut self) -> Self {
        for text in [
            &mut self.base_branch,
            &mut self.new_branch,
            &mut self.checkout_branch,
            &mut self.fetch_ref,
            &mut self.remote,
        ] {
            let trimmed = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            *text = trimmed.map(str::to_owned);
        }
        self
    }
}

/// One repository of a new task, checked.
#[derive(Debug, Clone)]
pub(super) struct CheckedRepository {
    pub(super) repository: Repository,
    pub(super) base_branch: String,
    pub(super) start: WorkStart,
}

impl Engine {
    /// Requires the repositories and resolves their start points, so that what cannot be started from is refused
    /// before anything is stored.
    pub(super) async fn check_repositories(
        &self,
        request: &NewTask,
    ) -> Result<Vec<CheckedRepository>, EngineError> {
        check_number(request)?;
        let mut checked: Vec<CheckedRepository> = Vec::new();
        for asked in request.repositories.clone() {
            let id = asked.repository_id.clone();
            let repository = self.inner.store.read(move |tx| store::repository::require(tx, &id)).await?;
            if checked.iter().any(|other| other.repository.id == repository.id) {
                return Err(invalid("repositories", format!("{} is named twice", repository.name)));
            }
            checked.push(self.check_start(repository, asked.tidied(), request.kind).await?);
        }
        Ok(checked)
    }

    async fn check_start(
        &self,
        repository: Repository,
        asked: NewTaskRepository,
        kind: WorkspaceKind,
    ) -> Result<CheckedRepository, EngineError> {
        check_fields(&asked, kind)?;
        match kind {
            WorkspaceKind::InPlace => self.check_in_place(repository).await,
            WorkspaceKind::Adopted => self.check_adopted(repository, asked).await,
            WorkspaceKind::Worktree | WorkspaceKind::Scratch => self.check_worktree(repository, asked).await,
        }
    }

    async fn check_worktree(
        &self,
        repository: Repository,
        asked: NewTaskRepository,
    ) -> Result<CheckedRepository, EngineError> {
        let path = PathBuf::from(&repository.local_path);
        let default = repository.default_branch.clone();
        let looking =
            self.blocking("looking for a start point", move |git| find_start(git, &path, default, asked));
        let looked = looking.await;
        match looked {
            Ok((base_branch, start)) => Ok(CheckedRepository { repository, base_branch, start }),
            Err(error) => Err(self.explain(error).await),
        }
    }

    async fn check_in_place(&self, repository: Repository) -> Result<CheckedRepository, EngineError> {
        let path = PathBuf::from(&repository.local_path);
        self.blocking("looking at a checkout", move |git| git.standing_main_checkout(&path)).await?;
        Ok(CheckedRepository { repository, base_branch: String::new(), start: WorkStart::InPlace })
    }

    async fn check_adopted(
        &self,
        repository: Repository,
        asked: NewTaskRepository,
    ) -> Result<CheckedRepository, EngineError> {
        let path = asked.adopt_path.unwrap_or_default();
        let path = self.require_adoptable(&repository, &path).await?;
        let start = WorkStart::Adopted { path };
        Ok(CheckedRepository { repository, base_branch: String::new(), start })
    }

    /// Requires a worktree that a person made, and gives its path free of links.
    pub(crate) async fn require_adoptable(
        &self,
        repository: &Repository,
        path: &Path,
    ) -> Result<String, EngineError> {
        let (repo, named) = (PathBuf::from(&repository.local_path), path.to_owned());
        let looked = self.blocking("looking at a worktree", move |git| git.standing_worktree(&repo, &named));
        let found = looked.await?.path;
        let Some(found) = found.to_str().map(str::to_owned) else {
            let reason = format!("{} is not UTF-8 text; Freehold cannot store it", found.display());
            return Err(invalid("adopt_path", reason));
        };
        if let Some(owner) = self.owner_of(&found).await? {
            let reason = format!("{found} belongs to task {owner}; open another session of that task");
            return Err(invalid("adopt_path", reason));
        }
        if self.is_below_root(Path::new(&found)) {
            let reason = format!("{found} lies in the folder of Freehold's own workspaces");
            return Err(invalid("adopt_path", reason));
        }
        Ok(found)
    }

    pub(crate) async fn owner_of(&self, path: &str) -> Result<Option<TaskId>, EngineError> {
        let path = path.to_owned();
        Ok(self.inner.store.read(move |tx| store::environment::owner_at(tx, &path)).await?)
    }

    /// Whether a path lies under the folder of the workspaces, by the names of both and with links followed.
    pub(crate) fn is_below_root(&self, path: &Path) -> bool {
        let root = &self.inner.options.workspaces_root;
        path.starts_with(root) || root.canonicalize().is_ok_and(|root| path.starts_with(root))
    }
}

/// Finds what work starts from, and tells it as the base and the way to start.
fn find_start(
    git: &Git,
    repo: &Path,
    default: String,
    asked: NewTaskRepository,
) -> Result<(String, WorkStart), EngineError> {
    if let Some(branch) = asked.checkout_branch {
        let found = git.resolve_branch(repo, &branch)?;
        git.require_unused_branch(repo, &found.branch)?;
        return Ok((branch.clone(), WorkStart::ExistingBranch { branch }));
    }
    let name = asked.new_branch;
    if let Some(name) = &name {
        git.require_free_branch(repo, name)?;
    }
    if let Some(wanted) = &asked.fetch_ref {
        let fetched = git.remote_ref(repo, asked.remote.as_deref(), wanted)?;
        let base = format!("{}/{wanted}", fetched.remote);
        return Ok((base, WorkStart::NewBranch { name, fetched: Some(fetched_ref(fetched)) }));
    }
    let base = asked.base_branch.unwrap_or(default);
    if !asked.refresh {
        git.resolve_start(repo, &base)?;
        return Ok((base, WorkStart::NewBranch { name, fetched: None }));
    }
    let fetched = git.remembered_ref(repo, &base)?.ok_or_else(|| no_remote_branch(&base))?;
    Ok((base, WorkStart::NewBranch { name, fetched: Some(fetched_ref(fetched)) }))
}

/// Fails when another task works in the checkout of a person; the workspace of the repository is locked, so that of
/// two that ask at once the second sees the first.
pub(crate) fn require_no_visitor(
    tx: &mut Tx<'_>,
    repository: &Repository,
    start: &WorkStart,
    asking: &TaskId,
) -> Result<(), EngineError> {
    let (visitor, place) = match start {
        WorkStart::NewBranch { .. } | WorkStart::ExistingBranch { .. } => return Ok(()),
        WorkStart::InPlace => {
            store::workspace::lock(tx, &repository.workspace_id)?;
            let visitor = store::task::visitor_of_checkout(tx, &repository.id, asking)?;
            (visitor, repository.local_path.clone())
        }
        WorkStart::Adopted { path } => {
            store::workspace::lock(tx, &repository.workspace_id)?;
            (store::task::visitor_of_worktree(tx, path, asking)?, path.clone())
        }
    };
    match visitor {
        Some(task) => Err(EngineError::CheckoutInUse { path: place, task_id: task.id, title: task.title }),
        None => Ok(()),
    }
}

fn check_number(request: &NewTask) -> Result<(), EngineError> {
    let number = request.repositories.len();
    match request.kind {
        WorkspaceKind::Scratch if number > 0 => {
            Err(invalid("repositories", "a scratch workspace has none".into()))
        }
        WorkspaceKind::InPlace | WorkspaceKind::Adopted if number != 1 => {
            let reason = format!("a workspace of the kind {} needs exactly one repository", request.kind);
            Err(invalid("repositories", reason))
        }
        WorkspaceKind::Worktree if number == 0 => {
            let reason = "a task needs at least one repository, or a scratch workspace";
            Err(invalid("repositories", reason.into()))
        }
        _ => Ok(()),
    }
}

/// Refuses fields that contradict each other or the kind of workspace.
fn check_fields(asked: &NewTaskRepository, kind: WorkspaceKind) -> Result<(), EngineError> {
    let allowed: &[&str] = match kind {
        WorkspaceKind::InPlace | WorkspaceKind::Scratch => &[],
        WorkspaceKind::Adopted => &["adopt_path"],
        WorkspaceKind::Worktree if asked.checkout_branch.is_some() => &["checkout_branch"],
        WorkspaceKind::Worktree if asked.fetch_ref.is_some() => &["fetch_ref", "remote", "new_branch"],
        WorkspaceKind::Worktree => &["base_branch", "new_branch", "refresh"],
    };
    if let Some(field) = asked.set_fields().into_iter().find(|field| !allowed.contains(field)) {
        let reason = match kind {
            WorkspaceKind::Worktree if asked.checkout_branch.is_some() => {
                "it does not go with a branch to check out, which says where work starts".to_owned()
            }
            WorkspaceKind::Worktree if asked.fetch_ref.is_some() => {
                "it does not go with a ref to fetch, which says where work starts".to_owned()
            }
            WorkspaceKind::Worktree if field == "remote" => {
                "it only goes with a ref to fetch; a remote branch is named like origin/main".to_owned()
            }
            kind => format!("it does not go with a workspace of the kind {kind}"),
        };
        return Err(invalid(field, reason));
    }
    if kind == WorkspaceKind::Adopted && asked.adopt_path.is_none() {
        return Err(invalid("adopt_path", "an adopted workspace needs the path of a worktree".into()));
    }
    Ok(())
}

fn fetched_ref(wanted: RemoteRef) -> FetchedRef {
    FetchedRef { remote: wanted.remote, reference: wanted.reference }
}

fn no_remote_branch(base: &str) -> EngineError {
    let reason = format!("{base:?} is no remote branch; name one such as origin/main");
    invalid("refresh", reason)
}

fn invalid(field: &'static str, reason: String) -> EngineError {
    EngineError::InvalidField { field, reason }
}
