// What was sealed of a task: per worktree the files that differ from where it began, and what was left out.
import { useQuery } from "@tanstack/react-query";
import { ChevronRight, PackageOpen } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { sealsQuery } from "~/api/queries";
import type { LeftOut, SealedChanges } from "~/api/types";
import type { DiffLayout } from "~/features/changes/diff-view";
import { FileRow } from "~/features/changes/file-row";
import { size } from "~/i18n/size";
import { moment } from "~/i18n/time";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { NewTaskFromSeal } from "./new-task-from-seal";
import { newestSeals } from "./newest-seals";

/** How many places a seal names of what it left out; there may be more. */
const MOST_LEFT_OUT = 100;

export function SealsView({ taskId, layout }: { taskId: string; layout: DiffLayout }) {
  const { t } = useTranslation();
  const seals = useQuery(sealsQuery(taskId));
  if (seals.error) {
    return (
      <div className="p-3">
        <ErrorNotice error={seals.error} onRetry={() => void seals.refetch()} />
      </div>
    );
  }
  if (!seals.data) return <Loading />;
  const { newest, others } = newestSeals(seals.data);
  if (seals.data.length === 0) {
    return (
      <EmptyState icon={<PackageOpen size={24} aria-hidden />} title={t("trash:seal.none")}>
        {t("trash:seal.noneBody")}
      </EmptyState>
    );
  }
  return (
    <>
      {newest.map((one) => (
        <OneSeal key={one.seal.id} sealed={one} layout={layout} />
      ))}
      {others.length > 0 && (
        <Disclosure title={t("trash:seal.others", { count: others.length })}>
          {others.map((one) => (
            <OneSeal key={one.seal.id} sealed={one} layout={layout} />
          ))}
        </Disclosure>
      )}
    </>
  );
}

function OneSeal({ sealed, layout }: { sealed: SealedChanges; layout: DiffLayout }) {
  const { t } = useTranslation();
  const { seal, files, error_message } = sealed;
  const folder = seal.kind === "folder";
  const repository = seal.repository_path.split("/").filter(Boolean).at(-1) ?? seal.repository_path;
  return (
    <div data-seal={seal.id}>
      <header className="flex flex-wrap items-baseline gap-x-3 border-b border-line bg-sunken px-3 py-1.5">
        <h3 className="font-medium">{folder ? t("trash:seal.folder") : repository}</h3>
        <span className="text-muted [overflow-wrap:anywhere]">
          {folder ? seal.worktree_path : seal.branch || t("trash:seal.noBranch")}
        </span>
        <span className="text-muted">
          {`${t("trash:seal.files", { count: seal.file_count })} · ${size(seal.size_bytes)}`}
        </span>
        <span className="text-muted">{t("trash:seal.taken", { when: moment(seal.created_at) })}</span>
        <NewTaskFromSeal seal={seal} />
      </header>
      {error_message && (
        <p role="alert" className="m-3 rounded-md border border-fail bg-fail-soft px-3 py-2">
          {error_message}
        </p>
      )}
      {!error_message && files.length === 0 && (
        <p className="px-3 py-2 text-muted">{t("trash:seal.unchanged")}</p>
      )}
      <ul>
        {files.map((file) => (
          <FileRow key={file.path} source={{ sealId: seal.id }} file={file} layout={layout} />
        ))}
      </ul>
      {seal.left_out.length > 0 && <LeftOutList places={seal.left_out} />}
    </div>
  );
}

function LeftOutList({ places }: { places: readonly LeftOut[] }) {
  const { t } = useTranslation();
  return (
    <Disclosure title={t("trash:leftOut.title", { count: places.length })}>
      <ul className="px-3 pb-2">
        {places.map((place) => (
          <li key={place.path} className="flex flex-wrap items-baseline gap-x-3">
            <code className="font-mono text-[0.92em] [overflow-wrap:anywhere]">{place.path}</code>
            <span className="text-muted">
              {t(`trash:leftOut.reason.${place.reason}`, { defaultValue: place.reason })}
            </span>
            {place.size_bytes != null && <span className="text-muted">{size(place.size_bytes)}</span>}
          </li>
        ))}
      </ul>
      {places.length >= MOST_LEFT_OUT && (
        <p className="px-3 pb-2 text-muted">{t("trash:leftOut.more", { count: MOST_LEFT_OUT })}</p>
      )}
    </Disclosure>
  );
}

function Disclosure({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="group border-b border-line last:border-b-0">
      <summary className="flex min-h-8 cursor-pointer list-none items-center gap-2 px-2.5 text-muted hover:text-ink max-md:min-h-11 [&::-webkit-details-marker]:hidden">
        <ChevronRight size={14} className="shrink-0 transition-transform group-open:rotate-90" aria-hidden />
        {title}
      </summary>
      {children}
    </details>
  );
}
