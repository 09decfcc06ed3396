import { useQuery } from "@tanstack/react-query";
import { FolderCheck, FolderSearch } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { unownedQuery } from "~/api/queries";
import type { UnownedPlace } from "~/api/types";
import { size } from "~/i18n/size";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { QuarantineDialog } from "./quarantine-dialog";

/** What is on disk and no task owns, each with the reason. */
export function UnownedList() {
  const { t } = useTranslation();
  const places = useQuery(unownedQuery);
  return (
    <>
      {places.error && <ErrorNotice error={places.error} onRetry={() => void places.refetch()} />}
      {places.isPending && <Loading />}
      {places.data?.length === 0 && (
        <EmptyState icon={<FolderCheck size={24} aria-hidden />} title={t("storage:unowned.none")}>
          {t("storage:unowned.noneBody")}
        </EmptyState>
      )}
      {places.data?.map((place) => (
        <UnownedCard key={place.path} place={place} />
      ))}
    </>
  );
}

function UnownedCard({ place }: { place: UnownedPlace }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  return (
    <article className="flex flex-col gap-1.5 rounded-md border border-line bg-surface p-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        <h3 className="flex min-w-0 items-center gap-2 font-mono text-[0.95em] [overflow-wrap:anywhere]">
          <FolderSearch size={15} className="shrink-0 text-muted" aria-hidden />
          {place.path}
        </h3>
        <span className="text-muted">{t(`storage:kind.${place.kind}`, { defaultValue: place.kind })}</span>
        {place.size_bytes != null && (
          <span className="ml-auto">
            {place.at_least
              ? t("storage:room.atLeast", { size: size(place.size_bytes) })
              : size(place.size_bytes)}
          </span>
        )}
      </header>
      {place.is_owner_unknown && <p className="font-medium text-wait">{t("storage:unowned.unknown")}</p>}
      <p>{t(`storage:reason.${place.reason}`, { defaultValue: place.reason })}</p>
      {place.detail !== "" && <p className="text-muted [overflow-wrap:anywhere]">{place.detail}</p>}
      <p className="flex flex-wrap gap-x-3 text-muted [overflow-wrap:anywhere]">
        {place.branch !== "" && <span>{t("storage:unowned.branch", { branch: place.branch })}</span>}
        {place.repository_path !== "" && <span>{place.repository_path}</span>}
        {place.since != null && (
          <time dateTime={place.since} title={moment(place.since)}>
            {t("storage:unowned.since", { when: ago(place.since) })}
          </time>
        )}
      </p>
      {place.refusal !== "" ? (
        <p className="text-muted">{t("storage:unowned.stays", { reason: place.refusal })}</p>
      ) : (
        <div>
          <Button className="max-md:w-full" onClick={() => setAsking(true)}>
            {t("storage:unowned.move")}
          </Button>
        </div>
      )}
      {asking && <QuarantineDialog place={place} onClose={() => setAsking(false)} />}
    </article>
  );
}
