// Makes a new task of a sealed workspace, beside the task that was sealed, and opens it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { PackagePlus } from "lucide-react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { Seal } from "~/api/types";
import { errorText } from "~/i18n/error-text";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";

export function NewTaskFromSeal({ seal }: { seal: Seal }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/seals/{id}/task", { params: { path: { id: seal.id } }, body: {} })),
    onSuccess: ({ task, environment }) => {
      void client.invalidateQueries({ queryKey: keys.tasks });
      const path = environment?.workspace_path ?? "";
      showToast(t("trash:seal.newTaskDone", { title: task.title, path }), "plain", { about: task.id });
      void navigate({ to: "/tasks/$taskId", params: { taskId: task.id } });
    },
    onError: (error) => showToast(errorText(t, error).message, "error", { about: seal.id }),
  });
  return (
    <Button
      icon={<PackagePlus size={14} aria-hidden />}
      disabled={make.isPending}
      onClick={() => make.mutate()}
    >
      {make.isPending ? t("trash:seal.newTaskPending") : t("trash:seal.newTask")}
    </Button>
  );
}
