import { expect, test } from "vitest";
import type { LiveEvent, MessagePage } from "~/api/types";
import { aMessage, anEvent } from "~/test/nouns";
import {
  type Conversation,
  EMPTY,
  withEvent,
  withFirstPage,
  withOlderPage,
  withWaiting,
} from "./conversation";

const IDS = { task_id: "task-1", session_id: "session-1" };

function page(part: Partial<MessagePage>): MessagePage {
  return { items: [], has_older: false, last_event: 0, ...part };
}

function added(seq: number, ordinal: number, content: string): LiveEvent {
  return anEvent(seq, { type: "message_added", ...IDS, message: aMessage(ordinal, content) });
}

function appended(seq: number, ordinal: number, offset: number, text: string): LiveEvent {
  return anEvent(seq, { type: "message_appended", ...IDS, message_id: `message-${ordinal}`, offset, text });
}

function replaced(seq: number, ordinal: number, content: string): LiveEvent {
  return anEvent(seq, { type: "message_replaced", ...IDS, message: aMessage(ordinal, content) });
}

function texts(state: Conversation): string[] {
  return state.entries.map(({ message }) => message.content);
}

const loaded = withFirstPage(EMPTY, page({ items: [aMessage(1, "one")], last_event: 10 }));

test("a message that begins and grows is shown whole and once", () => {
  const events = [added(11, 2, ""), appended(12, 2, 0, "Hel"), appended(13, 2, 3, "lo")];
  const once = events.reduce(withEvent, loaded);
  expect(texts(once)).toEqual(["one", "Hello"]);
  expect(texts(events.reduce(withEvent, once))).toEqual(["one", "Hello"]);
});

test("events that the page already tells of change nothing", () => {
  expect(withEvent(loaded, added(9, 5, "old"))).toBe(loaded);
  expect(withEvent(loaded, appended(10, 1, 3, " again"))).toBe(loaded);
  expect(withEvent(loaded, replaced(10, 1, "older"))).toBe(loaded);
});

test("events that come before the page wait for it, and only the newer ones are applied", () => {
  const events = [appended(4, 1, 0, "o"), appended(5, 1, 1, "ne"), appended(6, 1, 3, "!")];
  const waiting = events.reduce(withWaiting, EMPTY);
  const state = withFirstPage(waiting, page({ items: [aMessage(1, "one")], last_event: 5 }));
  expect(texts(state)).toEqual(["one!"]);
  expect(state.waiting).toEqual([]);
});

test("messages are in the order of their ordinals, whatever the order of events", () => {
  const state = [added(11, 3, "three"), added(12, 2, "two")].reduce(withEvent, loaded);
  expect(texts(state)).toEqual(["one", "two", "three"]);
});

test("text after a missing piece is not shown: the conversation is loaded anew", () => {
  const state = withEvent(loaded, appended(11, 1, 7, "later"));
  expect(state.broken).toBe(true);
  expect(texts(state)).toEqual(["one"]);
});

test("an offset within known text overwrites what overlaps", () => {
  expect(texts(withEvent(loaded, appended(11, 1, 1, "nely")))).toEqual(["onely"]);
});

test("offsets count UTF-16 code units", () => {
  const smiling = withFirstPage(EMPTY, page({ items: [aMessage(1, "😀")], last_event: 1 }));
  expect(texts(withEvent(smiling, appended(2, 1, 2, "!")))).toEqual(["😀!"]);
});

test("a replacement of a message on an older page waits for that page", () => {
  const late = withFirstPage(EMPTY, page({ items: [aMessage(5, "five")], has_older: true, last_event: 10 }));
  expect(withEvent(late, replaced(11, 2, "new two"))).toBe(late);
});

test("an older page goes before what is known and catches up with what came meanwhile", () => {
  const late = withFirstPage(EMPTY, page({ items: [aMessage(3, "three")], has_older: true, last_event: 10 }));
  const meanwhile = [replaced(12, 2, "new two"), appended(13, 3, 5, "!")].reduce(withWaiting, late);
  const older = page({
    items: [aMessage(1, "one"), aMessage(2, "two"), aMessage(3, "three")],
    last_event: 11,
  });
  const state = withOlderPage(meanwhile, older);
  expect(texts(state)).toEqual(["one", "new two", "three!"]);
  expect(state.hasOlder).toBe(false);
});

test("events of other kinds leave the conversation as it is", () => {
  expect(withEvent(loaded, anEvent(11, { type: "session_changed", ...IDS }))).toBe(loaded);
});
