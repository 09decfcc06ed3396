import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { TrashedTask } from "~/api/types";
import { size } from "~/i18n/size";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { ErrorNotice } from "~/ui/feedback";
import { showToast } from "~/ui/toast";

/** Asks before a task leaves the trash for good; it is the one act that cannot be taken back. */
export function PurgeDialog({ entry, onClose }: { entry: TrashedTask; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { task, seals, size_bytes } = entry;
  const purge = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/trash/{id}", { params: { path: { id: task.id } } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.trash });
      void client.invalidateQueries({ queryKey: keys.cleanupJobs });
      showToast(t("trash:purge.done", { title: task.title }), "plain", { about: task.id });
      onClose();
    },
  });
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("trash:purge.title", { title: task.title })}
      keepLabel={t("trash:purge.keep")}
      confirm={
        <Button
          variant="danger"
          className="max-md:grow"
          disabled={purge.isPending}
          onClick={() => purge.mutate()}
        >
          {t("trash:purge.confirm")}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p>{t("trash:purge.conversations")}</p>
        {seals.length > 0 && <p>{t("trash:purge.seals", { count: seals.length, size: size(size_bytes) })}</p>}
        <p className="font-medium">{t("trash:purge.final")}</p>
        {purge.error && <ErrorNotice error={purge.error} />}
      </div>
    </AlertDialog>
  );
}
