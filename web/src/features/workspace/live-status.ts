// The live connection of the page and what the screens know of it.
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { LiveConnection, type LiveSocket, type LiveState } from "~/api/live";
import { Renewal } from "~/api/live-updates";
import { currentToken, forgetToken } from "~/api/token";
import { conversations } from "~/features/session/conversations";

/** A connection that is back within this time is not worth a word. */
const CALM_MS = 2_500;

let shown: "live" | "waiting" = "live";
let calm: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** Whether the page is current, or has been waiting for the server for longer than a moment. */
export function useLiveStatus(): "live" | "waiting" {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
}

/** Holds the live connection as long as the app is shown. */
export function useLiveConnection(): void {
  const client = useQueryClient();
  useEffect(() => {
    const connection = connectTo(client);
    const wake = () => {
      if (document.visibilityState === "visible") connection.wake();
    };
    window.addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
    connection.start();
    return () => {
      window.removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      connection.stop();
    };
  }, [client]);
}

function connectTo(client: QueryClient): LiveConnection {
  const renewal = new Renewal(client);
  return new LiveConnection({
    token: currentToken(),
    open: () => new WebSocket(liveAddress()) as unknown as LiveSocket,
    onEvent: (event) => {
      conversations.take(event);
      renewal.take(event.event);
    },
    onReset: () => {
      void client.invalidateQueries();
      conversations.reset();
    },
    onState: showState,
  });
}

function liveAddress(): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`;
}

function showState(state: LiveState): void {
  if (state === "refused") forgetToken();
  if (state === "live") {
    clearTimeout(calm);
    calm = undefined;
    show("live");
  } else {
    calm ??= setTimeout(() => show("waiting"), CALM_MS);
  }
}

function show(next: typeof shown): void {
  if (shown === next) return;
  shown = next;
  for (const listener of listeners) listener();
}
