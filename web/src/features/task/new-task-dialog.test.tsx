import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { aDetail } from "~/test/nouns";
import { draw, expectAccessible, Refusal, serve } from "~/test/page";
import { SURFACES, showOn } from "~/test/surface";
import { NewTaskDialog } from "./new-task-dialog";

const REPOSITORIES = ["orchard", "billing"].map((name) => ({
  id: `repository-${name}`,
  workspace_id: "ws",
  name,
  local_path: `/home/me/${name}`,
  default_branch: "main",
  branch_prefix: "freehold/",
  created_at: "",
}));
const BRANCHES = [
  { name: "develop", is_remote: false, commit: "1", is_default: false },
  { name: "main", is_remote: false, commit: "2", is_default: true },
  { name: "origin/release", is_remote: true, commit: "3", is_default: false },
];
const AGENTS = [{ id: "demo", kind: "demo", name: "Demo agent", command: "", args: [], env_names: [] }];

function serveDialog(create: unknown = aDetail()) {
  const sent: unknown[] = [];
  serve({
    "GET /repositories": REPOSITORIES,
    "GET /agents": AGENTS,
    "GET /repositories/repository-orchard/branches": BRANCHES,
    "GET /repositories/repository-billing/branches": BRANCHES,
    "POST /tasks": (body: unknown) => {
      sent.push(JSON.parse(String(body)));
      return create;
    },
  });
  return sent;
}

beforeEach(() => localStorage.clear());

describe.each(SURFACES)("on the %s", (surface) => {
  beforeEach(() => showOn(surface));

  test("the prompt comes first and is enough", async () => {
    const sent = serveDialog();
    const onClose = vi.fn();
    const { path } = await draw(<NewTaskDialog onClose={onClose} />);
    const prompt = await screen.findByLabelText("What should the agent do?");
    expect(prompt).toHaveFocus();
    await userEvent.type(prompt, "Fix the parser");
    await screen.findByRole("option", { name: "main" });
    await expectAccessible(screen.getByRole("dialog"));
    await userEvent.click(screen.getByRole("button", { name: "Create task" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([
      {
        prompt: "Fix the parser",
        repositories: [{ repository_id: "repository-orchard", base_branch: "main" }],
        agent_profile_id: "demo",
        start: true,
      },
    ]);
    await waitFor(() => expect(path()).toBe("/tasks/task-1"));
  });
});

test("without a prompt and a title nothing is sent", async () => {
  const sent = serveDialog();
  await draw(<NewTaskDialog onClose={() => undefined} />);
  await screen.findByLabelText("What should the agent do?");
  await userEvent.click(screen.getByRole("button", { name: "Create task" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("Write a prompt or a title.");
  expect(sent).toEqual([]);
});

test("the choices made last are offered again", async () => {
  serveDialog();
  const first = await draw(<NewTaskDialog onClose={() => undefined} />);
  await userEvent.type(await screen.findByLabelText("What should the agent do?"), "One");
  await userEvent.selectOptions(screen.getByLabelText("Repository"), "billing");
  await screen.findByRole("option", { name: "develop" });
  await userEvent.selectOptions(screen.getByLabelText("Base branch"), "develop");
  await userEvent.click(screen.getByLabelText("Start now"));
  await userEvent.click(screen.getByRole("button", { name: "Create task" }));
  first.unmount();

  await draw(<NewTaskDialog onClose={() => undefined} />);
  await screen.findByRole("option", { name: "develop" });
  expect(screen.getByLabelText("Repository")).toHaveDisplayValue("billing");
  expect(screen.getByLabelText("Base branch")).toHaveDisplayValue("develop");
  expect(screen.getByLabelText("Start now")).not.toBeChecked();
});

test("a refusal keeps what was written", async () => {
  serveDialog(
    new Refusal(400, { code: "invalid_git_input", message: "main is no branch", hint: "", subject: "main" }),
  );
  await draw(<NewTaskDialog onClose={() => undefined} />);
  const prompt = await screen.findByLabelText("What should the agent do?");
  await userEvent.type(prompt, "Fix the parser");
  await userEvent.click(screen.getByRole("button", { name: "Create task" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("main is no branch");
  expect(prompt).toHaveValue("Fix the parser");
});

describe("where it works", () => {
  async function fill(where: string, rest: () => Promise<unknown>) {
    const sent = serveDialog();
    const onClose = vi.fn();
    await draw(<NewTaskDialog onClose={onClose} />);
    await userEvent.type(await screen.findByLabelText("What should the agent do?"), "Fix it");
    await screen.findByRole("option", { name: "origin/release" });
    await userEvent.selectOptions(screen.getByLabelText("Where it works"), where);
    await expectAccessible(screen.getByRole("dialog"));
    await rest();
    await userEvent.click(screen.getByRole("button", { name: "Create task" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    return sent[0];
  }
  const type = (label: string, text: string) => userEvent.type(screen.getByLabelText(label), text);
  const on = { repository_id: "repository-orchard" };

  test.each([
    [
      "New branch from a tag or commit",
      async () => {
        await type("Tag or commit", "v1.4.0");
        await type("Name of the new branch", "fix/parser");
      },
      { repositories: [{ ...on, base_branch: "v1.4.0", new_branch: "fix/parser" }] },
    ],
    [
      "Branch that exists",
      () => userEvent.selectOptions(screen.getByLabelText("Branch"), "develop"),
      { repositories: [{ ...on, checkout_branch: "develop" }] },
    ],
    [
      "Pull request or other ref",
      () => type("Ref of the remote", "pull/42/head"),
      { repositories: [{ ...on, fetch_ref: "pull/42/head" }] },
    ],
    ["Main checkout", async () => undefined, { workspace_kind: "in_place", repositories: [on] }],
    [
      "Worktree that you made",
      () => type("Folder of the worktree", "/home/me/fix"),
      { workspace_kind: "adopted", repositories: [{ ...on, adopt_path: "/home/me/fix" }] },
    ],
    [
      "Folder without a repository",
      async () => expect(screen.queryByLabelText("Repository")).toBeNull(),
      { workspace_kind: "scratch", repositories: [] },
    ],
    [
      "New branch from a base branch",
      async () => {
        await userEvent.selectOptions(screen.getByLabelText("Base branch"), "origin/release");
        await userEvent.click(screen.getByLabelText("Ask the remote first where it is now"));
      },
      { repositories: [{ ...on, base_branch: "origin/release", refresh: true }] },
    ],
  ])("%s", async (where, rest, expected) => {
    expect(await fill(where, rest)).toEqual({
      prompt: "Fix it",
      agent_profile_id: "demo",
      start: true,
      ...expected,
    });
  });

  test("what a choice needs is asked for before anything is sent", async () => {
    const sent = serveDialog();
    await draw(<NewTaskDialog onClose={() => undefined} />);
    await userEvent.type(await screen.findByLabelText("What should the agent do?"), "Fix it");
    await userEvent.selectOptions(screen.getByLabelText("Where it works"), "Pull request or other ref");
    await userEvent.click(screen.getByRole("button", { name: "Create task" }));
    expect(screen.getByRole("alert")).toHaveTextContent("This cannot be empty.");
    expect(sent).toEqual([]);
  });

  test("a branch that is in use is answered with the ways that are free", async () => {
    const offer = {
      base_branch: "develop",
      new_branch: "develop-2",
      adopt_path: "/home/me/wt",
      in_place: false,
      task_id: "task-7",
    };
    const sent = serveDialog(
      new Refusal(409, { code: "branch_in_use", message: "develop is checked out", offer }),
    );
    const { path } = await draw(<NewTaskDialog onClose={() => undefined} />);
    await userEvent.type(await screen.findByLabelText("What should the agent do?"), "Fix it");
    await userEvent.selectOptions(screen.getByLabelText("Where it works"), "Branch that exists");
    await screen.findAllByRole("option", { name: "develop" });
    await userEvent.selectOptions(screen.getByLabelText("Branch"), "develop");
    await userEvent.click(screen.getByRole("button", { name: "Create task" }));
    await userEvent.click(await screen.findByRole("button", { name: "New branch develop-2" }));
    expect(screen.getByLabelText("Name of the new branch")).toHaveValue("develop-2");
    await userEvent.click(screen.getByRole("button", { name: "Create task" }));
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(sent[1]).toMatchObject({
      repositories: [{ ...on, base_branch: "develop", new_branch: "develop-2" }],
    });
    expect(screen.queryByRole("button", { name: "Work in the main checkout" })).toBeNull();
    await userEvent.click(await screen.findByRole("button", { name: "Open the task that uses it" }));
    await waitFor(() => expect(path()).toBe("/tasks/task-7"));
  });
});
