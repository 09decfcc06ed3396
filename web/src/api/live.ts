// The live connection: one WebSocket per page over which every event arrives once, in order.
//
// Invariant: `last` is the number of the newest event that was handed on. An event is handed on only when
// its number is `last + 1`; a lower one was seen before and is dropped, a higher one means that something
// is missing, so the connection is made anew from `last`. The connection may break at any moment and for
// any time; nothing is lost, because the server keeps the events and is told where to go on.
import type { LiveEvent, LiveFrame } from "./types";

/** `connecting` for the first time, `live`, `waiting` for the next attempt, `refused` by the server. */
export type LiveState = "connecting" | "live" | "waiting" | "refused";

/** The part of a WebSocket that is used. */
export interface LiveSocket {
  onopen: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
  send(text: string): void;
  close(): void;
}

export interface LiveOptions {
  token: string;
  open: () => LiveSocket;
  /** Takes one event; each number once, in order. */
  onEvent: (event: LiveEvent) => void;
  /** The page must load everything anew: the stream begins here, or events were dropped by the server. */
  onReset: (newest: number) => void;
  onState: (state: LiveState) => void;
}

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;
/** A connection on which not even a ping arrived for this long is dead, whatever the system believes. */
const SILENCE_MS = 60_000;

export class LiveConnection {
  private readonly options: LiveOptions;
  private socket: LiveSocket | null = null;
  private last: number | null = null;
  private failures = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private silenceTimer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(options: LiveOptions) {
    this.options = options;
  }

  /** The newest event that was handed on; null before the first answer of the server. */
  get lastSeen(): number | null {
    return this.last;
  }

  start(): void {
    this.stopped = false;
    this.options.onState("connecting");
    this.connect();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.retryTimer);
    this.drop();
  }

  /** Tries at once, for example when the page is shown again or the network is back. */
  wake(): void {
    if (this.stopped || this.socket) return;
    clearTimeout(this.retryTimer);
    this.connect();
  }

  private connect(): void {
    const socket = this.options.open();
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify(this.hello()));
    socket.onmessage = (message) => {
      if (this.socket === socket) this.receive(String(message.data));
    };
    socket.onclose = () => {
      if (this.socket === socket) this.retryLater();
    };
    this.expectFrame();
  }

  private hello(): { token: string; since?: number } {
    const { token } = this.options;
    return this.last === null ? { token } : { token, since: this.last };
  }

  private receive(text: string): void {
    this.expectFrame();
    const frame = JSON.parse(text) as LiveFrame;
    switch (frame.frame) {
      case "ready":
        this.ready(frame.since);
        break;
      case "reset":
        this.failures = 0;
        this.options.onState("live");
        this.last = frame.newest;
        this.options.onReset(frame.newest);
        break;
      case "event":
        this.handOn(frame);
        break;
      case "refused":
        this.stop();
        this.options.onState("refused");
        break;
      case "ping":
      case "answer":
        break;
    }
  }

  private ready(since: number): void {
    this.failures = 0;
    this.options.onState("live");
    if (this.last !== null) return;
    // What was loaded before this moment may already be old: events up to `since` will not be told.
    this.last = since;
    this.options.onReset(since);
  }

  private handOn(frame: LiveEvent): void {
    if (this.last !== null && frame.seq <= this.last) return;
    if (this.last !== null && frame.seq !== this.last + 1) {
      this.drop();
      this.retryLater();
      return;
    }
    this.last = frame.seq;
    this.options.onEvent({ seq: frame.seq, at: frame.at, event: frame.event });
  }

  private retryLater(): void {
    this.socket = null;
    clearTimeout(this.silenceTimer);
    if (this.stopped) return;
    this.options.onState("waiting");
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.failures, LONGEST_RETRY_MS);
    this.failures += 1;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.connect(), wait);
  }

  private expectFrame(): void {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => {
      this.drop();
      this.retryLater();
    }, SILENCE_MS);
  }

  private drop(): void {
    clearTimeout(this.silenceTimer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }
}
