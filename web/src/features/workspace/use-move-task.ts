import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { errorLine } from "~/i18n/error-text";
import { showToast } from "~/ui/toast";
import { type Move, tasksAfter } from "./columns";

/** Moves a task at once on the screen, and back again when the server refuses. */
export function useMoveTask() {
  const client = useQueryClient();
  const { t } = useTranslation();
  return useMutation({
    mutationFn: ({ taskId, stepId, afterId }: Move) =>
      unwrap(
        api.PATCH("/api/v1/tasks/{id}", {
          params: { path: { id: taskId } },
          body: { step_id: stepId, after_task_id: afterId },
        }),
      ),
    onMutate: async (move) => {
      await client.cancelQueries({ queryKey: keys.board });
      const before = client.getQueryData<TaskCard[]>(keys.board);
      if (before) client.setQueryData(keys.board, tasksAfter(before, move));
      return { before };
    },
    onError: (error, _move, context) => {
      if (context?.before) client.setQueryData(keys.board, context.before);
      showToast(errorLine(t, error), "error");
    },
    onSettled: () => client.invalidateQueries({ queryKey: keys.tasks }),
  });
}
