import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { PackageCheck, PackageOpen, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, api, unwrap } from "~/api/client";
import { keys, quarantineQuery } from "~/api/queries";
import type { QuarantineEntry } from "~/api/types";
import { size } from "~/i18n/size";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { ExactField } from "~/ui/field";
import { showToast } from "~/ui/toast";

/** What a person moved aside: until it expires, each can be restored. */
export function QuarantineList() {
  const { t } = useTranslation();
  const entries = useQuery(quarantineQuery);
  return (
    <>
      {entries.error && <ErrorNotice error={entries.error} onRetry={() => void entries.refetch()} />}
      {entries.isPending && <Loading />}
      {entries.data?.length === 0 && (
        <EmptyState icon={<PackageCheck size={24} aria-hidden />} title={t("storage:quarantine.none")} />
      )}
      {entries.data?.map((entry) => (
        <EntryCard key={entry.id} entry={entry} />
      ))}
    </>
  );
}

function EntryCard({ entry }: { entry: QuarantineEntry }) {
  const { t } = useTranslation();
  const [purging, setPurging] = useState(false);
  const isHeld = entry.state === "held" && entry.hostname === "";
  return (
    <article className="flex flex-col gap-1.5 rounded-md border border-line bg-surface p-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        <h3 className="flex min-w-0 items-center gap-2 font-mono text-[0.95em] [overflow-wrap:anywhere]">
          <PackageOpen size={15} className="shrink-0 text-muted" aria-hidden />
          {entry.original_path}
        </h3>
        <span className="text-muted">{t(`storage:state.${entry.state}`, { defaultValue: entry.state })}</span>
        {entry.size_bytes > 0 && <span className="ml-auto">{size(entry.size_bytes)}</span>}
      </header>
      <p>{t(`storage:reason.${entry.reason}`, { defaultValue: entry.reason })}</p>
      <p className="flex flex-wrap gap-x-3 text-muted">
        {entry.held_at != null && (
          <time dateTime={entry.held_at} title={moment(entry.held_at)}>
            {t("storage:quarantine.since", { when: ago(entry.held_at) })}
          </time>
        )}
        {entry.expires_at != null && (
          <time dateTime={entry.expires_at}>
            {t("storage:quarantine.goes", { when: moment(entry.expires_at) })}
          </time>
        )}
        {entry.requested_by !== "" && <span>{t("storage:quarantine.by", { name: entry.requested_by })}</span>}
        {entry.hostname !== "" && <span>{t("storage:task.elsewhere", { hostname: entry.hostname })}</span>}
      </p>
      {entry.error_message !== "" && <p className="[overflow-wrap:anywhere]">{entry.error_message}</p>}
      {isHeld && (
        <div className="flex flex-wrap gap-2">
          <Restore entry={entry} />
          <Button variant="ghost" className="max-md:grow" onClick={() => setPurging(true)}>
            {t("storage:purge.open")}
          </Button>
        </div>
      )}
      {purging && <PurgeDialog entry={entry} onClose={() => setPurging(false)} />}
    </article>
  );
}

/** Restores to where it was; where something is by now, another place can be named. */
function Restore({ entry }: { entry: QuarantineEntry }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [place, setPlace] = useState("");
  const restore = useMutation({
    mutationFn: () => {
      const [params, body] = [{ path: { id: entry.id } }, { path: place.trim() || null }];
      return unwrap(api.POST("/api/v1/storage/quarantine/{id}/restore", { params, body }));
    },
    onSuccess: (restored) => {
      void client.invalidateQueries({ queryKey: keys.storage });
      showToast(t("storage:quarantine.restored", { path: restored.restore_path }), "plain", {
        about: entry.id,
      });
    },
  });
  const isTaken = restore.error instanceof ApiError && restore.error.body.code === "path_taken";
  return (
    <form
      className="contents"
      onSubmit={(event) => {
        event.preventDefault();
        if (!restore.isPending) restore.mutate();
      }}
    >
      {restore.error && (
        <div className="w-full">
          <ErrorNotice error={restore.error} />
        </div>
      )}
      {(isTaken || place !== "") && (
        <div className="w-full">
          <ExactField label={t("storage:quarantine.elsewhere")} value={place} onChange={setPlace} />
        </div>
      )}
      <Button
        type="submit"
        className="max-md:grow"
        icon={<Undo2 size={14} aria-hidden />}
        disabled={restore.isPending}
      >
        {t("storage:quarantine.restore")}
      </Button>
    </form>
  );
}

function PurgeDialog({ entry, onClose }: { entry: QuarantineEntry; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const purge = useMutation({
    mutationFn: () =>
      unwrap(api.DELETE("/api/v1/storage/quarantine/{id}", { params: { path: { id: entry.id } } })),
    onSuccess: () => {
      for (const queryKey of [keys.storage, keys.cleanupJobs]) void client.invalidateQueries({ queryKey });
      onClose();
    },
  });
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("storage:purge.title")}
      keepLabel={t("storage:purge.keep")}
      confirm={
        <Button
          variant="danger"
          className="max-md:grow"
          disabled={purge.isPending}
          onClick={() => purge.mutate()}
        >
          {t("storage:purge.confirm")}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p className="font-mono text-[0.95em] [overflow-wrap:anywhere]">{entry.original_path}</p>
        <p className="font-medium">{t("storage:purge.body")}</p>
        {purge.error && <ErrorNotice error={purge.error} />}
      </div>
    </AlertDialog>
  );
}
