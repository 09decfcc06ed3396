// How tasks lie in columns, as pure functions: reading, moving one, and saying where it went.
import type { Step, TaskCard } from "~/api/types";

/** Task ids by column, in order. */
export type Columns = Record<string, string[]>;

/** Where a task was put. */
export interface Move {
  taskId: string;
  stepId: string;
  /** The task it stands after; empty at the top. */
  afterId: string;
}

export function columnsOf(steps: readonly Step[], tasks: readonly TaskCard[]): Columns {
  const columns: Columns = Object.fromEntries(steps.map((step) => [step.id, []]));
  const ordered = [...tasks].sort((a, b) => a.position - b.position);
  for (const task of ordered) columns[task.step_id]?.push(task.id);
  return columns;
}

export function stepOf(columns: Columns, id: string): string | undefined {
  if (id in columns) return id;
  return Object.keys(columns).find((stepId) => columns[stepId]?.includes(id));
}

/** Puts a task before or behind the one at `overId`, or at the end of the column `overId`. */
export function movedOver(columns: Columns, taskId: string, overId: string): Columns {
  const from = stepOf(columns, taskId);
  const to = stepOf(columns, overId);
  if (!from || !to || taskId === overId) return columns;
  const target = columns[to] ?? [];
  const at = overId === to ? target.length : target.indexOf(overId);
  const without = { ...columns, [from]: (columns[from] ?? []).filter((id) => id !== taskId) };
  const place = without[to]?.slice() ?? [];
  place.splice(at, 0, taskId);
  return { ...without, [to]: place };
}

export function moveIn(columns: Columns, taskId: string): Move | null {
  const stepId = stepOf(columns, taskId);
  if (!stepId) return null;
  const column = columns[stepId] ?? [];
  return { taskId, stepId, afterId: column[column.indexOf(taskId) - 1] ?? "" };
}

/** Whether a move changes anything. */
export function isSamePlace(columns: Columns, move: Move): boolean {
  const now = moveIn(columns, move.taskId);
  return now?.stepId === move.stepId && now.afterId === move.afterId;
}

/** The tasks as they will be once the server has done the move. */
export function tasksAfter(tasks: readonly TaskCard[], move: Move): TaskCard[] {
  const moved = tasks.find((task) => task.id === move.taskId);
  if (!moved) return [...tasks];
  const column = tasks
    .filter((task) => task.step_id === move.stepId && task.id !== move.taskId)
    .sort((a, b) => a.position - b.position);
  const at = move.afterId === "" ? 0 : column.findIndex((task) => task.id === move.afterId) + 1;
  column.splice(at, 0, { ...moved, step_id: move.stepId });
  const placed = new Map(column.map((task, position) => [task.id, { ...task, position }]));
  return tasks.map((task) => placed.get(task.id) ?? task);
}
