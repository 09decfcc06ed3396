// Short notices at the edge of the screen; read aloud, gone by themselves, never the only place of an error
// that needs an answer.
import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "./button";
import { classes } from "./classes";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "error";
  more: ToastOptions;
}

interface ToastOptions {
  action?: ToastAction;
  /** The id of what it is about: a newer notice about the same takes its place. */
  about?: string;
}

/** Something that can be done about what a notice says; it must be possible elsewhere too. */
export interface ToastAction {
  label: string;
  run: () => void;
}

const SHOWN_MS = 7_000;
/** How long a notice stays that offers an action. */
const OFFERED_MS = 15_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function showToast(text: string, tone: Toast["tone"] = "plain", more: ToastOptions = {}): void {
  const id = nextId++;
  const others = toasts.filter((toast) => more.about === undefined || toast.more.about !== more.about);
  change([...others.slice(-2), { id, text, tone, more }]);
  setTimeout(() => closeToast(id), more.action ? OFFERED_MS : SHOWN_MS);
}

/** Takes all notices away, as when another page begins. */
export function forgetToasts(): void {
  change([]);
}

function closeToast(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

export function Toasts() {
  const { t } = useTranslation();
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed bottom-3 right-3 z-30 flex w-[min(24rem,calc(100vw-1.5rem))] flex-col gap-2 max-md:bottom-20"
    >
      {shown.map((toast) => (
        <div
          key={toast.id}
          className={classes(
            "panel-in pointer-events-auto flex items-center gap-2 rounded-md border bg-raised py-1 pl-3 pr-1 shadow-overlay",
            toast.tone === "error" ? "border-fail text-fail" : "border-line",
          )}
        >
          <span className="grow [overflow-wrap:anywhere]">{toast.text}</span>
          {toast.more.action && (
            <Button
              onClick={() => {
                closeToast(toast.id);
                toast.more.action?.run();
              }}
            >
              {toast.more.action.label}
            </Button>
          )}
          <IconButton
            label={t("common:close")}
            icon={<X size={15} aria-hidden />}
            onClick={() => closeToast(toast.id)}
          />
        </div>
      ))}
    </div>
  );
}
