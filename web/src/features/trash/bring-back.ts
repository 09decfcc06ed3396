// The way back of a closed task, for every place that offers it.
import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ApiError, api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { errorText } from "~/i18n/error-text";
import { showToast } from "~/ui/toast";

/** Where the files come: their own place, or a new folder beside it. */
export type Place = "same" | "elsewhere";

/** What is checked out: the sealed branch, a new one at the same commit, or the commit alone. */
export type BranchChoice = "sealed" | "new" | "detached";

export interface Choices {
  place: Place;
  branch: BranchChoice;
}

export const AS_IT_WAS: Choices = { place: "same", branch: "sealed" };

/** Whether the task is archived or deleted, whatever its cleanup does. */
export function canComeBack(task: TaskCard): boolean {
  return task.archived_at != null || task.deleted_at != null;
}

/** Brings a task back, with the tasks that were closed with it; answers when its files are there. */
export async function bringBack(client: QueryClient, id: string, choices: Choices) {
  const detail = await unwrap(
    api.POST("/api/v1/tasks/{id}/reopen", {
      params: { path: { id } },
      body: { ...choices, sub_tasks: true },
    }),
  );
  client.setQueryData(keys.task(id), detail);
  for (const queryKey of [keys.tasks, keys.trash, keys.cleanupJobs, keys.seals(id), keys.changes(id)]) {
    void client.invalidateQueries({ queryKey });
  }
  return detail;
}

/** Brings a task back and opens it. */
export function useBringBack(task: TaskCard, onBack: () => void) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const navigate = useNavigate();
  const open = () => {
    onBack();
    void navigate({ to: "/tasks/$taskId", params: { taskId: task.id } });
  };
  return useMutation({
    mutationFn: (choices: Choices) => bringBack(client, task.id, choices),
    onSuccess: (detail, { place }) => {
      const { title, id } = task;
      const path = place === "elsewhere" ? detail.environment?.workspace_path : undefined;
      const text = path ? t("trash:back.doneAt", { title, path }) : t("trash:back.done", { title });
      showToast(text, "plain", { about: id });
      open();
    },
    onError: (error) => {
      // The task itself is back; what is not is told where it is seen next.
      if (!(error instanceof ApiError) || error.body.code !== "parts_stay_closed") return;
      void client.invalidateQueries();
      showToast(errorText(t, error).message, "error", { about: task.id });
      open();
    },
  });
}

/** Takes a closing back, from a notice: what went wrong is said in another one, with the place to go on at. */
export function useUndo(task: TaskCard, action: "archive" | "delete") {
  const { t } = useTranslation();
  const client = useQueryClient();
  const navigate = useNavigate();
  const goOn = () => {
    if (action === "delete") void navigate({ to: "/trash" });
    else void navigate({ to: "/tasks/$taskId", params: { taskId: task.id } });
  };
  return async () => {
    const { title, id: about } = task;
    showToast(t("trash:back.busy", { title }), "plain", { about });
    try {
      await bringBack(client, about, AS_IT_WAS);
      showToast(t("trash:back.done", { title }), "plain", { about });
    } catch (error) {
      const { message } = errorText(t, error);
      showToast(message, "error", { about, action: { label: t("trash:back.show"), run: goOn } });
    }
  };
}
