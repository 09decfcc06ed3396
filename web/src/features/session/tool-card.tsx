import {
  ChevronRight,
  CircleCheck,
  CircleDashed,
  CircleX,
  FilePen,
  FileSearch,
  FileX,
  Globe,
  LoaderCircle,
  type LucideIcon,
  Search,
  SquareTerminal,
  Wrench,
} from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import type { ToolCall } from "~/api/types";
import { Spinner } from "~/ui/feedback";

const ToolDiffs = lazy(() => import("./tool-diffs").then((module) => ({ default: module.ToolDiffs })));

const KINDS: Record<string, LucideIcon> = {
  read: FileSearch,
  edit: FilePen,
  delete: FileX,
  search: Search,
  execute: SquareTerminal,
  fetch: Globe,
};

/** What an agent did with a tool: folded to one line, with its edits and output inside. */
export function ToolCard({ title, call }: { title: string; call: ToolCall }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const Icon = KINDS[call.tool_kind] ?? Wrench;
  const diffs = call.diffs ?? [];
  const output = call.output ?? "";
  const input = call.raw_input ?? null;
  const locations = call.locations ?? [];
  const empty = diffs.length === 0 && output === "" && input === null && locations.length === 0;
  return (
    <details
      className="group rounded-md border border-line bg-surface"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="flex min-h-8 list-none items-center gap-2 rounded-md px-2.5 hover:bg-sunken max-md:min-h-11">
        <ChevronRight
          size={14}
          className="shrink-0 text-muted transition-transform group-open:rotate-90"
          aria-hidden
        />
        <Icon size={15} className="shrink-0 text-muted" aria-hidden />
        <span className="min-w-0 truncate">
          {title || t(`session:tool.${call.tool_kind}`, { defaultValue: call.tool_kind })}
        </span>
        <span className="ml-auto flex shrink-0">
          <ToolStatus status={call.status} />
        </span>
      </summary>
      {open && (
        <div className="flex flex-col gap-2 border-t border-line p-2.5">
          {diffs.length > 0 && (
            <Suspense fallback={<Spinner />}>
              <ToolDiffs diffs={diffs} />
            </Suspense>
          )}
          {diffs.length === 0 && locations.length > 0 && (
            <ul className="font-mono text-[0.92em] text-muted [overflow-wrap:anywhere]">
              {locations.map((location) => (
                <li key={location}>{location}</li>
              ))}
            </ul>
          )}
          {output !== "" && <Raw label={t("session:toolOutput")} text={output} />}
          {diffs.length === 0 && output === "" && input !== null && (
            <Raw label={t("session:toolInput")} text={JSON.stringify(input, null, 2)} />
          )}
          {empty && <p className="text-muted">{t("session:toolEmpty")}</p>}
        </div>
      )}
    </details>
  );
}

function ToolStatus({ status }: { status: string }) {
  const { t } = useTranslation();
  const word = t(`session:toolStatus.${status}`, { defaultValue: status });
  const look = {
    completed: <CircleCheck size={15} className="text-done" aria-hidden />,
    failed: <CircleX size={15} className="text-fail" aria-hidden />,
    in_progress: <LoaderCircle size={15} className="animate-spin text-run" aria-hidden />,
  }[status] ?? <CircleDashed size={15} className="text-muted" aria-hidden />;
  return (
    <span title={word} className="inline-flex items-center gap-1 text-[0.92em] text-muted">
      {look}
      <span className={status === "failed" ? "text-fail" : "sr-only"}>{word}</span>
    </span>
  );
}

function Raw({ label, text }: { label: string; text: string }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-72 overflow-auto rounded bg-sunken px-2.5 py-1.5"
    >
      <pre className="whitespace-pre-wrap font-mono text-[0.92em] [overflow-wrap:anywhere]">{text}</pre>
    </section>
  );
}
