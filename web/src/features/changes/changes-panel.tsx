// What the task changed: files with counts, each with its difference on demand.
import { useQuery } from "@tanstack/react-query";
import { ChevronRight, FileDiff, RefreshCw } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { changesQuery } from "~/api/queries";
import type { FileChange, RepositoryChanges, TaskDetail } from "~/api/types";
import { IconButton } from "~/ui/button";
import { classes } from "~/ui/classes";
import { EmptyState, ErrorNotice, Loading, Spinner } from "~/ui/feedback";
import { usePhone } from "~/ui/media";
import { useRemembered } from "~/ui/remembered";
import { Segmented } from "~/ui/segmented";
import type { DiffLayout } from "./diff-view";

const FileDiffView = lazy(() =>
  import("./file-diff-view").then((module) => ({ default: module.FileDiffView })),
);

export function ChangesPanel({ detail }: { detail: TaskDetail }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [chosen, setChosen] = useRemembered<DiffLayout>("diff-layout", "unified");
  const exists = hasFiles(detail);
  const changes = useQuery({ ...changesQuery(detail.task.id), enabled: exists });
  const repositories = exists ? (changes.data ?? []) : [];
  const files = repositories.flatMap((repository) => repository.files);
  const layout = phone ? "unified" : chosen;
  return (
    <section aria-label={t("changes:title")} className="flex h-full min-h-0 flex-col">
      <header className="flex h-10 shrink-0 items-center gap-2.5 border-b border-line bg-surface pl-3 pr-1.5 max-md:h-12">
        <h2 className="font-semibold">{t("changes:title")}</h2>
        {files.length > 0 && (
          <>
            <span className="truncate text-muted">{t("changes:files", { count: files.length })}</span>
            <Counts additions={sum(files, "additions")} deletions={sum(files, "deletions")} />
          </>
        )}
        <div className="ml-auto flex items-center gap-1">
          {!phone && files.length > 0 && (
            <Segmented
              label={t("changes:layout")}
              value={chosen}
              onChange={setChosen}
              options={[
                { value: "unified", label: t("changes:unified") },
                { value: "split", label: t("changes:split") },
              ]}
            />
          )}
          <IconButton
            label={t("changes:refresh")}
            icon={
              <RefreshCw size={15} className={changes.isFetching ? "animate-spin" : undefined} aria-hidden />
            }
            disabled={!exists || changes.isFetching}
            onClick={() => void changes.refetch()}
          />
        </div>
      </header>
      <div className="min-h-0 grow overflow-y-auto">
        {exists && changes.error && (
          <div className="p-3">
            <ErrorNotice error={changes.error} onRetry={() => void changes.refetch()} />
          </div>
        )}
        {exists && changes.isPending && <Loading />}
        {(!exists ||
          (changes.data && files.length === 0 && repositories.every((one) => !one.error_message))) && (
          <EmptyState icon={<FileDiff size={24} aria-hidden />} title={t("changes:none.title")}>
            {exists ? t("changes:none.body") : t("changes:none.noWorkspace")}
          </EmptyState>
        )}
        {repositories.map((repository) => (
          <RepositorySection
            // A task of an older database may have one repository on several branches.
            key={`${repository.repository_id} ${repository.branch}`}
            taskId={detail.task.id}
            repository={repository}
            named={repositories.length > 1}
            layout={layout}
          />
        ))}
      </div>
    </section>
  );
}

/** Whether the task has a workspace on disk: it was made, and not given back. */
function hasFiles({ task, environment }: TaskDetail): boolean {
  if (!environment || environment.status === "creating") return false;
  const isClosed = task.archived_at != null || task.deleted_at != null;
  // While a closed task's cleanup runs, its files may go at any moment; they stay where it waits for a person.
  if (isClosed && task.cleanup_state !== "needs_decision") return false;
  return environment.repositories.some((repository) => repository.status !== "deleted");
}

interface RepositorySectionProps {
  taskId: string;
  repository: RepositoryChanges;
  named: boolean;
  layout: DiffLayout;
}

function RepositorySection({ taskId, repository, named, layout }: RepositorySectionProps) {
  const { t } = useTranslation();
  return (
    <section aria-label={repository.repository_name}>
      {named && (
        <h3 className="border-b border-line bg-sunken px-3 py-1.5 font-medium">
          {repository.repository_name} <span className="font-normal text-muted">{repository.branch}</span>
        </h3>
      )}
      {repository.inferred_base && (
        <p className="px-3 py-1.5 text-muted [overflow-wrap:anywhere]">
          {t("changes:inferredBase", { branch: repository.inferred_base })}
        </p>
      )}
      {repository.error_message && (
        <p role="alert" className="m-3 rounded-md border border-fail bg-fail-soft px-3 py-2">
          {repository.error_message}
        </p>
      )}
      <ul>
        {repository.files.map((file) => (
          <FileRow
            key={file.path}
            taskId={taskId}
            repositoryId={repository.repository_id}
            file={file}
            layout={layout}
          />
        ))}
      </ul>
    </section>
  );
}

interface FileRowProps {
  taskId: string;
  repositoryId: string;
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

function FileRow({ taskId, repositoryId, file, layout }: FileRowProps) {
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
            <FileDiffView taskId={taskId} repositoryId={repositoryId} path={file.path} layout={layout} />
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

function Counts({ additions, deletions }: { additions: number | null; deletions: number | null }) {
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

function sum(files: readonly FileChange[], part: "additions" | "deletions"): number {
  return files.reduce((total, file) => total + (file[part] ?? 0), 0);
}
