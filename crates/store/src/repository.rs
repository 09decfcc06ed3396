//! Registered repositories.

use freehold_domain::id::{RepositoryId, WorkspaceId};
use freehold_domain::repository::Repository;

use crate::row::Fields;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

const TABLE: &str = "repositories";

macro_rules! columns {
    () => {
        "id, workspace_id, name, local_path, default_branch, worktree_branch_prefix, created_at, updated_at"
    };
}

statements! {
    INSERT =
        concat!("INSERT INTO repositories (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");
    FIND = concat!("SELECT ", columns!(), " FROM repositories WHERE id = $1 AND deleted_at IS NULL");
    PATH = "SELECT id, local_path FROM repositories WHERE id = $1";
    FIND_BY_PATH = concat!(
        "SELECT ", columns!(), " FROM repositories ",
        "WHERE workspace_id = $1 AND local_path = $2 AND deleted_at IS NULL ORDER BY created_at DESC, id"
    );
    LIST = concat!(
        "SELECT ", columns!(), " FROM repositories ",
        "WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY name, id"
    );
}

/// Stores a repository.
pub fn insert(tx: &mut Tx<'_>, repository: &Repository) -> Result<(), StoreError> {
    let values = params![
        repository.id.as_str(),
        repository.workspace_id.as_str(),
        &repository.name,
        &repository.local_path,
        &repository.default_branch,
        &repository.branch_prefix,
        repository.created_at,
        repository.updated_at,
    ];
    tx.execute(&INSERT, values).map(drop)
}

/// Finds a repository.
pub fn find(tx: &mut Tx<'_>, id: &RepositoryId) -> Result<Option<Repository>, StoreError> {
    tx.row(&FIND, params![id.as_str()], TABLE, read)
}

/// Finds a repository; fails when it is absent.
pub fn require(tx: &mut Tx<'_>, id: &RepositoryId) -> Result<Repository, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::NotFound { noun: "repository", id: id.to_string() })
}

/// Finds the path of a repository, also of one that was taken off the list: its worktrees are still its own.
pub fn find_path(tx: &mut Tx<'_>, id: &RepositoryId) -> Result<Option<String>, StoreError> {
    tx.row(&PATH, params![id.as_str()], TABLE, |fields| {
        fields.text()?;
        fields.text()
    })
}

/// Finds the repository registered under a path in a workspace; the oldest where an older database holds more.
/// Who registers a path locks the workspace's row first.
pub fn find_by_path(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    path: &str,
) -> Result<Option<Repository>, StoreError> {
    tx.row(&FIND_BY_PATH, params![workspace.as_str(), path], TABLE, read)
}

/// Lists a workspace's repositories by name.
pub fn list(tx: &mut Tx<'_>, workspace: &WorkspaceId) -> Result<Vec<Repository>, StoreError> {
    tx.rows(&LIST, params![workspace.as_str()], TABLE, read)
}

fn read(fields: &mut Fields<'_>) -> Result<Repository, StoreError> {
    Ok(Repository {
        id: fields.parse()?,
        workspace_id: fields.parse()?,
        name: fields.text()?,
        local_path: fields.text()?,
        default_branch: fields.text()?,
        branch_prefix: fields.text()?,
        created_at: fields.instant()?,
        updated_at: fields.instant()?,
    })
}
