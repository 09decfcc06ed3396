import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import { aDetail, aReport } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { forgetToasts, Toasts } from "~/ui/toast";
import { TaskMenu } from "./task-menu";

const QUESTION = "GET /tasks/task-1/close-report?action=archive";
const REQUEST = "POST /tasks/task-1/reset";
const NOTES = {
  kind: "untracked",
  worktree_path: "/w/task-1/orchard",
  items: ["notes.md"],
  total: 1,
  detail: "",
};

describe.each(SURFACES)("resetting a workspace on the %s", (surface) => {
  beforeEach(() => {
    showOn(surface);
    forgetToasts();
  });

  async function open(report: unknown, answer: unknown = { id: "job-1" }) {
    let sent: unknown;
    const remember = (body: unknown) => {
      sent = JSON.parse(String(body));
      return answer;
    };
    const asked = serve({ [QUESTION]: report, [REQUEST]: remember });
    const user = userEvent.setup();
    await draw(<TaskMenu detail={aDetail()} />, <Toasts />);
    await user.click(await screen.findByRole("button", { name: "Task actions" }));
    await user.click(await screen.findByRole("menuitem", { name: "Reset workspace…" }));
    const dialog = await screen.findByRole("alertdialog");
    const confirm = within(dialog).getByRole("button", { name: "Reset workspace" });
    return { asked, user, dialog, confirm, sent: () => sent };
  }

  test("it says what is sealed, where that is found, what comes back and what is made anew", async () => {
    const { dialog } = await open(aReport({ live_sessions: 1, disk_bytes: 1_234_567, sealed: [NOTES] }));
    expect(await within(dialog).findByText("1 running agent is stopped.")).toBeVisible();
    expect(dialog).toHaveTextContent("Everything in the workspace is sealed first");
    expect(dialog).toHaveTextContent("About 1.2 MB come back to the disk.");
    expect(dialog).toHaveTextContent("you can make a new task of it");
    expect(dialog).toHaveTextContent("A fresh workspace is made, on a new branch");
    expect(dialog).toHaveTextContent("All conversations stay");
    expect(within(dialog).getByText("notes.md")).toBeVisible();
    await expectAccessible(dialog);
  });

  test("keeping is the default and changes nothing", async () => {
    const { dialog, user, asked } = await open(aReport());
    await waitFor(() => expect(within(dialog).getByRole("button", { name: "Keep" })).toHaveFocus());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked).toEqual([QUESTION]);
  });

  test("it is reset once, from the start that was chosen, with consent to the seal", async () => {
    const { dialog, user, asked, confirm, sent } = await open(aReport());
    await user.click(await within(dialog).findByLabelText("At what the base branch is now"));
    await user.click(confirm);
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked.filter((line) => line === REQUEST)).toHaveLength(1);
    expect(sent()).toEqual({ start: "base_branch", seal: true });
    expect(await screen.findByText(/is being reset/)).toBeVisible();
  });

  test("a checkout of a person and a refusal are said, and nothing is reset", async () => {
    const { dialog, confirm } = await open(aReport({ keeps_workspace: true }));
    expect(await within(dialog).findByText(/The workspace is your own/)).toBeVisible();
    expect(confirm).toBeDisabled();
  });

  test("a refusal is shown and the dialog stays", async () => {
    const refusal = new Refusal(409, {
      code: "task_closing",
      message: "it is closing",
      hint: "",
      subject: "",
    });
    const { dialog, user, confirm } = await open(aReport(), refusal);
    await waitFor(() => expect(confirm).toBeEnabled());
    await user.click(confirm);
    expect(await within(dialog).findByText("it is closing")).toBeVisible();
  });
});
