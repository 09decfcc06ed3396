import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import { errorLine } from "~/i18n/error-text";
import { showToast } from "~/ui/toast";

/** Makes the task's workspace, if there is none, and starts a first session. */
export function useStartTask(taskId: string) {
  const client = useQueryClient();
  const { t } = useTranslation();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/tasks/{id}/start", { params: { path: { id: taskId } } })),
    onSuccess: (detail) => client.setQueryData(keys.task(taskId), detail),
    onError: (error) => showToast(errorLine(t, error), "error"),
  });
}
