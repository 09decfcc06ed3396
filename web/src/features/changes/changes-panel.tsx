// What the task changed: files with counts, each with its difference on demand.
import { useQuery } from "@tanstack/react-query";
import { FileDiff, RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { changesQuery } from "~/api/queries";
import type { FileChange, RepositoryChanges, TaskDetail } from "~/api/types";
import { SealsView } from "~/features/trash/seals-view";
import { IconButton } from "~/ui/button";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { usePhone } from "~/ui/media";
import { useRemembered } from "~/ui/remembered";
import { Segmented } from "~/ui/segmented";
import type { DiffLayout } from "./diff-view";
import { Counts, FileRow } from "./file-row";

export function ChangesPanel({ detail }: { detail: TaskDetail }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [chosen, setChosen] = useRemembered<DiffLayout>("diff-layout", "unified");
  const exists = hasFiles(detail);
  const changes = useQuery({ ...changesQuery(detail.task.id), enabled: exists });
  const repositories = exists ? (changes.data ?? []) : [];
  const files = repositories.flatMap((repository) => repository.files);
  const layout = phone ? "unified" : chosen;
  const isSealed = detail.task.archived_at != null && detail.task.cleanup_state == null;
  const isUnchanged = changes.data && files.length === 0 && repositories.every((one) => !one.error_message);
  const hasNothing = exists ? isUnchanged : !isSealed;
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
          {!phone && (files.length > 0 || isSealed) && (
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
        {!exists && isSealed && <SealsView taskId={detail.task.id} layout={layout} />}
        {hasNothing && (
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
            source={{ taskId, repositoryId: repository.repository_id }}
            file={file}
            layout={layout}
          />
        ))}
      </ul>
    </section>
  );
}

function sum(files: readonly FileChange[], part: "additions" | "deletions"): number {
  return files.reduce((total, file) => total + (file[part] ?? 0), 0);
}
