import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Message } from "~/api/types";
import { aMessage, aSession } from "~/test/nouns";
import { draw, expectAccessible, serve } from "~/test/page";
import { MessageView } from "./message-view";

async function show(message: Message) {
  const view = await draw(<MessageView message={message} sessionId="session-1" taskId="task-1" />);
  await screen.findByRole("main");
  return view.container;
}

test("an agent's Markdown brings in no HTML, no script and no picture from elsewhere", async () => {
  const text = [
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "[click](javascript:alert(1)) [data](data:text/html,x)",
    "![photo](https://example.org/track.png)",
    "**bold**",
  ].join("\n\n");
  const view = await show(aMessage(1, text));
  expect(view.querySelector("img, script, iframe")).toBeNull();
  const links = [...view.querySelectorAll("a")].map((link) => link.getAttribute("href") ?? "");
  expect(links.filter((href) => /^(javascript|data):/.test(href))).toEqual([]);
  expect(view.querySelector("strong")).toHaveTextContent("bold");
});

test("what a person wrote is shown as it was written", async () => {
  const view = await show(aMessage(1, "**not bold** <b>", { author: "user" }));
  expect(view).toHaveTextContent("**not bold** <b>");
});

test("thinking is folded", async () => {
  await show(aMessage(1, "I wonder", { kind: "thinking" }));
  expect(screen.getByText("I wonder")).not.toBeVisible();
  await userEvent.click(screen.getByText("Thinking"));
  expect(screen.getByText("I wonder")).toBeVisible();
});

test("a tool call shows its edits when it is opened", async () => {
  const metadata = {
    tool_call_id: "1",
    tool_kind: "edit",
    status: "completed",
    diffs: [{ path: "/w/a.txt", old_text: "one\n", new_text: "two\n" }],
  };
  await show(aMessage(1, "Edit a.txt", { kind: "tool_call", metadata }));
  await userEvent.click(screen.getByText("Edit a.txt"));
  expect(await screen.findByText("/w/a.txt")).toBeVisible();
  expect(await screen.findByRole("table")).toHaveTextContent("one");
  await expectAccessible();
});

const OPTIONS = [
  { option_id: "yes", name: "Allow once", kind: "allow_once" },
  { option_id: "no", name: "Reject", kind: "reject_once" },
];

test("a permission request sends the option that was chosen", async () => {
  const sent: unknown[] = [];
  serve({
    "POST /sessions/session-1/permissions/request-1": (body: unknown) => {
      sent.push(JSON.parse(String(body)));
      return aSession();
    },
  });
  const metadata = {
    request_id: "request-1",
    tool_call_id: "",
    options: OPTIONS,
    status: "pending",
    chosen: null,
  };
  await show(aMessage(1, "Run cargo test", { kind: "permission_request", metadata }));
  await expectAccessible();
  await userEvent.click(screen.getByRole("button", { name: "Reject" }));
  expect(sent).toEqual([{ option_id: "no" }]);
});

test("an answered request says what was chosen and can not be answered again", async () => {
  const metadata = { request_id: "1", tool_call_id: "", options: OPTIONS, status: "answered", chosen: "yes" };
  const view = await show(aMessage(1, "Run cargo test", { kind: "permission_request", metadata }));
  expect(view).toHaveTextContent("Run cargo test — Allow once");
  expect(screen.queryByRole("button")).toBeNull();
});
