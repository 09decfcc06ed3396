// What no seal holds: a repository inside the workspace. The archive removes nothing and says what it is; a person
// keeps the task, or types what is lost. And the board: a task is carried to another column by the keyboard, or
// moved by its menu on the phone.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { look } from "./browser.mjs";
import { until } from "./freehold.mjs";
import { askFor, makeTask, untilCleanup } from "./task.mjs";

export async function tellDecision({ page, place, freehold, projectName, phone }) {
  const task = await makeTask({ page, freehold }, "Leave work behind.");
  const { detail, worktree, id: taskId } = task;
  const inner = join(worktree, "inner");
  mkdirSync(inner);
  place.git(inner, "init", "--quiet");
  place.git(inner, "commit", "--quiet", "--allow-empty", "--message", "Only here");

  await archive(page, async (dialog) => {
    await dialog.getByText("No seal holds this").waitFor();
    await look(page, projectName, "20-archive-at-stake");
  });
  await page.getByRole("button", { name: "Keep the task" }).waitFor();
  assert.ok(existsSync(inner), "a workspace with work at stake was removed");
  await look(page, projectName, "21-decision");
  await page.getByRole("button", { name: "Keep the task" }).click();
  await until("the task is back", async () => {
    const { task } = await detail();
    return !task.cleanup_state && !task.archived_at;
  });
  assert.ok(existsSync(inner), "keeping lost the workspace");
  await moveOnBoard({ page, detail, taskId, projectName, phone });

  await page.goto(new URL(`/tasks/${taskId}`, page.url()).href);
  await archive(page, (dialog) => dialog.getByText("No seal holds this").waitFor());
  await page.getByRole("button", { name: "Discard…" }).click();
  const dialog = page.getByRole("alertdialog");
  const confirm = dialog.getByRole("button", { name: "Discard for good" });
  await dialog.getByLabel("To lose exactly this, type: discard 1").fill("discard");
  assert.ok(await confirm.isDisabled(), "half a phrase is enough");
  await look(page, projectName, "23-discard");
  assert.ok(existsSync(inner), "it was discarded before it was confirmed");
  await dialog.getByLabel("To lose exactly this, type: discard 1").fill("discard 1");
  await confirm.click();
  await untilCleanup(freehold, task, "succeeded");
  assert.ok(!existsSync(worktree), "the workspace is still there");
  await page.getByText("Bringing it back restores the same files").waitFor();
}

async function archive(page, read) {
  const dialog = await askFor(page, "Archive task…");
  await read(dialog);
  await dialog.getByRole("button", { name: "Archive task" }).click();
  await dialog.waitFor({ state: "hidden" });
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
