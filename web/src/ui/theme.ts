// The theme: what a person chose, or the system's. `public/theme.js` does the same before the first paint.
import { useSyncExternalStore } from "react";

export type ThemeChoice = "system" | "light" | "dark";

const KEY = "freehold.theme";
const DARK = "(prefers-color-scheme: dark)";
const listeners = new Set<() => void>();

export function themeChoice(): ThemeChoice {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function chooseTheme(choice: ThemeChoice): void {
  try {
    if (choice === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the choice holds until the page is closed.
  }
  apply(choice);
  for (const listener of listeners) listener();
}

/** Follows the system while no theme is chosen. */
export function followSystemTheme(): void {
  matchMedia(DARK).addEventListener("change", () => apply(themeChoice()));
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, themeChoice);
}

function apply(choice: ThemeChoice): void {
  const dark = choice === "dark" || (choice === "system" && matchMedia(DARK).matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
