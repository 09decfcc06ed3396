import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import { anUnownedPlace, aQuarantineEntry, aStorage, aTaskStorage } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { StorageScreen } from "./storage-screen";

const MOVE = "POST /storage/quarantine";
const RESTORE = "POST /storage/quarantine/entry-1/restore";

describe.each(SURFACES)("storage on the %s", (surface) => {
  beforeEach(() => showOn(surface));

  async function open(more: Record<string, unknown> = {}) {
    const asked = serve({
      "GET /storage": aStorage(),
      "GET /storage/unowned": [],
      "GET /storage/quarantine": [],
      "GET /cleanup-jobs": [],
      ...more,
    });
    const page = await draw(<StorageScreen />);
    await screen.findByRole("list", { name: "Tasks" });
    return { asked, page, user: userEvent.setup() };
  }

  test("what takes room is told by repository and task, and as areas where there is space", async () => {
    const { page } = await open();
    const tasks = within(screen.getByRole("list", { name: "Tasks" }));
    expect(tasks.getByRole("link", { name: "Fix the parser" })).toBeVisible();
    expect(tasks.getByRole("listitem")).toHaveTextContent("2 MB");
    expect(tasks.getByRole("listitem")).toHaveTextContent("1.2 MB sealed");
    expect(tasks.getByRole("listitem")).toHaveTextContent("output of 2 script runs, 4 kB");
    expect(screen.getByRole("list", { name: "Repositories" })).toHaveTextContent("orchard1 worktree, 2 MB");
    expect(document.querySelector("[data-treemap]") !== null).toBe(surface === "desktop");
    expect(page.path()).toBe("/here");
    await expectAccessible();
  });

  test("what is not measured and what is elsewhere say so", async () => {
    const workspace = { ...aTaskStorage().workspace, measured_at: null, unmeasured: 1, size_bytes: 0 };
    await open({ "GET /storage": aStorage({ tasks: [aTaskStorage({ workspace, hostname: "garden" })] }) });
    const task = within(screen.getByRole("list", { name: "Tasks" })).getByRole("listitem");
    expect(task).toHaveTextContent("not measured yet");
    expect(task).toHaveTextContent("on garden");
  });

  test("measuring is asked for and told while it goes on", async () => {
    const measuring = aStorage({ is_measuring: true });
    const { user, asked } = await open({ "POST /storage/measure": measuring });
    await user.click(screen.getByRole("button", { name: "Measure now" }));
    expect(await screen.findByRole("button", { name: "Measuring…" })).toBeDisabled();
    expect(asked).toContain("POST /storage/measure");
  });

  test("a place of unknown owner is moved only after its name was typed", async () => {
    const sent: unknown[] = [];
    const { user } = await open({
      "GET /storage/unowned": [anUnownedPlace()],
      [MOVE]: (body: unknown) => {
        sent.push(JSON.parse(String(body)));
        return aQuarantineEntry({ state: "moving" });
      },
    });
    const article = await screen.findByRole("article");
    expect(article).toHaveTextContent("Owner unknown: another Freehold may be working there.");
    expect(article).toHaveTextContent("Nothing in this database names it.");
    expect(article).toHaveTextContent("3 MB");
    await expectAccessible();
    await user.click(within(article).getByRole("button", { name: "Move to quarantine…" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Move this to quarantine?" });
    const confirm = within(dialog).getByRole("button", { name: "Move to quarantine" });
    expect(confirm).toBeDisabled();
    await expectAccessible(dialog);
    await user.type(within(dialog).getByRole("textbox"), "orchard");
    await user.click(confirm);
    await waitFor(() => expect(sent).toEqual([{ path: "/w/lost/orchard", confirm: "orchard" }]));
  });

  test("a refusal names what stands in the way, and what cannot be moved offers nothing", async () => {
    const stakes = [
      { kind: "in_use", worktree_path: "/w/lost/orchard", items: ["12 vim"], total: 1, detail: "Programs." },
    ];
    const refusal = new Refusal(409, {
      code: "at_stake",
      message: "it is not moved",
      hint: "",
      subject: "",
      stakes,
    });
    const known = anUnownedPlace({ reason: "given_back", is_owner_unknown: false });
    const link = anUnownedPlace({ path: "/w/link", kind: "file", refusal: "a symbolic link is there" });
    const { user } = await open({ "GET /storage/unowned": [known, link], [MOVE]: refusal });
    const [first, second] = await screen.findAllByRole("article");
    expect(second).toHaveTextContent("It stays as it is: a symbolic link is there.");
    expect(within(second as HTMLElement).queryByRole("button")).toBeNull();
    await user.click(within(first as HTMLElement).getByRole("button", { name: "Move to quarantine…" }));
    const dialog = await screen.findByRole("alertdialog");
    await user.click(within(dialog).getByRole("button", { name: "Move to quarantine" }));
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("it is not moved");
    expect(dialog).toHaveTextContent("Programs still work inside");
  });

  test("what is in quarantine is restored, elsewhere where its place was taken", async () => {
    const taken = new Refusal(409, {
      code: "path_taken",
      message: "something is there",
      hint: "restore it elsewhere",
      subject: "/w/lost/orchard",
    });
    const answers: unknown[] = [taken, aQuarantineEntry({ state: "restored", restore_path: "/rescued" })];
    const sent: unknown[] = [];
    const { user } = await open({
      "GET /storage/quarantine": [aQuarantineEntry()],
      [RESTORE]: (body: unknown) => {
        sent.push(JSON.parse(String(body)));
        return answers.shift();
      },
    });
    const article = await screen.findByRole("article");
    expect(article).toHaveTextContent("by ada");
    expect(article).toHaveTextContent("goes for good");
    await user.click(within(article).getByRole("button", { name: "Restore" }));
    expect(await within(article).findByRole("alert")).toHaveTextContent("something is there");
    await user.type(within(article).getByRole("textbox", { name: /Another place/ }), "/rescued");
    await user.click(within(article).getByRole("button", { name: "Restore" }));
    await waitFor(() => expect(sent).toEqual([{ path: null }, { path: "/rescued" }]));
    await expectAccessible();
  });

  test("deleting from quarantine for good asks first", async () => {
    const { user, asked } = await open({
      "GET /storage/quarantine": [aQuarantineEntry()],
      "DELETE /storage/quarantine/entry-1": { id: "job-2" },
    });
    await user.click(await screen.findByRole("button", { name: "Delete for good…" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Delete this for good?" });
    await expectAccessible(dialog);
    await user.click(within(dialog).getByRole("button", { name: "Delete for good" }));
    await waitFor(() => expect(asked).toContain("DELETE /storage/quarantine/entry-1"));
  });
});
