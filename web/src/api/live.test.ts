import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveConnection, type LiveSocket, type LiveState } from "./live";
import type { LiveEvent, LiveFrame } from "./types";

class FakeSocket implements LiveSocket {
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  sent: { token: string; since?: number }[] = [];
  closed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.closed = true;
  }

  receive(frame: LiveFrame): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  event(seq: number): void {
    this.receive({ frame: "event", seq, at: "", event: { type: "task_changed", task_id: `task-${seq}` } });
  }
}

let sockets: FakeSocket[];
let seen: number[];
let resets: number[];
let states: LiveState[];
let connection: LiveConnection;

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  seen = [];
  resets = [];
  states = [];
  connection = new LiveConnection({
    token: "secret",
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    onEvent: (event: LiveEvent) => seen.push(event.seq),
    onReset: (newest) => resets.push(newest),
    onState: (state) => states.push(state),
  });
});

afterEach(() => {
  connection.stop();
  vi.useRealTimers();
});

function current(): FakeSocket {
  return sockets.at(-1) as FakeSocket;
}

function startAt(since: number): void {
  connection.start();
  current().onopen?.();
  current().receive({ frame: "ready", since, newest: since });
}

function lose(): void {
  current().onclose?.();
  vi.advanceTimersByTime(30_000);
  current().onopen?.();
}

test("the first hello asks for the present and the page is loaded from there", () => {
  startAt(7);
  expect(current().sent).toEqual([{ token: "secret" }]);
  expect(resets).toEqual([7]);
  expect(states).toEqual(["connecting", "live"]);
});

test("events are handed on once and in order", () => {
  startAt(7);
  for (const seq of [8, 9, 9, 8, 10]) current().event(seq);
  expect(seen).toEqual([8, 9, 10]);
});

test("a new connection goes on after the last event and repeats are dropped", () => {
  startAt(7);
  current().event(8);
  lose();
  expect(current().sent).toEqual([{ token: "secret", since: 8 }]);
  current().receive({ frame: "ready", since: 8, newest: 10 });
  for (const seq of [8, 9, 10]) current().event(seq);
  expect(seen).toEqual([8, 9, 10]);
  expect(resets).toEqual([7]);
});

test("a hole in the numbers is never skipped: the connection is made anew from before it", () => {
  startAt(7);
  const broken = current();
  broken.event(8);
  broken.event(10);
  expect(seen).toEqual([8]);
  expect(broken.closed).toBe(true);
  broken.event(11);
  vi.advanceTimersByTime(1_000);
  current().onopen?.();
  expect(current().sent).toEqual([{ token: "secret", since: 8 }]);
  for (const seq of [9, 10, 11]) current().event(seq);
  expect(seen).toEqual([8, 9, 10, 11]);
});

test("a reset loads everything anew and goes on from the newest event", () => {
  startAt(7);
  current().event(8);
  lose();
  current().receive({ frame: "reset", newest: 500 });
  current().event(501);
  expect(resets).toEqual([7, 500]);
  expect(seen).toEqual([8, 501]);
  expect(states.at(-1)).toBe("live");
  lose();
  expect(current().sent).toEqual([{ token: "secret", since: 501 }]);
});

test("nothing of an abandoned connection is taken", () => {
  startAt(7);
  const old = current();
  lose();
  old.event(8);
  expect(seen).toEqual([]);
});

test("a connection that has gone silent is made anew", () => {
  startAt(7);
  const silent = current();
  vi.advanceTimersByTime(61_000);
  expect(silent.closed).toBe(true);
  expect(sockets.length).toBeGreaterThan(1);
});

test("pings keep a quiet connection", () => {
  startAt(7);
  for (let minute = 0; minute < 5; minute++) {
    vi.advanceTimersByTime(40_000);
    current().receive({ frame: "ping", newest: 7 });
  }
  expect(sockets).toHaveLength(1);
});

test("a page that wakes up does not wait for the next attempt", () => {
  startAt(7);
  current().onclose?.();
  expect(states.at(-1)).toBe("waiting");
  connection.wake();
  expect(sockets).toHaveLength(2);
  vi.advanceTimersByTime(5_000);
  expect(sockets).toHaveLength(2);
});

test("a refused hello is final", () => {
  connection.start();
  current().receive({ frame: "refused", message: "the token is wrong" });
  vi.advanceTimersByTime(120_000);
  expect(states).toEqual(["connecting", "refused"]);
  expect(sockets).toHaveLength(1);
});

test("attempts become rarer while the server is away", () => {
  connection.start();
  for (let attempt = 0; attempt < 8; attempt++) {
    current().onclose?.();
    vi.advanceTimersByTime(10_000);
  }
  expect(sockets).toHaveLength(9);
  current().onclose?.();
  vi.advanceTimersByTime(9_000);
  expect(sockets).toHaveLength(9);
});
