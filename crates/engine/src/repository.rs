//! Registered repositories.

use std::path::PathBuf;

use freehold_domain::event::EventBody;
use freehold_domain::id::{RepositoryId, WorkspaceId};
use freehold_domain::repository::{DEFAULT_BRANCH_PREFIX, Repository};
use freehold_git::Branch;
use freehold_store as store;
use freehold_store::StoreError;

use crate::{Engine, EngineError};

/// Asks for a repository to be registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddRepository {
    /// The absolute path of a checkout, a folder inside one, or a bare repository.
    pub path: PathBuf,
    /// The name to show; by default the last part of the path.
    pub name: Option<String>,
    /// The workspace; by default the first.
    pub workspace_id: Option<WorkspaceId>,
}

/// The repository as registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAdded {
    /// The repository.
    pub repository: Repository,
    /// What was understood differently from what was typed; may be empty.
    pub note: String,
    /// Whether it was registered before; nothing was changed then.
    pub already_registered: bool,
}

impl Engine {
    /// Lists the registered repositories of every workspace, by workspace and name.
    pub async fn repositories(&self) -> Result<Vec<Repository>, EngineError> {
        let read = self.inner.store.read(|tx| {
            let mut repositories = Vec::new();
            for workspace in store::workspace::list(tx)? {
                repositories.extend(store::repository::list(tx, &workspace.id)?);
            }
            Ok::<_, StoreError>(repositories)
        });
        Ok(read.await?)
    }

    /// Registers a repository after looking at it with Git.
    pub async fn add_repository(&self, request: AddRepository) -> Result<RepositoryAdded, EngineError> {
        let path = request.path.clone();
        let info = self.blocking("looking at a repository", move |git| git.inspect_repository(&path)).await?;
        let local_path = info.path.to_str().map(str::to_owned).ok_or_else(|| EngineError::InvalidField {
            field: "path",
            reason: format!("{} is not UTF-8 text; Freehold cannot store it", info.path.display()),
        })?;
        let name = match request.name.as_deref().map(str::trim) {
            Some("") => {
                return Err(EngineError::InvalidField { field: "name", reason: "it is empty".into() });
            }
            Some(name) => name.to_owned(),
            None => folder_name(&info.path),
        };
        let now = self.now();
        let id = RepositoryId::generate(self.ids());
        let note = info.note.unwrap_or_default();
        let default_branch = info.default_branch;
        let write = self.inner.store.write(move |tx| {
            let workspace = crate::workspace::require_or_first(tx, request.workspace_id.as_ref())?;
            // Of two that register one path at once, the second finds the first's row.
            store::workspace::lock(tx, &workspace.id)?;
            if let Some(repository) = store::repository::find_by_path(tx, &workspace.id, &local_path)? {
                return Ok(RepositoryAdded { repository, note, already_registered: true });
            }
            let repository = Repository {
                id,
                workspace_id: workspace.id,
                name,
                local_path,
                default_branch,
                branch_prefix: DEFAULT_BRANCH_PREFIX.into(),
                created_at: now,
                updated_at: now,
            };
            store::repository::insert(tx, &repository)?;
            tx.emit(EventBody::RepositoryChanged { repository_id: repository.id.clone() }, now);
            Ok::<_, EngineError>(RepositoryAdded { repository, note, already_registered: false })
        });
        write.await
    }

    /// Lists the branches that a task can start from, the default branch first, then the most recent.
    pub async fn branches(&self, id: RepositoryId) -> Result<(Repository, Vec<Branch>), EngineError> {
        let repository = self.inner.store.read(move |tx| store::repository::require(tx, &id)).await?;
        let path = PathBuf::from(&repository.local_path);
        let mut branches = self.blocking("listing branches", move |git| git.list_branches(&path)).await?;
        branches.sort_by_key(|branch| branch.name != repository.default_branch);
        Ok((repository, branches))
    }
}

fn folder_name(path: &std::path::Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    if name.is_empty() { "repository".into() } else { name.into() }
}
