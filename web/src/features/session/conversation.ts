// A conversation as the page knows it: a pure reduction of pages and live events.
//
// Each message remembers the number of the newest event it already tells of (`through`). An event changes
// a message only when its number is higher. So it does not matter in which order a page and the events
// around it arrive: nothing is applied twice and nothing is skipped.
import type { LiveEvent, Message, MessagePage } from "~/api/types";

interface Entry {
  message: Message;
  through: number;
}

export interface Conversation {
  status: "loading" | "ready" | "failed";
  /** By ordinal, ascending. */
  entries: readonly Entry[];
  hasOlder: boolean;
  /** The newest event that the first page told of. */
  through: number;
  /** Events that arrived while a page was under way; applied after it. */
  waiting: readonly LiveEvent[];
  /** A piece of text is missing: the conversation must be loaded anew. */
  broken: boolean;
}

export const EMPTY: Conversation = {
  status: "loading",
  entries: [],
  hasOlder: false,
  through: 0,
  waiting: [],
  broken: false,
};

/** Begins with the newest page, then applies the events that waited for it. */
export function withFirstPage(state: Conversation, page: MessagePage): Conversation {
  const loaded: Conversation = {
    status: "ready",
    entries: page.items.map((message) => ({ message, through: page.last_event })),
    hasOlder: page.has_older,
    through: page.last_event,
    waiting: [],
    broken: false,
  };
  return state.waiting.reduce(withEvent, loaded);
}

/** Puts an older page before what is known; a message that is known already stays as it is. */
export function withOlderPage(state: Conversation, page: MessagePage): Conversation {
  const known = new Set(state.entries.map((entry) => entry.message.id));
  const older = page.items
    .filter((message) => !known.has(message.id))
    .map((message) => ({ message, through: page.last_event }));
  const joined = {
    ...state,
    entries: sorted([...older, ...state.entries]),
    hasOlder: page.has_older,
    waiting: [],
  };
  return state.waiting.reduce(withEvent, joined);
}

/** Keeps an event for later, while a page is under way. */
export function withWaiting(state: Conversation, event: LiveEvent): Conversation {
  return { ...state, waiting: [...state.waiting, event] };
}

/** Applies one live event of this session. */
export function withEvent(state: Conversation, live: LiveEvent): Conversation {
  const { event, seq } = live;
  switch (event.type) {
    case "message_added":
    case "message_replaced":
      return withMessage(state, event.message, seq, event.type === "message_added");
    case "message_appended":
      return withText(state, event.message_id, event.offset, event.text, seq);
    default:
      return state;
  }
}

function withMessage(state: Conversation, message: Message, seq: number, added: boolean): Conversation {
  const index = state.entries.findIndex((entry) => entry.message.id === message.id);
  if (index < 0) {
    const oldest = state.entries[0]?.message.ordinal ?? 0;
    const belongsToOlderPage = state.hasOlder && message.ordinal < oldest;
    if (seq <= state.through || belongsToOlderPage || !added) return state;
    return { ...state, entries: sorted([...state.entries, { message, through: seq }]) };
  }
  if (seq <= (state.entries[index]?.through ?? 0)) return state;
  return replaced(state, index, { message, through: seq });
}

function withText(state: Conversation, id: string, offset: number, text: string, seq: number): Conversation {
  const index = state.entries.findIndex((entry) => entry.message.id === id);
  const entry = state.entries[index];
  if (!entry || seq <= entry.through) return state;
  const known = entry.message.content;
  if (offset > known.length) return { ...state, broken: true };
  const content = known.slice(0, offset) + text;
  return replaced(state, index, { message: { ...entry.message, content }, through: seq });
}

function replaced(state: Conversation, index: number, entry: Entry): Conversation {
  const entries = state.entries.slice();
  entries[index] = entry;
  return { ...state, entries };
}

function sorted(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => a.message.ordinal - b.message.ordinal);
}
