import { ChevronRight } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import type { DiffSource } from "~/api/queries";
import type { FileChange } from "~/api/types";
import { classes } from "~/ui/classes";
import { Spinner } from "~/ui/feedback";
import type { DiffLayout } from "./diff-view";

const FileDiffView = lazy(() =>
  import("./file-diff-view").then((module) => ({ default: module.FileDiffView })),
);

interface FileRowProps {
  source: DiffSource;
  file: FileChange;
  layout: DiffLayout;
}

const LETTERS: Record<string, { letter: string; tone: string }> = {
  added: { letter: "A", tone: "text-done" },
  modified: { letter: "M", tone: "text-wait" },
  deleted: { letter: "D", tone: "text-fail" },
  renamed: { letter: "R", tone: "text-run" },
  type_changed: { letter: "T", tone: "text-review" },
};

/** A changed file with its counts; its difference is read when it is opened. */
export function FileRow({ source, file, layout }: FileRowProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const { letter, tone } = LETTERS[file.kind] ?? { letter: "?", tone: "text-muted" };
  const kind = t(`changes:kind.${file.kind}`, { defaultValue: file.kind });
  return (
    <li data-file={file.path} className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className={classes(
          "flex min-h-8 w-full items-center gap-2 px-2.5 text-left hover:bg-sunken max-md:min-h-11",
          open && "sticky top-0 z-10 bg-surface",
        )}
      >
        <ChevronRight
          size={14}
          className={classes("shrink-0 text-muted transition-transform", open && "rotate-90")}
          aria-hidden
        />
        <span title={kind} className={classes("w-3 shrink-0 font-mono font-semibold", tone)} aria-hidden>
          {letter}
        </span>
        <span className="sr-only">{kind}</span>
        <FilePath file={file} />
        {file.untracked && (
          <span className="shrink-0 rounded border border-line px-1.5 text-[0.85em] text-muted">
            {t("changes:untracked")}
          </span>
        )}
        <span className="ml-auto shrink-0">
          <Counts additions={file.additions ?? null} deletions={file.deletions ?? null} />
        </span>
      </button>
      {open && (
        <div className="border-t border-line">
          <Suspense fallback={<Spinner />}>
            <FileDiffView source={source} path={file.path} layout={layout} />
          </Suspense>
        </div>
      )}
    </li>
  );
}

/** The path, cut off in its folders before its name. */
function FilePath({ file }: { file: FileChange }) {
  const at = file.path.lastIndexOf("/") + 1;
  const title = file.old_path ? `${file.old_path} → ${file.path}` : file.path;
  return (
    <span className="flex min-w-0 font-mono text-[0.95em]" title={title}>
      <span className="truncate text-muted">{file.path.slice(0, at)}</span>
      <span className="max-w-full shrink-0 truncate">{file.path.slice(at)}</span>
    </span>
  );
}

export function Counts({ additions, deletions }: { additions: number | null; deletions: number | null }) {
  const { t } = useTranslation();
  if (additions === null || deletions === null)
    return <span className="text-muted">{t("changes:binary")}</span>;
  return (
    <span className="inline-flex gap-1.5 font-mono text-[0.92em] tabular-nums">
      <span className="text-done">{`+${additions}`}</span>
      <span className="text-fail">{`−${deletions}`}</span>
    </span>
  );
}
