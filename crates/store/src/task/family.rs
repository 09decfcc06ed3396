//! Which tasks belong together: parts of a task, and the visitors of its environment.
//!
//! Old databases may hold circles of parents; a walk through them ends, because it visits each task once.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{EnvironmentId, RepositoryId, TaskId};

use super::{NOUN, TABLE};
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

macro_rules! descendants {
    ($condition:literal) => {
        concat!(
            "WITH RECURSIVE family (id) AS (SELECT id FROM tasks WHERE parent_id = $1 ",
            "UNION SELECT t.id FROM tasks t JOIN family f ON t.parent_id = f.id) ",
            "SELECT t.id FROM tasks t JOIN family f ON f.id = t.id WHERE t.id <> $1",
            $condition,
            " ORDER BY t.created_at, t.id"
        )
    };
}

statements! {
    DESCENDANTS = descendants!("");
    OPEN_DESCENDANTS = descendants!(" AND t.archived_at IS NULL AND t.deleted_at IS NULL");
    // A session may visit the environment of another task too, as those of older databases do.
    BORROWERS =
        "SELECT t.id FROM tasks t WHERE t.id IN (SELECT b.id FROM tasks b WHERE b.borrowed_environment_id = $1 \
         UNION SELECT s.task_id FROM task_sessions s WHERE s.task_environment_id = $1) \
         AND t.archived_at IS NULL AND t.deleted_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM task_environments e WHERE e.id = $1 AND e.task_id = t.id) \
         ORDER BY t.created_at, t.id";
    SET_BORROWED = "UPDATE tasks SET borrowed_environment_id = $1, updated_at = $2 WHERE id = $3";
    SET_START_COMMIT =
        "UPDATE task_repositories SET start_commit = $1, updated_at = $2 WHERE task_id = $3 AND repository_id = $4";
    START_COMMITS =
        "SELECT repository_id, start_commit FROM task_repositories WHERE task_id = $1 AND start_commit <> ''";
}

/// Lists the parts of a task, and theirs, whatever their state, oldest first.
pub fn descendants_of(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&DESCENDANTS, params![id.as_str()], TABLE, |fields| fields.parse())
}

/// Lists the open tasks among the parts of a task, and theirs, oldest first.
pub fn open_descendants_of(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&OPEN_DESCENDANTS, params![id.as_str()], TABLE, |fields| fields.parse())
}

/// Lists the open tasks that work in an environment without owning it, oldest first.
pub fn borrowers_of(tx: &mut Tx<'_>, environment: &EnvironmentId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&BORROWERS, params![environment.as_str()], TABLE, |fields| fields.parse())
}

/// Records which environment a task borrows from now on; none ends it.
pub fn set_borrowed_environment(
    tx: &mut Tx<'_>,
    id: &TaskId,
    environment: Option<&EnvironmentId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let environment = environment.map_or("", |id| id.as_str());
    tx.change(&SET_BORROWED, params![environment, now, id.as_str()], NOUN, id.as_str())
}

/// Records the commit at which the task's next worktree of a repository starts; empty for the tip of its base.
pub fn set_start_commit(
    tx: &mut Tx<'_>,
    id: &TaskId,
    repository: &RepositoryId,
    commit: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(&SET_START_COMMIT, params![commit, now, id.as_str(), repository.as_str()]).map(drop)
}

/// Lists the recorded commits at which the task's next worktrees start, by repository.
pub fn start_commits_of(tx: &mut Tx<'_>, id: &TaskId) -> Result<Vec<(RepositoryId, String)>, StoreError> {
    tx.rows(&START_COMMITS, params![id.as_str()], "task_repositories", |fields| {
        Ok((fields.parse()?, fields.text()?))
    })
}
