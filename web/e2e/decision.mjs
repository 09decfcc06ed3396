// Work that exists nowhere else: the archive removes nothing, says what is at stake, and a person keeps it.
// And the board: a task is carried to another column by the keyboard, or moved by its menu on the phone.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { look } from "./browser.mjs";
import { until } from "./freehold.mjs";

export async function tellDecision({ page, freehold, projectName, phone }) {
  await page.goto(new URL("/", page.url()).href);
  await page.getByRole("button", { name: "New task" }).click();
  await page.getByLabel("What should the agent do?").fill("Leave work behind.");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.waitForURL(/\/tasks\//);
  const taskId = new URL(page.url()).pathname.split("/").at(-1);
  const detail = () => freehold.ask(`/tasks/${taskId}`);
  await until("the agent has worked", async () => (await detail()).sessions[0]?.state === "IDLE");
  const [{ worktree_path: worktree }] = (await detail()).environment.repositories;

  await page.getByRole("button", { name: "Task actions" }).click();
  await page.getByRole("menuitem", { name: "Archive task…" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("Work that exists nowhere else").waitFor();
  await dialog.getByText("freehold-demo.md").waitFor();
  await look(page, projectName, "20-archive-at-stake");
  await dialog.getByRole("button", { name: "Archive task" }).click();
  await page.getByRole("button", { name: "Keep the task" }).waitFor();
  assert.ok(existsSync(worktree), "a workspace with work at stake was removed");
  await look(page, projectName, "21-decision");
  await page.getByRole("button", { name: "Keep the task" }).click();
  await until("the task is back", async () => {
    const { task } = await detail();
    return !task.cleanup_state && !task.archived_at;
  });
  assert.ok(existsSync(worktree), "keeping lost the workspace");
  await moveOnBoard({ page, detail, taskId, projectName, phone });
}

async function moveOnBoard({ page, detail, taskId, projectName, phone }) {
  await page.goto(new URL("/", page.url()).href);
  const card = page.locator(`[data-task="${taskId}"]`).first();
  await card.waitFor();
  const before = (await detail()).task.step_id;
  const carried = (step, timeout = 20_000) =>
    page.getByText(`is over ${step}.`).waitFor({ state: "attached", timeout });
  await look(page, projectName, "22-board");
  if (phone) {
    await card.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { disabled: false }).last().click();
  } else {
    await card.getByRole("button", { name: /^Move / }).focus();
    await page.keyboard.press("Space");
    await carried("Backlog");
    // The card listens to the arrow keys a moment after it says that it was picked up; a person presses again.
    await until("the card is carried over the next column", async () => {
      await page.keyboard.press("ArrowRight");
      return carried("In progress", 1_000).then(
        () => true,
        () => false,
      );
    });
    await page.keyboard.press("Space");
  }
  await until("the task is in another column", async () => (await detail()).task.step_id !== before);
}
