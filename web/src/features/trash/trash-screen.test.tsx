import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
import { aSeal, aTask, aTrashedTask, sealedChanges } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { TrashScreen } from "./trash-screen";

const PURGE = "DELETE /trash/task-1";
const PATCH = "@@ -1,1 +1,2 @@\n one\n+two\n";

describe.each(SURFACES)("the trash on the %s", (surface) => {
  beforeEach(() => showOn(surface));

  async function open(more: Record<string, unknown> = {}, entry = aTrashedTask()) {
    const asked = serve({ "GET /trash": [entry], ...more });
    await draw(<TrashScreen />);
    return { asked, user: userEvent.setup(), article: await screen.findByRole("article") };
  }

  test("a deleted task tells its size, its age and when it goes", async () => {
    const { article } = await open();
    expect(within(article).getByRole("heading", { name: "Fix the parser" })).toBeVisible();
    expect(article).toHaveTextContent("orchard");
    expect(article).toHaveTextContent("1.2 MB");
    expect(article).toHaveTextContent(/deleted .*ago/);
    expect(article).toHaveTextContent("December 30, 2126");
    await expectAccessible();
  });

  test("the preview shows the changed files, their differences and what was left out", async () => {
    const left_out = [{ path: "node_modules", size_bytes: 5_000, reason: "disposable" }];
    const { article, user } = await open({
      "GET /tasks/task-1/seals": [sealedChanges({ left_out })],
      "GET /seals/seal-1/diff?path=src%2Fa.rs": {
        path: "src/a.rs",
        patch: PATCH,
        binary: false,
        too_large: false,
      },
    });
    const preview = within(article).getByRole("button", { name: "Show what is in it" });
    await user.click(preview);
    expect(preview).toHaveAttribute("aria-expanded", "true");
    await user.click(await within(article).findByRole("button", { name: /src\/a\.rs|a\.rs/ }));
    expect(await within(article).findByText("two")).toBeVisible();
    await user.click(within(article).getByText("1 place is not in the seal"));
    expect(within(article).getByText("node_modules")).toBeVisible();
    expect(within(article).getByText("a tool can make it again")).toBeVisible();
    await expectAccessible();
  });

  test("only what comes back is open; earlier seals and those of failed starts are folded", async () => {
    const seals = [
      sealedChanges({ id: "seal-1", worktree_path: "/w/earlier/orchard" }, "old.rs"),
      sealedChanges({ id: "seal-2", created_at: "2026-12-01T10:00:00.000000Z" }, "new.rs"),
      sealedChanges(
        { id: "seal-3", environment_repo_id: null, created_at: "2026-12-02T10:00:00.000000Z" },
        "failed.rs",
      ),
    ];
    const { article, user } = await open({ "GET /tasks/task-1/seals": seals });
    await user.click(within(article).getByRole("button", { name: "Show what is in it" }));
    const summary = await within(article).findByText("2 other seals, earlier or of failed starts");
    const folded = summary.closest("details") as HTMLElement;
    expect(folded).not.toHaveAttribute("open");
    expect(within(folded).getByText("old.rs")).toBeInTheDocument();
    expect(within(folded).getByText("failed.rs")).toBeInTheDocument();
    expect(within(article).getByText("new.rs").closest("details")).toBeNull();
  });

  test("a seal that cannot be read says why", async () => {
    const broken = { seal: aSeal(), files: [], error_message: "the repository is gone" };
    const { article, user } = await open({ "GET /tasks/task-1/seals": [broken] });
    await user.click(within(article).getByRole("button", { name: "Show what is in it" }));
    expect(await within(article).findByRole("alert")).toHaveTextContent("the repository is gone");
  });

  test("deleting for good asks, names the task, and keeps by default", async () => {
    const { article, user, asked } = await open();
    await user.click(within(article).getByRole("button", { name: "Delete for good…" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Delete “Fix the parser” for good?" });
    expect(dialog).toHaveTextContent("1 sealed workspace with all its files goes (1.2 MB).");
    expect(dialog).toHaveTextContent("Nothing can bring them back afterwards.");
    await expectAccessible(dialog);
    await waitFor(() =>
      expect(within(dialog).getByRole("button", { name: "Keep in the trash" })).toHaveFocus(),
    );
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked).toEqual(["GET /trash"]);
  });

  test("a confirmed deletion is sent once, and a refusal is shown in the dialog", async () => {
    const refusal = new Refusal(409, {
      code: "task_closing",
      message: "the task is being closed",
      hint: "",
      subject: "task-1",
    });
    const answers: unknown[] = [refusal, { id: "job-2" }];
    const { article, user, asked } = await open({ [PURGE]: () => answers.shift() });
    await user.click(within(article).getByRole("button", { name: "Delete for good…" }));
    const dialog = await screen.findByRole("alertdialog");
    const confirm = within(dialog).getByRole("button", { name: "Delete for good" });
    await user.click(confirm);
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("the task is being closed");
    await user.click(confirm);
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(asked.filter((line) => line === PURGE)).toHaveLength(2);
  });

  test("while it is being deleted for good it cannot be deleted again", async () => {
    const task = aTask({ deleted_at: "2026-11-30T10:00:00.000000Z", cleanup_state: "running" });
    const { article } = await open({}, aTrashedTask({ task }));
    expect(within(article).getByRole("button", { name: "Delete for good…" })).toBeDisabled();
  });

  test("a task without a workspace says that only its conversations are here", async () => {
    const { article } = await open({}, aTrashedTask({ seals: [], size_bytes: 0 }));
    expect(article).toHaveTextContent("conversations only");
  });
});

test("an empty trash says so", async () => {
  serve({ "GET /trash": [] });
  await draw(<TrashScreen />);
  expect(await screen.findByRole("heading", { name: "The trash is empty" })).toBeVisible();
});
