//! Runs of automations: which are newer than others of the same automation on the same board.

use freehold_domain::clock::Timestamp;
use freehold_domain::id::{TaskId, WorkflowId};
use freehold_domain::task::TaskState;

use super::TABLE;
use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx};

statements! {
    OPEN_RUNS =
        "SELECT t.id, t.workflow_id, t.automation, t.state, \
         (SELECT COUNT(*) FROM task_sessions s WHERE s.task_id = t.id AND (s.state IN ('CREATED', 'STARTING', 'RUNNING', \
         'WAITING_FOR_INPUT') OR (s.state = 'IDLE' AND s.updated_at > $1))) \
         FROM tasks t WHERE t.automation <> '' AND t.archived_at IS NULL AND t.deleted_at IS NULL \
         ORDER BY t.workflow_id, t.automation, t.created_at DESC, t.id DESC";
}

/// Lists the open runs that are finished and older than the newest `kept` ones of their automation on their board.
/// A session keeps its run while it works or waits for a person, and while it was idle for less time than since
/// `idle_since`.
pub fn finished_runs(tx: &mut Tx<'_>, kept: usize, idle_since: Timestamp) -> Result<Vec<TaskId>, StoreError> {
    let runs = tx.rows(&OPEN_RUNS, params![idle_since], TABLE, |fields| {
        let (id, board): (TaskId, WorkflowId) = (fields.parse()?, fields.parse()?);
        let (automation, state) = (fields.text()?, fields.parse::<TaskState>()?);
        Ok(((board, automation), id, state.is_finished() && fields.int()? == 0))
    })?;
    let (mut finished, mut newer): (_, Option<(_, usize)>) = (Vec::new(), None);
    for (of, id, is_finished) in runs {
        let count = match &newer {
            Some((same, count)) if *same == of => count + 1,
            _ => 0,
        };
        newer = Some((of, count));
        if is_finished && count >= kept {
            finished.push(id);
        }
    }
    Ok(finished)
}
