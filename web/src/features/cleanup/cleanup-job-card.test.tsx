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

const locked = {
  kind: "locked",
  worktree_path: PATH,
  items: [],
  total: 1,
  detail: "The worktree is locked: on a removable disk.",
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

const nested = {
  kind: "nested_repository",
  worktree_path: PATH,
  items: ["vendor/inner"],
  total: 1,
  detail: "",
};

test("a job that waits names what is at stake and offers to keep or to look again", async () => {
  const article = await card(aJob({ stakes: [locked] }));
  expect(article).toHaveTextContent("None of this was removed.");
  expect(article).toHaveTextContent(locked.detail);
  expect(choices(article)).toEqual(["Keep the task", "Look again"]);
  await expectAccessible(article);
});

test("work that no seal holds is discarded only once its phrase is typed", async () => {
  const sent: string[] = [];
  serve({
    "POST /cleanup-jobs/job-1/decision": (body: unknown) => {
      sent.push(String(body));
      return aJob({ state: "pending" });
    },
  });
  const article = await card(aJob({ stakes: [nested], discard_phrase: "discard 1" }));
  expect(within(article).getByText("vendor/inner")).toBeVisible();
  await userEvent.click(within(article).getByRole("button", { name: "Discard…" }));
  const dialog = await screen.findByRole("alertdialog");
  expect(dialog).toHaveTextContent("Discard work of “Fix the parser”?");
  expect(within(dialog).getByText("vendor/inner")).toBeVisible();
  expect(within(dialog).getByRole("button", { name: "Keep" })).toHaveFocus();
  await expectAccessible(dialog);
  const confirm = within(dialog).getByRole("button", { name: "Discard for good" });
  const field = within(dialog).getByLabelText("To lose exactly this, type: discard 1");
  await userEvent.type(field, "discard 10");
  expect(confirm).toBeDisabled();
  await userEvent.type(field, "{Enter}");
  expect(sent).toEqual([]);
  await userEvent.clear(field);
  await userEvent.type(field, "discard 1");
  await userEvent.click(confirm);
  expect(sent.map((body) => JSON.parse(body))).toEqual([{ decision: "discard", phrase: "discard 1" }]);
});

test("what is in doubt cannot be discarded", async () => {
  const article = await card(aJob({ stakes: [nested, locked], discard_phrase: null }));
  expect(choices(article)).toEqual(["Keep the task", "Look again"]);
});

test("a job that takes seals away keeps them when it is called off", async () => {
  const article = await card(aJob({ trigger: "trash_purge", state: "failed", last_error: "disk is full" }));
  expect(article).toHaveTextContent("Deletion for good");
  expect(article).toHaveTextContent("Nothing was lost");
  expect(choices(article)).toEqual(["Keep the seals", "Look again"]);
});

test("the traces of a failed start belong to no task that could be kept", async () => {
  const article = await card(aJob({ trigger: "failed_creation", stakes: [files] }));
  expect(choices(article)).toEqual(["Look again"]);
});

test("a job that runs or is done asks for nothing", async () => {
  expect(choices(await card(aJob({ state: "running" })))).toEqual([]);
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
      return aJob({ state: "cancelled" });
    },
  });
  const article = await card(aJob({ stakes: [locked] }));
  await userEvent.click(within(article).getByRole("button", { name: "Keep the task" }));
  expect(sent.map((body) => JSON.parse(body))).toEqual([{ decision: "keep" }]);
});
