// The access token of this browser.
//
// It arrives once in the fragment of the address, which a browser never sends to a server. It is moved to
// local storage and taken out of the address at once, so that it stays in no history and no screenshot.

const KEY = "freehold.token";

let current = "";
const listeners = new Set<() => void>();

/** Reads the token from the address or from storage; called once, before anything is drawn. */
export function adoptToken(location: Location, history: History): void {
  const fragment = new URLSearchParams(location.hash.replace(/^#/, ""));
  const offered = fragment.get("token");
  if (offered) {
    history.replaceState(null, "", location.pathname + location.search);
    storeToken(offered);
    return;
  }
  try {
    current = localStorage.getItem(KEY) ?? "";
  } catch {
    current = "";
  }
}

/** The token, or an empty text when this browser has none. */
export function currentToken(): string {
  return current;
}

/** Keeps a token that a person pasted or that came with the address. */
export function storeToken(token: string): void {
  current = token.trim();
  try {
    localStorage.setItem(KEY, current);
  } catch {
    // Storage is blocked: the token holds until the page is closed.
  }
  notify();
}

/** Forgets the token after the server refused it. */
export function forgetToken(): void {
  if (current === "") return;
  current = "";
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing was stored.
  }
  notify();
}

/** Calls back when the token changes; returns how to stop. */
export function onTokenChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
