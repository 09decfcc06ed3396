//! Registered repositories.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A registered repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Repository {
    /// Its id.
    pub id: String,
    /// The workspace it belongs to.
    pub workspace_id: String,
    /// The name shown.
    pub name: String,
    /// The absolute path of its main checkout, or of the bare repository.
    pub local_path: String,
    /// The branch that new tasks start from unless another is named.
    pub default_branch: String,
    /// What the names of task branches begin with.
    pub branch_prefix: String,
    /// When it was registered.
    pub created_at: String,
}

/// Asks for a repository to be registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddRepository {
    /// The absolute path of a checkout, a folder inside one, or a bare repository.
    pub path: String,
    /// The name to show; by default the last part of the path.
    #[serde(default)]
    pub name: Option<String>,
    /// The workspace; by default the first.
    #[serde(default)]
    pub workspace_id: Option<String>,
}

/// The repository as registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryAdded {
    /// The repository.
    pub repository: Repository,
    /// What was understood differently from what was typed, for example that a sub-folder stands for its
    /// repository; may be empty.
    pub note: String,
    /// Whether it was registered before; nothing was changed then.
    pub already_registered: bool,
}

/// A branch that a task can start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Branch {
    /// Its name, for example `main` or `origin/main`.
    pub name: String,
    /// Whether it is a remote-tracking branch.
    pub is_remote: bool,
    /// The full object id of its tip.
    pub commit: String,
    /// Whether it is the repository's default branch.
    pub is_default: bool,
}
