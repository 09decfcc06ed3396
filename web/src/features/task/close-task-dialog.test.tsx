import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import type { CloseReport } from "~/api/types";
import { aDetail, aReport, aTask } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { forgetToasts, Toasts } from "~/ui/toast";
import { CloseTaskDialog } from "./close-task-dialog";
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
    request: "POST /tasks/task-1/archive?seal=true&sub_tasks=false",
  },
  {
    action: "delete",
    item: "Delete task…",
    confirm: "Delete task",
    request: "DELETE /tasks/task-1?seal=true&sub_tasks=false",
  },
] as const;

const REOPEN = "POST /tasks/task-1/reopen";
const CASES = SURFACES.flatMap((surface) => ACTIONS.map((one) => ({ surface, ...one })));

describe.each(CASES)("$action on the $surface", ({ surface, action, item, confirm, request }) => {
  const question = `GET /tasks/task-1/close-report?action=${action}`;

  beforeEach(() => {
    showOn(surface);
    forgetToasts();
  });

  async function open(report: unknown, more: Record<string, unknown> = {}) {
    const asked = serve({ [question]: report, [request]: { id: "job-1" }, ...more });
    const user = userEvent.setup();
    const page = await draw(<TaskMenu detail={aDetail()} />, <Toasts />);
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

  test("it says what stops, what is sealed, what is removed and how it comes back", async () => {
    const until = action === "delete" ? { restorable_until: "2026-12-30T10:00:00.000000Z" } : {};
    const { dialog } = await open(aReport({ live_sessions: 2, ...until }));
    expect(await within(dialog).findByText("2 running agents are stopped.")).toBeVisible();
    expect(dialog).toHaveTextContent("Everything in the workspace is sealed first");
    expect(dialog).toHaveTextContent("the folder is removed and its disk space comes back: /w/task-1");
    expect(dialog).toHaveTextContent("The branch stays: freehold/fix-the-parser");
    expect(dialog).toHaveTextContent("the same files at the same path");
    if (action === "delete") expect(dialog).toHaveTextContent("Until December 30, 2026");
    else expect(dialog).not.toHaveTextContent(/trash/);
    await expectAccessible(dialog);
  });

  test("it names what exists nowhere else and is sealed, for each repository", async () => {
    const other = {
      kind: "ignored",
      worktree_path: "/w/task-1/pears",
      items: [".env"],
      total: 1,
      detail: "",
    };
    const { dialog } = await open(aReport({ sealed: [...STAKES, other] }));
    expect(await within(dialog).findByText("Exists nowhere else, and is sealed")).toBeVisible();
    for (const name of ["src/a.rs", "src/b.rs", "notes.md", "3f78685 Keep the line", "and 2 more", ".env"]) {
      expect(within(dialog).getByText(name)).toBeVisible();
    }
    for (const heading of [
      "2 uncommitted files",
      "3 untracked files",
      "1 commit found on no other branch",
      "1 precious ignored file",
    ]) {
      expect(within(dialog).getByRole("heading", { name: heading })).toBeVisible();
    }
    expect(within(dialog).getByText(PATH)).toBeVisible();
    expect(within(dialog).getByText("/w/task-1/pears")).toBeVisible();
    expect(dialog).not.toHaveTextContent("No seal holds this");
    await expectAccessible(dialog);
  });

  test("it says why commits that no branch has are no loss", async () => {
    const reason = "The branch freehold/a is found elsewhere. Its changes were merged: main has them.";
    const { dialog } = await open(aReport({ found_elsewhere: [reason] }));
    expect(await within(dialog).findByText(reason)).toBeVisible();
  });

  test("it names what no seal holds and says that it is not removed", async () => {
    const nested = {
      kind: "nested_repository",
      worktree_path: PATH,
      items: ["vendor/inner"],
      total: 1,
      detail: "",
    };
    const { dialog } = await open(aReport({ sealed: STAKES, stakes: [nested] }));
    expect(await within(dialog).findByText("No seal holds this")).toBeVisible();
    expect(within(dialog).getByText("vendor/inner")).toBeVisible();
    expect(dialog).toHaveTextContent("none of it is removed: the cleanup waits until you decide");
    expect(dialog).toHaveTextContent("The folder stays until you decide: /w/task-1");
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

  test("a notice offers to take it back", async () => {
    const { user, asked, confirmButton } = await open(aReport(), { [REOPEN]: aDetail() });
    await waitFor(() => expect(confirmButton).toBeEnabled());
    await user.click(confirmButton);
    const notices = within(await screen.findByRole("status"));
    const word = action === "archive" ? "archived" : "deleted";
    expect(await notices.findByText(`“Fix the parser” is ${word}.`)).toBeVisible();
    await user.click(notices.getByRole("button", { name: "Undo" }));
    expect(await notices.findByText("“Fix the parser” is back.")).toBeVisible();
    expect(asked).toContain(REOPEN);
  });

  test("an undo that is refused says why and leads to where it goes on", async () => {
    const message = "nothing can be restored at /w/task-1/orchard: a folder is there";
    const refusal = new Refusal(409, { code: "path_taken", message, hint: "", subject: PATH });
    const { user, confirmButton, page } = await open(aReport(), { [REOPEN]: refusal });
    await waitFor(() => expect(confirmButton).toBeEnabled());
    await user.click(confirmButton);
    const notices = within(await screen.findByRole("status"));
    await user.click(await notices.findByRole("button", { name: "Undo" }));
    expect(await notices.findByText(message)).toBeVisible();
    await user.click(notices.getByRole("button", { name: "Show" }));
    await waitFor(() => expect(page.path()).toBe(action === "archive" ? "/tasks/task-1" : "/trash"));
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

  test("sub-tasks stay open unless they are included", async () => {
    const sub_tasks = [{ id: "task-2", title: "Test the parser" }];
    const included = request.replace("sub_tasks=false", "sub_tasks=true");
    const report = aReport({ sub_tasks });
    const { dialog, user, asked, confirmButton } = await open(report, { [included]: { id: "job-1" } });
    expect(await within(dialog).findByText("Test the parser")).toBeVisible();
    expect(dialog).toHaveTextContent("They stay open and stand by themselves.");
    await expectAccessible(dialog);
    const word = action === "archive" ? "Archive" : "Delete";
    await user.click(within(dialog).getByRole("checkbox", { name: `${word} them too` }));
    expect(dialog).toHaveTextContent("Their workspaces are sealed and given back too.");
    await user.click(confirmButton);
    await waitFor(() => expect(asked).toContain(included));
  });

  test("a workspace that other tasks work in stays, and it says who owns it then", async () => {
    const borrowers = [{ id: "task-3", title: "Measure the parser" }];
    const { dialog } = await open(aReport({ borrowers, heir_id: "task-3" }));
    expect(await within(dialog).findByText(/From then on it belongs to “Measure the parser”/)).toBeVisible();
    expect(dialog).not.toHaveTextContent("its disk space comes back");
  });

  test("a checkout of a person stays as it is", async () => {
    const { dialog } = await open(aReport({ keeps_workspace: true }));
    expect(await within(dialog).findByText(/The workspace is your own/)).toBeVisible();
    expect(dialog).not.toHaveTextContent("its disk space comes back");
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

test("deleting an archived task says that its workspace was given back already", async () => {
  serve({ "GET /tasks/task-1/close-report?action=delete": aReport({ branches_kept: [] }) });
  const archived = aTask({ archived_at: "2026-11-30T10:00:00.000000Z" });
  await draw(<CloseTaskDialog task={archived} action="delete" onClose={() => undefined} />);
  const dialog = await screen.findByRole("alertdialog");
  expect(await within(dialog).findByText(/was given back when it was archived/)).toBeVisible();
  expect(dialog).not.toHaveTextContent("the folder is removed");
});
