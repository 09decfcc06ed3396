import { expect, test } from "vitest";
import type { Step } from "~/api/types";
import { aTask } from "~/test/nouns";
import { columnsOf, isSamePlace, movedOver, moveIn, tasksAfter } from "./columns";

const STEPS: Step[] = ["s1", "s2"].map((id, position) => ({
  id,
  name: id,
  position,
  is_start: position === 0,
}));
const TASKS = [
  aTask({ id: "b", step_id: "s1", position: 1 }),
  aTask({ id: "a", step_id: "s1", position: 0 }),
  aTask({ id: "c", step_id: "s1", position: 2 }),
  aTask({ id: "x", step_id: "s2", position: 0 }),
];
const COLUMNS = columnsOf(STEPS, TASKS);

test("columns hold their tasks by position", () => {
  expect(COLUMNS).toEqual({ s1: ["a", "b", "c"], s2: ["x"] });
});

test("a task is put before the one it is dropped on in another column", () => {
  expect(movedOver(COLUMNS, "b", "x")).toEqual({ s1: ["a", "c"], s2: ["b", "x"] });
});

test("a task dropped on a column goes last", () => {
  expect(movedOver(COLUMNS, "a", "s2")).toEqual({ s1: ["b", "c"], s2: ["x", "a"] });
});

test("within a column a task takes the place of the one it is dropped on", () => {
  expect(movedOver(COLUMNS, "a", "c").s1).toEqual(["b", "c", "a"]);
  expect(movedOver(COLUMNS, "c", "a").s1).toEqual(["c", "a", "b"]);
});

test("a move names the task before, or none at the top", () => {
  expect(moveIn(COLUMNS, "b")).toEqual({ taskId: "b", stepId: "s1", afterId: "a" });
  expect(moveIn(COLUMNS, "a")).toEqual({ taskId: "a", stepId: "s1", afterId: "" });
  expect(isSamePlace(COLUMNS, { taskId: "b", stepId: "s1", afterId: "a" })).toBe(true);
  expect(isSamePlace(COLUMNS, { taskId: "b", stepId: "s2", afterId: "" })).toBe(false);
});

test("the board shows a move as the server will", () => {
  const after = tasksAfter(TASKS, { taskId: "a", stepId: "s2", afterId: "x" });
  expect(columnsOf(STEPS, after)).toEqual({ s1: ["b", "c"], s2: ["x", "a"] });
  const top = tasksAfter(TASKS, { taskId: "c", stepId: "s1", afterId: "" });
  expect(columnsOf(STEPS, top).s1).toEqual(["c", "a", "b"]);
});
