// Asks before a task gets a fresh workspace. It says what is sealed and where that is found again, and what is made
// anew. To confirm is to consent to the seal; the task and its conversations stay.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  CircleStop,
  FolderPlus,
  FolderX,
  HardDrive,
  MessagesSquare,
  PackageCheck,
  Undo2,
} from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { closeReportQuery, keys } from "~/api/queries";
import type { CloseReport, TaskCard } from "~/api/types";
import { AtStake } from "~/features/cleanup/at-stake";
import { size } from "~/i18n/size";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { FactLine, FactList, Path } from "~/ui/fact-list";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { RadioGroup } from "~/ui/radio-group";
import { showToast } from "~/ui/toast";

type Start = "same_base" | "base_branch";
const STARTS: readonly Start[] = ["same_base", "base_branch"];

export function ResetDialog({ task, onClose }: { task: TaskCard; onClose: () => void }) {
  const { t } = useTranslation();
  const report = useQuery(closeReportQuery(task.id, "archive"));
  const [start, setStart] = useState<Start>("same_base");
  const reset = useReset(task, start, onClose);
  const seen = report.data !== undefined && !report.isFetching ? report.data : undefined;
  const resettable = seen !== undefined && seen.workspace_path !== "" && !seen.keeps_workspace;
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("task:reset.title", { title: task.title })}
      keepLabel={t("task:close.keep")}
      confirm={
        <Button
          variant="danger"
          className="max-md:grow"
          disabled={!resettable || reset.isPending}
          onClick={() => reset.mutate()}
        >
          {t("task:reset.confirm")}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p>{t("task:reset.body")}</p>
        {report.isFetching && <Spinner label={t("task:close.looking")} />}
        {report.error && !report.isFetching && (
          <ErrorNotice error={report.error} onRetry={() => void report.refetch()} />
        )}
        {seen && <Facts report={seen} />}
        {resettable && (
          <>
            <AtStake sealed={seen.sealed} stakes={seen.stakes} />
            <RadioGroup
              legend={t("task:reset.start.label")}
              value={start}
              onChange={setStart}
              options={STARTS.map((value) => ({ value, label: t(`task:reset.start.${value}`) }))}
            />
          </>
        )}
        {reset.error && <ErrorNotice error={reset.error} />}
      </div>
    </AlertDialog>
  );
}

function Facts({ report }: { report: CloseReport }) {
  const { t } = useTranslation();
  const path = report.workspace_path;
  const borrowers = report.borrowers ?? [];
  if (path === "") return <p>{t("task:close.noWorkspace")}</p>;
  if (report.keeps_workspace) return <p>{t("task:close.workspaceKept")}</p>;
  const titles = borrowers.map(({ title }) => `“${title}”`).join(", ");
  return (
    <FactList>
      {report.live_sessions > 0 && (
        <FactLine icon={CircleStop}>{t("task:close.sessions", { count: report.live_sessions })}</FactLine>
      )}
      {borrowers.length > 0 ? (
        <FactLine icon={FolderX}>{t("task:reset.lent", { titles })}</FactLine>
      ) : (
        <>
          <FactLine icon={PackageCheck}>{t("task:close.seals")}</FactLine>
          <FactLine icon={FolderX}>
            {t("task:close.workspaceRemoved")} <Path>{path}</Path>
          </FactLine>
          <FactLine icon={HardDrive}>
            {t("task:close.diskBytes", { size: size(report.disk_bytes ?? 0) })}
          </FactLine>
          <FactLine icon={Undo2}>{t("task:reset.wayBack")}</FactLine>
        </>
      )}
      <FactLine icon={FolderPlus}>{t("task:reset.anew")}</FactLine>
      <FactLine icon={MessagesSquare}>{t("task:reset.conversations")}</FactLine>
    </FactList>
  );
}

function useReset(task: TaskCard, start: Start, onClose: () => void) {
  const { t } = useTranslation();
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/tasks/{id}/reset", {
          params: { path: { id: task.id } },
          body: { start, seal: true },
        }),
      ),
    onSuccess: () => {
      const stale = [keys.tasks, keys.task(task.id), keys.cleanupJobs, keys.seals(task.id)];
      for (const queryKey of stale) void client.invalidateQueries({ queryKey });
      showToast(t("task:reset.done", { title: task.title }), "plain", { about: task.id });
      onClose();
    },
  });
}
