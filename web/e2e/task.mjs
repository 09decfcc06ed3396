// What stories share: a task with a workspace in which the agent has left work, and what is on disk of it.
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { until } from "./freehold.mjs";

/** Creates a task on the board and waits until its agent has worked; the page shows it then. */
export async function makeTask({ page, freehold }, prompt) {
  await page.goto(new URL("/", page.url()).href);
  await page.getByRole("button", { name: "New task" }).click();
  await page.getByLabel("What should the agent do?").fill(prompt);
  await page.getByRole("button", { name: "Create task" }).click();
  await page.waitForURL(/\/tasks\//);
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const detail = () => freehold.ask(`/tasks/${id}`);
  await until("the agent has worked", async () => (await detail()).sessions[0]?.state === "IDLE");
  const [{ worktree_path: worktree, worktree_branch: branch }] = (await detail()).environment.repositories;
  return { id, title: prompt, detail, worktree, branch };
}

/** Opens a dialog of the task's menu. */
export async function askFor(page, item) {
  await page.getByRole("button", { name: "Task actions" }).click();
  await page.getByRole("menuitem", { name: item }).click();
  return page.getByRole("alertdialog");
}

/** Everything in a worktree: each file with its mode and its bytes, what is checked out, and what Git says of it. */
export function fingerprint(place, worktree) {
  const files = readdirSync(worktree, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => relative(worktree, path) !== ".git")
    .sort()
    .map((path) => {
      const { mode } = lstatSync(path);
      return `${relative(worktree, path)} ${mode.toString(8)} ${content(path)}`;
    });
  const git = (...args) =>
    execFileSync("git", ["-C", worktree, ...args], { env: place.env, encoding: "utf8" });
  return [...files, git("rev-parse", "HEAD"), git("status", "--porcelain=v2", "--branch")].join("\n");
}

function content(path) {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return readlinkSync(path);
  return found.isFile() ? readFileSync(path).toString("base64") : "";
}

/** Waits until the newest cleanup of a task is in a state. */
export function untilCleanup(freehold, task, state) {
  return until(`the cleanup of ${task.title} is ${state}`, async () => {
    const [job] = await freehold.ask(`/cleanup-jobs?task_id=${task.id}`);
    return job?.state === state;
  });
}
