// The way out and the way back: a task with work is archived and brought back byte for byte, also when its place
// or its branch was taken; it is deleted, looked at in the trash, and restored; another one is deleted for good.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { look } from "./browser.mjs";
import { until } from "./freehold.mjs";
import { askFor, fingerprint, makeTask, untilCleanup } from "./task.mjs";

export async function tellClosing(parts) {
  const task = await makeTask(parts, "Work that comes back.");
  leaveWork(parts, task);
  await archiveAndUndo(parts, task);
  await archiveAndBringBack(parts, task);
  await bringBackPastWhatTookItsPlace(parts, task);
  await deleteAndRestore(parts, task);
  await purge(parts, task);
}

/** Leaves one of each kind of work: staged, unstaged, untracked, ignored, executable, a link. */
function leaveWork({ place }, { worktree }) {
  writeFileSync(join(worktree, ".gitignore"), ".env\nnode_modules\n");
  place.git(worktree, "add", ".gitignore");
  writeFileSync(join(worktree, ".env"), "TOKEN=abc\n");
  writeFileSync(join(worktree, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(worktree, "run.sh"), 0o755);
  symlinkSync("README.md", join(worktree, "link"));
  mkdirSync(join(worktree, "node_modules"));
  writeFileSync(join(worktree, "node_modules", "index.js"), "");
}

/** What must come back: everything but what tools can make again. */
function kept({ place }, worktree) {
  rmSync(join(worktree, "node_modules"), { recursive: true, force: true });
  return fingerprint(place, worktree);
}

async function archiveAndUndo(parts, task) {
  const { page, freehold, projectName } = parts;
  const dialog = await askFor(page, "Archive task…");
  await dialog.getByText("Exists nowhere else, and is sealed").waitFor();
  await dialog.getByText("run.sh").waitFor();
  await look(page, projectName, "30-archive");
  await dialog.getByRole("button", { name: "Archive task" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await look(page, projectName, "31-archived-undo");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(`“${task.title}” is back.`).waitFor();
  assert.equal((await task.detail()).task.archived_at, null);
  assert.ok(existsSync(join(task.worktree, "run.sh")), "undo lost a file");
  const cleanups = await freehold.ask(`/cleanup-jobs?task_id=${task.id}`);
  assert.ok(!cleanups.some((job) => job.state === "needs_decision"), "the cleanup waits");
}

async function archive({ page, freehold }, task) {
  const dialog = await askFor(page, "Archive task…");
  await dialog.getByText("Everything in the workspace is sealed first").waitFor();
  await dialog.getByRole("button", { name: "Archive task" }).click();
  await dialog.waitFor({ state: "hidden" });
  await untilCleanup(freehold, task, "succeeded");
  assert.ok(!existsSync(task.worktree), "the workspace is still there");
}

async function archiveAndBringBack(parts, task) {
  const { page, projectName, phone } = parts;
  const before = kept(parts, task.worktree);
  await archive(parts, task);
  await page.getByText("Bringing it back restores the same files").waitFor();
  if (phone) await page.getByRole("button", { name: "Changes", exact: true }).click();
  await page.locator('[data-file="run.sh"]').first().waitFor();
  await look(page, projectName, "32-archived-task");
  await page.goto(new URL("/archived", page.url()).href);
  await page.getByRole("button", { name: `Bring back ${task.title}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(task.worktree).waitFor();
  await look(page, projectName, "33-bring-back");
  await dialog.getByRole("button", { name: "Bring back" }).click();
  await page.waitForURL(new RegExp(`/tasks/${task.id}`));
  assert.equal(fingerprint(parts.place, task.worktree), before, "the workspace is not as it was");
}

async function bringBackPastWhatTookItsPlace(parts, task) {
  const { page, place, projectName } = parts;
  const before = fingerprint(place, task.worktree);
  await archive(parts, task);
  mkdirSync(task.worktree, { recursive: true });
  writeFileSync(join(task.worktree, "mine.txt"), "a person's\n");
  const tip = place.git(place.repository, "commit-tree", "main^{tree}", "-p", "main", "-m", "later").trim();
  place.git(place.repository, "branch", "--force", task.branch, tip);

  await askFor(page, "Bring back…");
  const dialog = page.getByRole("dialog");
  const attempt = () => dialog.getByRole("button", { name: "Bring back" }).click();
  await attempt();
  await dialog.getByRole("radio", { name: "Into a new folder" }).waitFor();
  await look(page, projectName, "34-place-taken");
  await attempt();
  await dialog.getByRole("radio", { name: "A new branch at the sealed commit" }).waitFor();
  await look(page, projectName, "35-branch-moved");
  await attempt();
  await dialog.waitFor({ state: "hidden" });

  const [repository] = (await task.detail()).environment.repositories;
  assert.notEqual(repository.worktree_path, task.worktree);
  const [there, here] = [before, fingerprint(place, repository.worktree_path)].map((text) =>
    text.split("\n").filter((line) => !line.startsWith("# branch.")),
  );
  assert.deepEqual(here, there, "the workspace is not as it was");
  assert.equal(readFileSync(join(task.worktree, "mine.txt"), "utf8"), "a person's\n");
  assert.equal(place.git(place.repository, "rev-parse", task.branch).trim(), tip, "the branch was moved");
  rmSync(task.worktree, { recursive: true });
  Object.assign(task, { worktree: repository.worktree_path, branch: repository.worktree_branch });
}

async function remove({ page, freehold }, task) {
  const dialog = await askFor(page, "Delete task…");
  await dialog.getByText("it can be brought back from the trash").waitFor();
  await dialog.getByRole("button", { name: "Delete task" }).click();
  await page.waitForURL((url) => url.pathname === "/");
  await until("the task is in the trash", async () =>
    (await freehold.ask("/trash")).some((entry) => entry.task.id === task.id),
  );
  assert.ok(!existsSync(task.worktree), "the workspace is still there");
}

async function openTrash({ page, phone }, task) {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Trash" }).click();
  const entry = page.locator(`[data-trashed="${task.id}"]`);
  await entry.getByText("Goes for good").waitFor();
  if (!phone) await page.getByRole("button", { name: "Close" }).first().click();
  return entry;
}

async function deleteAndRestore(parts, task) {
  const { page, place, projectName } = parts;
  const before = fingerprint(place, task.worktree);
  const dialog = await askFor(page, "Delete task…");
  await dialog.getByText("Exists nowhere else, and is sealed").waitFor();
  await look(page, projectName, "36-delete");
  await dialog.getByRole("button", { name: "Keep", exact: true }).click();
  await remove(parts, task);
  const entry = await openTrash(parts, task);
  await look(page, projectName, "37-trash");
  await entry.getByRole("button", { name: "Show what is in it" }).click();
  await entry.locator('[data-file="run.sh"]').first().getByRole("button").first().click();
  await entry.getByText("#!/bin/sh").first().waitFor();
  await look(page, projectName, "38-trash-preview");
  await entry.getByRole("button", { name: "Bring back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Bring back" }).click();
  await page.waitForURL(new RegExp(`/tasks/${task.id}`));
  assert.equal(fingerprint(place, task.worktree), before, "the workspace is not as it was");
}

async function purge(parts, task) {
  const { page, freehold, place, projectName } = parts;
  await remove(parts, task);
  const entry = await openTrash(parts, task);
  const ids = (await freehold.ask(`/trash/${task.id}`)).seals.map((seal) => seal.id);
  const refs = () => place.git(place.repository, "for-each-ref", "refs/freehold");
  assert.ok(
    ids.length > 0 && ids.every((id) => refs().includes(id)),
    "the repository does not hold the seals",
  );
  await entry.getByRole("button", { name: "Delete for good…" }).click();
  const dialog = page.getByRole("alertdialog", { name: `Delete “${task.title}” for good?` });
  await dialog.getByText("Nothing can bring them back afterwards.").waitFor();
  await look(page, projectName, "39-purge");
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await page.getByRole("heading", { name: "The trash is empty" }).waitFor();
  await look(page, projectName, "40-trash-empty");
  await until("the repository holds none of its seals", () => !ids.some((id) => refs().includes(id)));
  await page.goto(new URL(`/tasks/${task.id}`, page.url()).href);
  await page.getByRole("heading", { name: "This task does not exist, or not any more" }).waitFor();
  await look(page, projectName, "41-task-gone");
}
