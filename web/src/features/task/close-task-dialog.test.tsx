import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import type { CloseReport } from "~/api/types";
import { aDetail, aReport } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { TaskMenu } from "./task-menu";

const PATH = "/w/task-1/orchard";
const STAKES: CloseReport["stakes"] = [
  { kind: "uncommitted", worktree_path: PATH, items: ["src/a.rs", "src/b.rs"], total: 2, detail: "" },
  { kind: "untracked", worktree_path: PATH, items: ["notes.md"], total: 3, detail: "" },
  { kind: "commits", worktree_path: PATH, items: ["3f78685 Keep the line"], total: 1, detail: "" },
];

const ACTIONS = [
  {
    action: "archive",
    item: "Archive task…",
    confirm: "Archive task",
    request: "POST /tasks/task-1/archive",
  },
  { action: "delete", item: "Delete task…", confirm: "Delete task", request: "DELETE /tasks/task-1" },
] as const;

const CASES = SURFACES.flatMap((surface) => ACTIONS.map((one) => ({ surface, ...one })));

describe.each(CASES)("$action on the $surface", ({ surface, action, item, confirm, request }) => {
  const question = `GET /tasks/task-1/close-report?action=${action}`;

  beforeEach(() => showOn(surface));

  async function open(report: unknown, more: Record<string, unknown> = {}) {
    const asked = serve({ [question]: report, [request]: { id: "job-1" }, ...more });
    const user = userEvent.setup();
    const page = await draw(<TaskMenu detail={aDetail()} />);
    await user.click(await screen.findByRole("button", { name: "Task actions" }));
    await user.click(await screen.findByRole("menuitem", { name: item }));
    const dialog = await screen.findByRole("alertdialog");
    return {
      asked,
      user,
      dialog,
      page,
      confirmButton: within(dialog).getByRole("button", { name: confirm }),
    };
  }

  test("it says what stops, what is removed and what stays", async () => {
    const { dialog } = await open(aReport({ live_sessions: 2 }));
    expect(await within(dialog).findByText("2 running agents are stopped.")).toBeVisible();
    expect(dialog).toHaveTextContent(
      "The task workspace is removed and its disk space comes back: /w/task-1",
    );
    expect(dialog).toHaveTextContent("The branch stays: freehold/fix-the-parser");
    expect(dialog).not.toHaveTextContent(/seal|undo|trash|restore/i);
    await expectAccessible(dialog);
  });

  test("it names each file and commit at stake and says that nothing is removed", async () => {
    const { dialog } = await open(aReport({ stakes: STAKES }));
    expect(await within(dialog).findByText("2 uncommitted files")).toBeVisible();
    for (const name of ["src/a.rs", "src/b.rs", "notes.md", "3f78685 Keep the line", "and 2 more"]) {
      expect(within(dialog).getByText(name)).toBeVisible();
    }
    expect(dialog).toHaveTextContent("3 untracked files");
    expect(dialog).toHaveTextContent("1 commit found on no other branch");
    expect(dialog).toHaveTextContent("nothing is removed: the cleanup waits until you decide");
    expect(dialog).toHaveTextContent("The task workspace stays until you decide: /w/task-1");
    expect(dialog).not.toHaveTextContent("its disk space comes back");
    await expectAccessible(dialog);
  });

  test("keeping is the default and changes nothing", async () => {
    const { dialog, user, asked } = await open(aReport());
    await waitFor(() => expect(within(dialog).getByRole("button", { name: "Keep" })).toHaveFocus());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked).toEqual([question]);
  });

  test("the task is closed once, after the report was seen", async () => {
    const { user, asked, confirmButton } = await open(aReport());
    await waitFor(() => expect(confirmButton).toBeEnabled());
    await user.click(confirmButton);
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked.filter((line) => line === request)).toHaveLength(1);
  });

  test("without a report nothing can be confirmed", async () => {
    const refusal = new Refusal(500, {
      code: "git_failed",
      message: "git status failed",
      hint: "",
      subject: "",
    });
    const { dialog, confirmButton } = await open(refusal);
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("git status failed");
    expect(confirmButton).toBeDisabled();
  });

  test("a task without a workspace concerns no file", async () => {
    const { dialog } = await open(aReport({ workspace_path: "", branches_kept: [] }));
    expect(await within(dialog).findByText("The task has no workspace; no file is concerned.")).toBeVisible();
  });

  test("a refusal is shown and the dialog stays", async () => {
    const refusal = new Refusal(409, {
      code: "task_closing",
      message: "the task is being closed",
      hint: "",
      subject: "",
    });
    const { dialog, user, confirmButton } = await open(aReport(), { [request]: refusal });
    await waitFor(() => expect(confirmButton).toBeEnabled());
    await user.click(confirmButton);
    expect(await within(dialog).findByText("the task is being closed")).toBeVisible();
  });
});
