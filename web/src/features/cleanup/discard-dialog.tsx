import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { CleanupJob } from "~/api/types";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { ExactField } from "~/ui/field";
import { StakeList } from "./stake-list";

interface DiscardDialogProps {
  job: CleanupJob;
  phrase: string;
  onClose: () => void;
  onDiscard: (typed: string) => void;
}

/** Asks before work is lost that no seal holds: it is named, and a person types how much it is. */
export function DiscardDialog({ job, phrase, onClose, onDiscard }: DiscardDialogProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState("");
  const matches = typed.trim() === phrase;
  const discard = () => {
    onDiscard(typed.trim());
    onClose();
  };
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("cleanup:discard.title", { title: job.task_title || job.task_id })}
      keepLabel={t("cleanup:discard.keep")}
      confirm={
        <Button variant="danger" className="max-md:grow" disabled={!matches} onClick={discard}>
          {t("cleanup:discard.confirm")}
        </Button>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (matches) discard();
        }}
      >
        <p>{t("cleanup:discard.body")}</p>
        <StakeList stakes={job.stakes} />
        <p className="text-muted">{t("cleanup:discard.rest")}</p>
        <ExactField label={t("cleanup:discard.label", { phrase })} value={typed} onChange={setTyped} />
      </form>
    </AlertDialog>
  );
}
