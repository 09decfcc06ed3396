import { beforeEach, expect, test } from "vitest";
import type { MessagePage } from "~/api/types";
import { aMessage, anEvent } from "~/test/nouns";
import { Conversations } from "./conversations";

const IDS = { task_id: "task-1", session_id: "session-1" };
const SESSION = IDS.session_id;

let answers: ((page: MessagePage | Error) => void)[];
let store: Conversations;

beforeEach(() => {
  answers = [];
  store = new Conversations(
    () =>
      new Promise((resolve, reject) => {
        answers.push((page) => (page instanceof Error ? reject(page) : resolve(page)));
      }),
  );
});

async function answer(index: number, page: Partial<MessagePage> | Error): Promise<void> {
  const whole = page instanceof Error ? page : { items: [], has_older: false, last_event: 0, ...page };
  answers[index]?.(whole);
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
}

function append(seq: number, offset: number, text: string) {
  return anEvent(seq, { type: "message_appended", ...IDS, message_id: "message-1", offset, text });
}

function text(): string | undefined {
  return store.state(SESSION).entries[0]?.message.content;
}

test("events during the first load are neither lost nor applied twice", async () => {
  store.enter(SESSION);
  store.take(append(5, 0, "a"));
  store.take(append(6, 1, "b"));
  await answer(0, { items: [aMessage(1, "a")], last_event: 5 });
  expect(text()).toBe("ab");
});

test("missing text loads the conversation anew", async () => {
  store.enter(SESSION);
  await answer(0, { items: [aMessage(1, "a")], last_event: 5 });
  store.take(append(9, 4, "e"));
  await answer(1, { items: [aMessage(1, "abcde")], last_event: 9 });
  expect(text()).toBe("abcde");
});

test("the answer to an outdated load is dropped", async () => {
  store.enter(SESSION);
  store.reset();
  await answer(1, { items: [aMessage(1, "new")], last_event: 20 });
  await answer(0, { items: [aMessage(1, "old")], last_event: 3 });
  expect(text()).toBe("new");
});

test("an older page that fails loses no event", async () => {
  store.enter(SESSION);
  await answer(0, { items: [aMessage(1, "a")], has_older: true, last_event: 5 });
  void store.loadOlder(SESSION);
  store.take(append(6, 1, "b"));
  await answer(1, new Error("gone"));
  expect(text()).toBe("ab");
  expect(store.error(SESSION)).not.toBeNull();
});

test("a conversation that nobody shows is forgotten", async () => {
  const leave = store.enter(SESSION);
  await answer(0, { items: [aMessage(1, "a")], last_event: 5 });
  leave();
  expect(store.state(SESSION).status).toBe("loading");
});
