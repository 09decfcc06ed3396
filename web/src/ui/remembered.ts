// Choices of this browser that are worth keeping: sizes, last used values. Nothing private goes here.
import { useCallback, useState } from "react";

export function readRemembered<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`freehold.${name}`);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(`freehold.${name}`, JSON.stringify(value));
  } catch {
    // Storage is blocked or full: the choice holds until the page is closed.
  }
}

export function useRemembered<T>(name: string, fallback: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => readRemembered(name, fallback));
  const change = useCallback(
    (next: T) => {
      setValue(next);
      remember(name, next);
    },
    [name],
  );
  return [value, change];
}
