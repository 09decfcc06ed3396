import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import { aDetail, aTask, sealedChanges } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { BringBackDialog } from "./bring-back-dialog";

const REOPEN = "POST /tasks/task-1/reopen";
const SEALS = "GET /tasks/task-1/seals";
const ARCHIVED = aTask({ archived_at: "2026-11-30T10:00:00.000000Z" });

function refusal(code: string, message: string, status = 409): Refusal {
  return new Refusal(status, { code, message, hint: "", subject: "" });
}

describe.each(SURFACES)("bringing a task back on the %s", (surface) => {
  beforeEach(() => showOn(surface));

  /** Answers the attempts in order; returns what was chosen in each. */
  async function open(answers: unknown[], seals: unknown = [sealedChanges()]) {
    const sent: unknown[] = [];
    serve({
      [SEALS]: seals,
      [REOPEN]: (body: unknown) => {
        const { sub_tasks, ...choices } = JSON.parse(String(body));
        expect(sub_tasks).toBe(true);
        sent.push(choices);
        return answers.shift();
      },
    });
    const page = await draw(<BringBackDialog task={ARCHIVED} onClose={() => undefined} />);
    const dialog = await screen.findByRole("dialog", { name: "Bring “Fix the parser” back?" });
    const submit = within(dialog).getByRole("button", { name: "Bring back" });
    return { dialog, submit, sent, page, user: userEvent.setup() };
  }

  test("it says what comes back where, and opens the task", async () => {
    const { dialog, submit, sent, page, user } = await open([aDetail()]);
    expect(await within(dialog).findByText("/w/task-1/orchard")).toBeVisible();
    expect(dialog).toHaveTextContent("3 files come back, byte for byte, to /w/task-1/orchard");
    expect(dialog).toHaveTextContent("The same branch is checked out: freehold/fix-the-parser");
    expect(within(dialog).queryByRole("radio")).toBeNull();
    await expectAccessible(dialog);
    await user.click(submit);
    await waitFor(() => expect(page.path()).toBe("/tasks/task-1"));
    expect(sent).toEqual([{ place: "same", branch: "sealed" }]);
  });

  test("a place that was taken is left alone and another is offered", async () => {
    const message = "nothing can be restored at /w/task-1/orchard: a folder is there";
    const { dialog, submit, sent, user } = await open([refusal("path_taken", message), aDetail()]);
    await user.click(submit);
    expect(await within(dialog).findByRole("alert")).toHaveTextContent(message);
    expect(within(dialog).getByRole("radio", { name: "Into a new folder" })).toBeChecked();
    expect(dialog).toHaveTextContent("Nothing that came in between is overwritten.");
    expect(dialog).toHaveTextContent("in a new folder instead of /w/task-1/orchard");
    await expectAccessible(dialog);
    await user.click(submit);
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(sent[1]).toEqual({ place: "elsewhere", branch: "sealed" });
  });

  test.each(["branch_moved", "branch_in_use", "branch_taken"])(
    "after %s another branch is offered",
    async (code) => {
      const { dialog, submit, sent, user } = await open([refusal(code, "the branch is not free"), aDetail()]);
      await user.click(submit);
      expect(
        await within(dialog).findByRole("radio", { name: "A new branch at the sealed commit" }),
      ).toBeChecked();
      await user.click(within(dialog).getByRole("radio", { name: "The sealed commit, without a branch" }));
      await user.click(submit);
      await waitFor(() => expect(sent).toHaveLength(2));
      expect(sent[1]).toEqual({ place: "same", branch: "detached" });
    },
  );

  test("a place and a branch that were both taken are chosen together", async () => {
    const answers = [refusal("path_taken", "a folder"), refusal("branch_moved", "moved"), aDetail()];
    const { dialog, submit, sent, user } = await open(answers);
    await user.click(submit);
    await within(dialog).findByText("a folder");
    await user.click(submit);
    await within(dialog).findByText("moved");
    expect(within(dialog).getByRole("radio", { name: "Into a new folder" })).toBeChecked();
    await user.click(submit);
    await waitFor(() => expect(sent).toHaveLength(3));
    expect(sent[2]).toEqual({ place: "elsewhere", branch: "new" });
  });

  test("any other refusal is shown and offers no choice that does not help", async () => {
    const { dialog, submit, user } = await open([refusal("seal_failed", "the seal cannot be read", 503)]);
    await user.click(submit);
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("the seal cannot be read");
    expect(within(dialog).queryByRole("radio")).toBeNull();
    expect(submit).toBeEnabled();
  });

  test("a task that is back without all of its parts is opened", async () => {
    const message = "task task-1 is back, but these of its parts stay closed: task-2";
    const { submit, page, user } = await open([refusal("parts_stay_closed", message)]);
    await user.click(submit);
    await waitFor(() => expect(page.path()).toBe("/tasks/task-1"));
  });

  test("without a seal it says that no file comes back", async () => {
    const { dialog } = await open([], []);
    expect(await within(dialog).findByText("No seal of it exists, so no file comes back.")).toBeVisible();
  });
});
