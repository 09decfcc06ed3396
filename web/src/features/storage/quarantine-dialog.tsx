import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { UnownedPlace } from "~/api/types";
import { StakeList } from "~/features/cleanup/stake-list";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { Path } from "~/ui/fact-list";
import { ErrorNotice } from "~/ui/feedback";
import { ExactField } from "~/ui/field";
import { showToast } from "~/ui/toast";

/** Asks before something is moved aside; where its owner is unknown, a person types its name. */
export function QuarantineDialog({ place, onClose }: { place: UnownedPlace; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const name = place.path.split("/").pop() ?? place.path;
  const isClear = !place.is_owner_unknown || typed.trim() === name;
  const move = useMutation({
    mutationFn: () => {
      const body = { path: place.path, confirm: place.is_owner_unknown ? typed.trim() : null };
      return unwrap(api.POST("/api/v1/storage/quarantine", { body }));
    },
    onSuccess: () => {
      for (const queryKey of [keys.storage, keys.cleanupJobs]) void client.invalidateQueries({ queryKey });
      showToast(t("storage:move.done", { path: place.path }), "plain", { about: place.path });
      onClose();
    },
  });
  const stakes = move.error instanceof ApiError ? (move.error.body.stakes ?? []) : [];
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("storage:move.title")}
      keepLabel={t("storage:move.keep")}
      confirm={
        <Button
          variant="danger"
          className="max-md:grow"
          disabled={!isClear || move.isPending}
          onClick={() => move.mutate()}
        >
          {t("storage:move.confirm")}
        </Button>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isClear && !move.isPending) move.mutate();
        }}
      >
        <p className="[overflow-wrap:anywhere]">
          <Path>{place.path}</Path>
        </p>
        <p>{t("storage:move.body")}</p>
        {place.is_owner_unknown && (
          <>
            <p className="font-medium">{t("storage:move.unknown")}</p>
            <ExactField label={t("storage:move.label", { name })} value={typed} onChange={setTyped} />
          </>
        )}
        {move.error && <ErrorNotice error={move.error} />}
        {stakes.length > 0 && <StakeList stakes={stakes} />}
      </form>
    </AlertDialog>
  );
}
