// Asks before a conversation is deleted; the same words on the desktop and the phone.
//
// It says nothing about uncommitted or unpushed work and asks the server for none: deleting a session
// touches no file, so such a warning would be untrue.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { Session, TaskDetail } from "~/api/types";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { ErrorNotice } from "~/ui/feedback";
import { primaryAfterDeletion } from "./use-session";

interface DeleteSessionDialogProps {
  session: Session;
  /** All sessions of the task, to say which one takes over. */
  sessions: readonly Session[];
  onClose: () => void;
  onDeleted: () => void;
}

export function DeleteSessionDialog({ session, sessions, onClose, onDeleted }: DeleteSessionDialogProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const heir = session.is_primary ? primaryAfterDeletion(sessions, session) : undefined;
  const remove = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/sessions/{id}", { params: { path: { id: session.id } } })),
    onSuccess: (gone) => {
      client.setQueryData<TaskDetail>(
        keys.task(session.task_id),
        (detail) => detail && without(detail, gone.session_id),
      );
      void client.invalidateQueries({ queryKey: keys.task(session.task_id), exact: true });
      onDeleted();
      onClose();
    },
  });
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("session:delete.title")}
      keepLabel={t("session:delete.keep")}
      confirm={
        <Button
          variant="danger"
          className="max-md:grow"
          disabled={remove.isPending}
          onClick={() => remove.mutate()}
        >
          {t("session:delete.confirm")}
        </Button>
      }
    >
      <div className="flex flex-col gap-2">
        <p>{t("session:delete.history", { name: session.name })}</p>
        <p>{t("session:delete.files")}</p>
        {heir && <p>{t("session:delete.heir", { name: heir.name })}</p>}
        {session.is_primary && !heir && <p>{t("session:delete.last")}</p>}
        {remove.error && <ErrorNotice error={remove.error} />}
      </div>
    </AlertDialog>
  );
}

function without(detail: TaskDetail, sessionId: string): TaskDetail {
  return { ...detail, sessions: detail.sessions.filter((session) => session.id !== sessionId) };
}
