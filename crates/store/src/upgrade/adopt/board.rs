//! Every task stands in a column of a board of its workspace; one whose place is gone is put where it is seen.

use std::collections::BTreeMap;

use freehold_domain::clock::Timestamp;
use freehold_domain::workflow::DEFAULT_STEPS;

use crate::upgrade::derived_id;
use crate::value::params;
use crate::{StoreError, Tx};

/// The boards of a database.
#[derive(Default)]
struct Boards {
    /// Workspace ids, oldest first.
    workspaces: Vec<String>,
    /// Workflow ids by workspace.
    workflows: BTreeMap<String, Vec<String>>,
    /// The column where tasks start, by workflow.
    start: BTreeMap<String, String>,
    /// The workflow of each column that belongs to a board.
    steps: BTreeMap<String, String>,
}

/// Puts every task into a column that exists, in its own board where it can be.
pub(super) fn place_tasks(
    tx: &mut Tx<'_>,
    now: Timestamp,
    notes: &mut Vec<String>,
) -> Result<(), StoreError> {
    let mut boards = read(tx)?;
    let tasks = tx.rows_of_text(
        "SELECT id, workspace_id, workflow_id, workflow_step_id FROM tasks ORDER BY id",
        &[],
        "tasks",
        |fields| Ok((fields.text()?, fields.text()?, fields.text()?, fields.text()?)),
    )?;
    let mut moved = 0_u64;
    for (id, workspace, workflow, step) in tasks {
        let home = boards.home_of(tx, &workspace, now)?;
        let board_of_step = boards.steps.get(&step).cloned();
        if home == workspace && board_of_step.as_ref() == Some(&workflow) {
            continue;
        }
        let (board, column) = match board_of_step {
            Some(board) if home == workspace => (board, step),
            _ => boards.start_of(tx, &home, &workflow, now)?,
        };
        let values = params![&home, &board, &column, &id];
        tx.execute_text(
            "UPDATE tasks SET workspace_id = $1, workflow_id = $2, workflow_step_id = $3 WHERE id = $4",
            values,
        )?;
        moved += 1;
    }
    if moved > 0 {
        notes.push(format!("{moved} tasks had no place on a board of their workspace and were given one"));
    }
    Ok(())
}

fn read(tx: &mut Tx<'_>) -> Result<Boards, StoreError> {
    let mut boards = Boards {
        workspaces: tx.rows_of_text(
            "SELECT id FROM workspaces ORDER BY created_at, id",
            &[],
            "workspaces",
            |fields| fields.text(),
        )?,
        ..Boards::default()
    };
    let workflows = tx.rows_of_text(
        "SELECT id, workspace_id FROM workflows ORDER BY sort_order, id",
        &[],
        "workflows",
        |fields| Ok((fields.text()?, fields.text()?)),
    )?;
    for (id, workspace) in workflows {
        boards.workflows.entry(workspace).or_default().push(id);
    }
    let steps = tx.rows_of_text(
        "SELECT id, workflow_id, is_start_step FROM workflow_steps ORDER BY position, id",
        &[],
        "workflow_steps",
        |fields| Ok((fields.text()?, fields.text()?, fields.flag()?)),
    )?;
    let known: Vec<&String> = boards.workflows.values().flatten().collect();
    for (id, workflow, is_start) in steps {
        if !known.contains(&&workflow) {
            continue;
        }
        if is_start || !boards.start.contains_key(&workflow) {
            boards.start.insert(workflow.clone(), id.clone());
        }
        boards.steps.insert(id, workflow);
    }
    Ok(boards)
}

impl Boards {
    /// The workspace of a task: its own, else the oldest, else a new one.
    fn home_of(&mut self, tx: &mut Tx<'_>, workspace: &str, now: Timestamp) -> Result<String, StoreError> {
        if self.workspaces.iter().any(|known| known == workspace) {
            return Ok(workspace.to_owned());
        }
        if let Some(first) = self.workspaces.first() {
            return Ok(first.clone());
        }
        let id = derived_id(&["workspace", "default"]);
        tx.execute_text(
            "INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ($1, $2, $3, $4)",
            params![&id, "Default", now, now],
        )?;
        self.workspaces.push(id.clone());
        Ok(id)
    }

    /// The board and first column for a task: of its own board, else of the workspace's first, else of a new one.
    fn start_of(
        &mut self,
        tx: &mut Tx<'_>,
        workspace: &str,
        workflow: &str,
        now: Timestamp,
    ) -> Result<(String, String), StoreError> {
        let of_workspace = self.workflows.get(workspace).cloned().unwrap_or_default();
        let own = of_workspace.iter().find(|known| *known == workflow);
        for board in own.into_iter().chain(&of_workspace) {
            if let Some(step) = self.start.get(board) {
                return Ok((board.clone(), step.clone()));
            }
        }
        self.add_board(tx, workspace, now)
    }

    fn add_board(
        &mut self,
        tx: &mut Tx<'_>,
        workspace: &str,
        now: Timestamp,
    ) -> Result<(String, String), StoreError> {
        let board = derived_id(&["workflow", workspace]);
        tx.execute_text(
            "INSERT INTO workflows (id, workspace_id, name, sort_order, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            params![&board, workspace, "Board", 0_i64, now, now],
        )?;
        for (position, name) in (0_i64..).zip(DEFAULT_STEPS) {
            let step = derived_id(&["step", &board, name]);
            tx.execute_text(
                "INSERT INTO workflow_steps (id, workflow_id, name, position, is_start_step, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
                params![&step, &board, name, position, position == 0, now, now],
            )?;
            if position == 0 {
                self.start.insert(board.clone(), step.clone());
            }
            self.steps.insert(step, board.clone());
        }
        self.workflows.entry(workspace.to_owned()).or_default().push(board.clone());
        let start = self.start.get(&board).cloned().unwrap_or_default();
        Ok((board, start))
    }
}
