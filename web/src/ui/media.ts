import { useSyncExternalStore } from "react";

/** The widest screen that gets the phone's layout; the same line as Tailwind's `md`. */
const PHONE = "(max-width: 767px)";

/** Whether the page is as narrow as a phone. */
export function usePhone(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(PHONE).matches);
}

function subscribe(listener: () => void): () => void {
  const list = matchMedia(PHONE);
  list.addEventListener("change", listener);
  return () => list.removeEventListener("change", listener);
}
