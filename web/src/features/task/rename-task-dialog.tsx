import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { ErrorNotice } from "~/ui/feedback";
import { Field, Input } from "~/ui/field";

export function RenameTaskDialog({ task, onClose }: { task: TaskCard; onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const formId = useId();
  const [title, setTitle] = useState(task.title);
  const rename = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH("/api/v1/tasks/{id}", { params: { path: { id: task.id } }, body: { title: title.trim() } }),
      ),
    onSuccess: (detail) => {
      client.setQueryData(keys.task(task.id), detail);
      void client.invalidateQueries({ queryKey: keys.tasks });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim()) rename.mutate();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("task:rename.title")}
      footer={
        <>
          <Button variant="ghost" onClick={onClose}>
            {t("common:cancel")}
          </Button>
          <Button type="submit" form={formId} variant="primary" disabled={!title.trim() || rename.isPending}>
            {t("task:rename.submit")}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="flex flex-col gap-3">
        <Field label={t("task:rename.label")}>
          {(control) => (
            <Input
              {...control}
              autoFocus
              maxLength={500}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
            />
          )}
        </Field>
        {rename.error && <ErrorNotice error={rename.error} />}
      </form>
    </Dialog>
  );
}
