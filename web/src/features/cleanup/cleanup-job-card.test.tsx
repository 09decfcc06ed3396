import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { CleanupJob } from "~/api/types";
import { draw, expectAccessible, serve } from "~/test/page";
import { CleanupJobCard } from "./cleanup-job-card";

const THEN = "2026-11-30T10:00:00.000000Z";
const PATH = "/w/task-1/orchard";

function aJob(part: Partial<CleanupJob> = {}): CleanupJob {
  return {
    id: "job-1",
    task_id: "task-1",
    task_title: "Fix the parser",
    trigger: "archive",
    state: "needs_decision",
    is_foreign: false,
    attempts: 1,
    last_error: "",
    stakes: [],
    worktree_paths: [PATH],
    created_at: THEN,
    updated_at: THEN,
    ...part,
  };
}

const commits = {
  kind: "commits",
  worktree_path: PATH,
  items: ["3f78685 Keep the line"],
  total: 1,
  detail: "",
};
const files = { kind: "untracked", worktree_path: PATH, items: ["notes.md"], total: 1, detail: "" };

async function card(job: CleanupJob): Promise<HTMLElement> {
  await draw(<CleanupJobCard job={job} />);
  return screen.findByRole("article");
}

function choices(article: HTMLElement): (string | null)[] {
  return within(article)
    .queryAllByRole("button")
    .map((button) => button.textContent);
}

test("a job that waits names what is at stake and offers to keep or to look again", async () => {
  const article = await card(aJob({ stakes: [files] }));
  expect(article).toHaveTextContent("Nothing was removed.");
  expect(within(article).getByText("notes.md")).toBeVisible();
  expect(choices(article)).toEqual(["Keep the task", "Look again"]);
  await expectAccessible(article);
});

test("the branch alone can be kept only where commits are all that is at stake", async () => {
  const article = await card(aJob({ stakes: [commits] }));
  expect(choices(article)).toContain("Remove the workspace, keep the branch");
});

test("with files at stake beside commits the workspace cannot be removed", async () => {
  const article = await card(aJob({ stakes: [commits, files] }));
  expect(choices(article)).not.toContain("Remove the workspace, keep the branch");
});

test("a job that runs or is done asks for nothing", async () => {
  expect(choices(await card(aJob({ state: "running" })))).toEqual([]);
});

test("a stake that is not counted is explained in the server's words", async () => {
  const detail = "The worktree is locked: on a removable disk.";
  const article = await card(
    aJob({ stakes: [{ kind: "locked", worktree_path: PATH, items: [], total: 1, detail }] }),
  );
  expect(article).toHaveTextContent(detail);
});

test("a job of another program can only be called off", async () => {
  const article = await card(
    aJob({ is_foreign: true, task_title: "", trigger: "reconcile", last_error: "raw", worktree_paths: [] }),
  );
  expect(article).toHaveTextContent("Then archive or delete the task again");
  expect(article).not.toHaveTextContent("raw");
  expect(choices(article)).toEqual(["Keep the task"]);
  await expectAccessible(article);
});

test("a decision is sent as it was chosen", async () => {
  const sent: string[] = [];
  serve({
    "POST /cleanup-jobs/job-1/decision": (body: unknown) => {
      sent.push(String(body));
      return aJob({ state: "pending" });
    },
  });
  const article = await card(aJob({ stakes: [commits] }));
  await userEvent.click(
    within(article).getByRole("button", { name: "Remove the workspace, keep the branch" }),
  );
  expect(sent.map((body) => JSON.parse(body))).toEqual([{ decision: "keep_branch" }]);
});
