// The open conversations of the page: each is loaded once, kept current by live events, and loaded anew
// when the stream begins anew.
import { useEffect, useSyncExternalStore } from "react";
import { ApiError, api, unwrap } from "~/api/client";
import type { LiveEvent, MessagePage } from "~/api/types";
import {
  type Conversation,
  EMPTY,
  withEvent,
  withFirstPage,
  withOlderPage,
  withWaiting,
} from "./conversation";

type Load = (sessionId: string, before?: number) => Promise<MessagePage>;

const fromServer: Load = (id, before) =>
  unwrap(
    api.GET("/api/v1/sessions/{id}/messages", {
      params: { path: { id }, query: before === undefined ? {} : { before } },
    }),
  );

const FRAME_MS = 16;

interface Open {
  state: Conversation;
  users: number;
  /** Counts loads, so that the answer of an outdated one is dropped. */
  load: number;
  loading: boolean;
  error: ApiError | null;
}

export class Conversations {
  private readonly load: Load;
  private readonly open = new Map<string, Open>();
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(load: Load = fromServer) {
    this.load = load;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  state(sessionId: string): Conversation {
    return this.open.get(sessionId)?.state ?? EMPTY;
  }

  error(sessionId: string): ApiError | null {
    return this.open.get(sessionId)?.error ?? null;
  }

  isLoadingOlder(sessionId: string): boolean {
    const open = this.open.get(sessionId);
    return open?.loading === true && open.state.status === "ready";
  }

  /** Opens a conversation for a view; the last view to leave closes it. */
  enter(sessionId: string): () => void {
    const open = this.open.get(sessionId) ?? { state: EMPTY, users: 0, load: 0, loading: false, error: null };
    this.open.set(sessionId, open);
    open.users += 1;
    if (open.users === 1) void this.reload(sessionId);
    return () => {
      open.users -= 1;
      if (open.users === 0 && this.open.get(sessionId) === open) this.open.delete(sessionId);
    };
  }

  /** Takes a live event; those of conversations that are not open come with their first page. */
  take(event: LiveEvent): void {
    if (!("session_id" in event.event)) return;
    const sessionId = event.event.session_id;
    const open = this.open.get(sessionId);
    if (!open) return;
    open.state = open.loading ? withWaiting(open.state, event) : withEvent(open.state, event);
    if (open.state.broken) void this.reload(sessionId);
    this.notify();
  }

  /** Loads everything anew. */
  reset(): void {
    for (const sessionId of this.open.keys()) void this.reload(sessionId);
  }

  async reload(sessionId: string): Promise<void> {
    await this.fetch(sessionId, undefined, withFirstPage);
  }

  async loadOlder(sessionId: string): Promise<void> {
    const open = this.open.get(sessionId);
    const oldest = open?.state.entries[0]?.message.ordinal;
    if (!open || open.loading || !open.state.hasOlder || oldest === undefined) return;
    await this.fetch(sessionId, oldest, withOlderPage);
  }

  private async fetch(
    sessionId: string,
    before: number | undefined,
    join: (state: Conversation, page: MessagePage) => Conversation,
  ): Promise<void> {
    const open = this.open.get(sessionId);
    if (!open) return;
    open.load += 1;
    const mine = open.load;
    open.loading = true;
    open.state = { ...open.state, broken: false };
    open.error = null;
    this.notify();
    try {
      const page = await this.load(sessionId, before);
      if (mine !== open.load) return;
      open.state = join(open.state, page);
    } catch (cause) {
      if (mine !== open.load) return;
      open.error =
        cause instanceof ApiError ? cause : new ApiError(0, { code: "internal", message: String(cause) });
      open.state = afterFailure(open.state);
    }
    open.loading = false;
    this.notify();
  }

  /** Tells the views at most once per drawn frame, however many events arrive. */
  private notify(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const listener of this.listeners) listener();
    }, FRAME_MS);
  }
}

/** A page did not come: what waited for it is applied to what is known. */
function afterFailure(state: Conversation): Conversation {
  if (state.status !== "ready") return { ...state, status: "failed" };
  return state.waiting.reduce(withEvent, { ...state, waiting: [] });
}

export const conversations = new Conversations();

/** Shows a conversation and keeps it current as long as it is shown. */
export function useConversation(sessionId: string): Conversation {
  useEffect(() => conversations.enter(sessionId), [sessionId]);
  return useSyncExternalStore(conversations.subscribe, () => conversations.state(sessionId));
}
