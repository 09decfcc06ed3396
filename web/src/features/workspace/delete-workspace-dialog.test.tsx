import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import type { WorkspaceCloseReport } from "~/api/types";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { forgetToasts, Toasts } from "~/ui/toast";
import { WorkspacesSection } from "./workspaces-section";

const QUESTION = "GET /workspaces/ws-1/close-report";
const REQUEST = "DELETE /workspaces/ws-1?confirm=Old+orchard&seal=true";
const LIST = "GET /workspaces";
const WORKSPACES = [{ id: "ws-1", name: "Old orchard", workflows: [] }];
const REPORT: WorkspaceCloseReport = {
  name: "Old orchard",
  task_count: 3,
  live_sessions: 2,
  disk_bytes: 5_400_000,
  sealed: [{ kind: "untracked", worktree_path: "/w/task-1", items: ["notes.md"], total: 1, detail: "" }],
  stakes: [],
  restorable_until: "2026-12-30T10:00:00.000000Z",
};

describe.each(SURFACES)("deleting a workspace on the %s", (surface) => {
  beforeEach(() => {
    showOn(surface);
    forgetToasts();
  });

  async function open(answer: unknown = []) {
    const spaced = REQUEST.replace("+", "%20");
    const asked = serve({ [LIST]: WORKSPACES, [QUESTION]: REPORT, [REQUEST]: answer, [spaced]: answer });
    const user = userEvent.setup();
    await draw(<WorkspacesSection />, <Toasts />);
    await user.click(await screen.findByRole("button", { name: "Delete workspace Old orchard…" }));
    const dialog = await screen.findByRole("alertdialog");
    const confirm = within(dialog).getByRole("button", { name: "Delete workspace" });
    const field = within(dialog).getByLabelText("Type Old orchard to delete it");
    return { asked, user, dialog, confirm, field };
  }
  const deletions = (asked: string[]) => asked.filter((line) => line.startsWith("DELETE"));

  test("it says what goes, what is sealed, what comes back and until when", async () => {
    const { dialog } = await open();
    expect(await within(dialog).findByText("3 open tasks go to the trash.")).toBeVisible();
    expect(dialog).toHaveTextContent("2 running agents are stopped.");
    expect(dialog).toHaveTextContent("About 5.4 MB come back to the disk.");
    expect(dialog).toHaveTextContent("Until December 30, 2026");
    expect(within(dialog).getByText("notes.md")).toBeVisible();
    await expectAccessible(dialog);
  });

  test("keeping is the default and changes nothing", async () => {
    const { dialog, user, asked } = await open();
    await user.click(within(dialog).getByRole("button", { name: "Keep" }));
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(deletions(asked)).toEqual([]);
  });

  test("only the whole name, as it is written, lets it go, once", async () => {
    const { user, asked, confirm, field } = await open();
    await user.type(field, "old orchard{Enter}");
    expect(confirm).toBeDisabled();
    expect(deletions(asked)).toEqual([]);
    await user.clear(field);
    await user.type(field, "Old orchard");
    await waitFor(() => expect(confirm).toBeEnabled());
    await user.click(confirm);
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(deletions(asked)).toHaveLength(1);
    expect(await screen.findByText(/its tasks are in the trash/)).toBeVisible();
  });

  test("a refusal is shown and the dialog stays", async () => {
    const refusal = new Refusal(409, {
      code: "task_closing",
      message: "one is closing",
      hint: "",
      subject: "",
    });
    const { dialog, user, confirm, field } = await open(refusal);
    await user.type(field, "Old orchard");
    await waitFor(() => expect(confirm).toBeEnabled());
    await user.click(confirm);
    expect(await within(dialog).findByText("one is closing")).toBeVisible();
  });
});
