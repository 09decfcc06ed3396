//! Tasks by where they stand: on a board, in a workspace, or past their time.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{StepId, TaskId, WorkflowId, WorkspaceId};
use freehold_domain::workflow::AutoArchive;

use super::TABLE;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    OF_WORKSPACE = "SELECT id FROM tasks WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY created_at, id";
    OF_WORKFLOW =
        "SELECT id FROM tasks WHERE workflow_id = $1 AND archived_at IS NULL AND deleted_at IS NULL \
         ORDER BY created_at, id";
    EXPIRED =
        "SELECT id FROM tasks WHERE expires_at IS NOT NULL AND expires_at <= $1 AND is_ephemeral = 1 \
         AND archived_at IS NULL AND deleted_at IS NULL ORDER BY expires_at, id LIMIT 100";
    AUTO_ARCHIVE_STEPS =
        "SELECT id, auto_archive_after_ms, auto_archive_seals FROM workflow_steps WHERE auto_archive_after_ms > 0 \
         ORDER BY id";
    STANDING =
        "SELECT id FROM tasks WHERE workflow_step_id = $1 AND archived_at IS NULL AND deleted_at IS NULL \
         AND COALESCE(step_entered_at, updated_at) <= $2 ORDER BY position, id LIMIT 100";
    KEEP_QUICK = "UPDATE tasks SET is_ephemeral = 0, expires_at = NULL, updated_at = $1 WHERE id = $2";
    MOVE_BOARD =
        "UPDATE tasks SET workflow_id = $1, workflow_step_id = $2, position = position + $3, step_entered_at = $4, \
         updated_at = $4 WHERE workflow_id = $5";
}

/// Lists the tasks of a workspace that were not deleted, oldest first.
pub fn of_workspace(tx: &mut Tx<'_>, id: &WorkspaceId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&OF_WORKSPACE, params![id.as_str()], TABLE, |fields| fields.parse())
}

/// Lists the open tasks of a board, oldest first.
pub fn of_workflow(tx: &mut Tx<'_>, id: &WorkflowId) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&OF_WORKFLOW, params![id.as_str()], TABLE, |fields| fields.parse())
}

/// Lists open quick chats whose time was up at an instant, at most 100.
pub fn expired_quick_chats(tx: &mut Tx<'_>, instant: Timestamp) -> Result<Vec<TaskId>, StoreError> {
    tx.rows(&EXPIRED, params![instant], TABLE, |fields| fields.parse())
}

/// Makes a quick chat a task like others, which does not expire.
pub fn keep_quick_chat(tx: &mut Tx<'_>, id: &TaskId, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(&KEEP_QUICK, params![now, id.as_str()]).map(drop)
}

/// Lists the open tasks that stood in their column as long as its rule asks, at most 100 of each column.
pub fn stood_long_enough(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(TaskId, AutoArchive)>, StoreError> {
    let rules = tx.rows(&AUTO_ARCHIVE_STEPS, params![], "workflow_steps", |fields| {
        let step: StepId = fields.parse()?;
        Ok((step, AutoArchive { after_ms: fields.int()?, seals: fields.flag()? }))
    })?;
    let mut due = Vec::new();
    for (step, rule) in rules {
        let values = params![step.as_str(), now.plus_millis(-rule.after_ms)];
        let standing: Vec<TaskId> = tx.rows(&STANDING, values, TABLE, |fields| fields.parse())?;
        due.extend(standing.into_iter().map(|id| (id, rule)));
    }
    Ok(due)
}

/// Moves every task of a board, whatever its state, behind the tasks of a column of another.
pub fn move_board(
    tx: &mut Tx<'_>,
    from: &WorkflowId,
    to: (&WorkflowId, &StepId),
    now: Timestamp,
) -> Result<(), StoreError> {
    let offset = super::next_position(tx, to.1)?;
    tx.execute(&MOVE_BOARD, params![to.0.as_str(), to.1.as_str(), offset, now, from.as_str()]).map(drop)
}
