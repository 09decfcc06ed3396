//! Which tasks work in a checkout that is a person's: at most one at a time may.
//!
//! A task counts until it is closed and the job that stops its agents has ended.

use freehold_domain::id::{RepositoryId, TaskId};
use freehold_domain::task::Task;

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, cleanup, task};

statements! {
    IN_PLACE =
        "SELECT tr.task_id FROM task_repositories tr JOIN tasks t ON t.id = tr.task_id \
         WHERE tr.start_kind = 'in_place' AND tr.repository_id = $1 ORDER BY t.created_at, t.id";
    ADOPTED =
        "SELECT tr.task_id FROM task_repositories tr JOIN tasks t ON t.id = tr.task_id \
         WHERE tr.start_kind = 'adopted' AND tr.adopted_path = $1 ORDER BY t.created_at, t.id";
}

/// Finds the task that works in the main checkout of a repository, other than the one that asks.
pub fn visitor_of_checkout(
    tx: &mut Tx<'_>,
    repository: &RepositoryId,
    asking: &TaskId,
) -> Result<Option<Task>, StoreError> {
    let tasks = tx.rows(&IN_PLACE, params![repository.as_str()], "task_repositories", |it| it.parse())?;
    first_that_counts(tx, &tasks, asking)
}

/// Finds the task that works in a worktree of a person, other than the one that asks.
pub fn visitor_of_worktree(tx: &mut Tx<'_>, path: &str, asking: &TaskId) -> Result<Option<Task>, StoreError> {
    let tasks = tx.rows(&ADOPTED, params![path], "task_repositories", |it| it.parse())?;
    first_that_counts(tx, &tasks, asking)
}

fn first_that_counts(tx: &mut Tx<'_>, tasks: &[TaskId], asking: &TaskId) -> Result<Option<Task>, StoreError> {
    for id in tasks.iter().filter(|id| *id != asking) {
        let task = task::require(tx, id)?;
        if task.is_open() || cleanup::barrier_of(tx, id)?.is_some() {
            return Ok(Some(task));
        }
    }
    Ok(None)
}
