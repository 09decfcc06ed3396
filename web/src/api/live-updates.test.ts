import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { aMessage } from "~/test/nouns";
import { Renewal, staleKeys } from "./live-updates";
import { keys } from "./queries";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("each event makes stale what it changed and nothing else", () => {
  expect(staleKeys({ type: "repository_changed", repository_id: "r" })).toEqual([keys.repositories]);
  expect(staleKeys({ type: "task_changed", task_id: "t" })).toEqual([keys.tasks, keys.trash, keys.task("t")]);
  const ofCleanup = staleKeys({ type: "cleanup_job_changed", task_id: "t", job_id: "j" });
  for (const key of [keys.cleanupJobs, keys.trash, keys.seals("t")]) expect(ofCleanup).toContainEqual(key);
});

test("many events cause one reading of each thing", () => {
  const client = new QueryClient();
  const renewed = vi.spyOn(client, "invalidateQueries");
  const renewal = new Renewal(client);
  for (let count = 0; count < 100; count++) renewal.take({ type: "task_changed", task_id: "t" });
  vi.advanceTimersByTime(1_000);
  expect(renewed).toHaveBeenCalledTimes(3);
});

test("streamed text reads nothing, a tool call reads the changes", () => {
  const client = new QueryClient();
  const renewed = vi.spyOn(client, "invalidateQueries");
  const renewal = new Renewal(client);
  const ids = { task_id: "t", session_id: "s" };
  renewal.take({ type: "message_appended", ...ids, message_id: "m", offset: 0, text: "a" });
  vi.advanceTimersByTime(5_000);
  expect(renewed).not.toHaveBeenCalled();
  renewal.take({ type: "message_added", ...ids, message: aMessage(1, "Edit", { kind: "tool_call" }) });
  vi.advanceTimersByTime(5_000);
  expect(renewed.mock.calls.map(([filters]) => filters?.queryKey)).toContainEqual(keys.changes("t"));
});
