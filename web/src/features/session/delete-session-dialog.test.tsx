import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { TaskFacts } from "~/features/task/task-facts";
import { aDetail, aSession } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, type Surface, showOn } from "~/test/surface";
import { SessionArea } from "./session-area";

const FIRST = aSession();
const SECOND = aSession({
  id: "session-2",
  name: "Session 2",
  is_primary: false,
  updated_at: "2026-11-30T11:00:00.000000Z",
});
const PAGE = { items: [], has_older: false, last_event: 1 };
const GONE = { session_id: FIRST.id, primary_session_id: null, workspace_path: "/w/task-1" };
const ANSWERS = {
  "GET /agents": [],
  "GET /sessions/session-1/messages": PAGE,
  "GET /sessions/session-2/messages": PAGE,
  "GET /tasks/task-1": aDetail({ sessions: [] }),
  "DELETE /sessions/session-1": GONE,
};

/** Opens the dialog the way a person does: a menu at the tab, or the sheet of the sessions section. */
async function openDialog(surface: Surface, sessions = [FIRST]) {
  const user = userEvent.setup();
  const detail = aDetail({ sessions });
  const onSession = vi.fn();
  const view =
    surface === "desktop" ? (
      <SessionArea detail={detail} sessionId={FIRST.id} onSession={onSession} />
    ) : (
      <TaskFacts detail={detail} onSession={onSession} />
    );
  await draw(view);
  await user.click(await screen.findByRole("button", { name: "Actions for Session 1" }));
  const action = surface === "desktop" ? "menuitem" : "button";
  await user.click(await screen.findByRole(action, { name: "Delete conversation…" }));
  const dialog = await screen.findByRole("alertdialog");
  return { user, dialog, onSession };
}

describe.each(SURFACES)("on the %s", (surface) => {
  beforeEach(() => showOn(surface));

  test("it says what is deleted and what is kept, and asks the server nothing", async () => {
    const asked = serve(ANSWERS);
    const { dialog } = await openDialog(surface);
    expect(dialog).toHaveAccessibleName("Delete this conversation?");
    expect(dialog).toHaveTextContent("The conversation history of “Session 1” is deleted for good.");
    expect(dialog).toHaveTextContent(
      "The task workspace and its files are kept; a later session can use them.",
    );
    expect(dialog).not.toHaveTextContent(/uncommitted|untracked|unpushed/i);
    expect(asked.filter((line) => !line.startsWith("GET /agents") && !line.includes("/messages"))).toEqual(
      [],
    );
    await expectAccessible(dialog);
  });

  test("it names the session that takes over", async () => {
    serve(ANSWERS);
    const { dialog } = await openDialog(surface, [FIRST, SECOND]);
    expect(dialog).toHaveTextContent("It is the primary session; “Session 2” takes over.");
  });

  test("the last session can be deleted too, and the dialog says that none takes over", async () => {
    const asked = serve(ANSWERS);
    const { dialog, user } = await openDialog(surface);
    expect(dialog).toHaveTextContent("the task has no session left");
    await user.click(within(dialog).getByRole("button", { name: "Delete conversation" }));
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked.filter((line) => line.startsWith("DELETE"))).toEqual(["DELETE /sessions/session-1"]);
  });

  test("the way out has the focus and changes nothing", async () => {
    const asked = serve(ANSWERS);
    const { dialog, user } = await openDialog(surface);
    await waitFor(() => expect(within(dialog).getByRole("button", { name: "Keep" })).toHaveFocus());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked.some((line) => line.startsWith("DELETE"))).toBe(false);
  });

  test("a refusal is shown and the dialog stays", async () => {
    const refusal = new Refusal(409, {
      code: "session_busy",
      message: "the session is starting",
      hint: "",
      subject: "",
    });
    serve({ ...ANSWERS, "DELETE /sessions/session-1": refusal });
    const { dialog, user } = await openDialog(surface);
    await user.click(within(dialog).getByRole("button", { name: "Delete conversation" }));
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("the session is starting");
  });
});

test("both surfaces use the same words", async () => {
  const words: string[] = [];
  for (const surface of SURFACES) {
    showOn(surface);
    serve(ANSWERS);
    const { dialog, user } = await openDialog(surface, [FIRST, SECOND]);
    words.push(dialog.textContent ?? "");
    await user.keyboard("{Escape}");
    document.body.innerHTML = "";
  }
  expect(words[0]).toBe(words[1]);
  expect(words[0]).not.toBe("");
});
