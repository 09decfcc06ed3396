import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import { aDetail, aTask, sealedChanges } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { forgetToasts, Toasts } from "~/ui/toast";
import { newestSeals } from "./newest-seals";
import { SealsView } from "./seals-view";

const LIST = "GET /tasks/task-1/seals";
const MAKE = "POST /seals/seal-1/task";
const FOLDER = { id: "seal-2", kind: "folder", environment_repo_id: null, worktree_path: "/w/task-1" };

describe.each(SURFACES)("the seals of a task on the %s", (surface) => {
  beforeEach(() => {
    showOn(surface);
    forgetToasts();
  });

  async function open(answer: unknown) {
    const asked = serve({ [LIST]: [sealedChanges(), sealedChanges(FOLDER, "plan.md")], [MAKE]: answer });
    const page = await draw(<SealsView taskId="task-1" layout="unified" />, <Toasts />);
    const buttons = await screen.findAllByRole("button", { name: "Make a new task of it" });
    return { asked, page, user: userEvent.setup(), button: buttons[0] as HTMLElement };
  }

  test("what lay in no repository is listed beside the worktrees", async () => {
    await open({});
    expect(screen.getByRole("heading", { name: "Files outside of any repository" })).toBeVisible();
    expect(screen.getByText("/w/task-1")).toBeVisible();
    await expectAccessible();
  });

  test("a seal becomes a new task, which is opened", async () => {
    const made = { ...aDetail(), task: aTask({ id: "task-9", title: "From before" }) };
    const { asked, page, user, button } = await open(made);
    await user.click(button);
    await waitFor(() => expect(page.path()).toBe("/tasks/task-9"));
    expect(asked.filter((line) => line === MAKE)).toHaveLength(1);
    const notices = within(await screen.findByRole("status"));
    expect(await notices.findByText(/“From before” is a new task/)).toBeVisible();
  });

  test("why it cannot is said", async () => {
    const body = { code: "unknown_seal", message: "it may have been purged", hint: "", subject: "" };
    const { user, button } = await open(new Refusal(404, body));
    await user.click(button);
    expect(await screen.findByText("it may have been purged")).toBeVisible();
  });
});

test("a folder comes back with the worktrees it was sealed with, and no older one does", () => {
  const later = { created_at: "2026-12-02T10:00:00.000000Z", job_id: "job-2" };
  const seals = [
    sealedChanges({ id: "new", ...later }),
    sealedChanges({ ...FOLDER, id: "old", job_id: "job-1" }),
  ];
  const { newest, others } = newestSeals(seals);
  expect(newest.map(({ seal }) => seal.id)).toEqual(["new"]);
  expect(others.map(({ seal }) => seal.id)).toEqual(["old"]);
  const alone = newestSeals([sealedChanges({ ...FOLDER, id: "chat" })]);
  expect(alone.newest.map(({ seal }) => seal.id)).toEqual(["chat"]);
});
