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
