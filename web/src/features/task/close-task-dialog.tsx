// Asks before a task is archived or deleted. It says what stops, what is removed, what stays, and which work
// exists nowhere else; with such work nothing is removed until a person has decided.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleStop, FolderX, GitBranch, type LucideIcon, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { closeReportQuery, keys } from "~/api/queries";
import type { CloseReport, TaskCard } from "~/api/types";
import { StakeList } from "~/features/cleanup/stake-list";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { showToast } from "~/ui/toast";

export type CloseAction = "archive" | "delete";

interface CloseTaskDialogProps {
  task: TaskCard;
  action: CloseAction;
  onClose: () => void;
}

export function CloseTaskDialog({ task, action, onClose }: CloseTaskDialogProps) {
  const { t } = useTranslation();
  const report = useQuery(closeReportQuery(task.id, action));
  const close = useCloseTask(task, action, onClose);
  const ready = report.data !== undefined && !report.isFetching && !close.isPending;
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t(`task:close.${action}.title`, { title: task.title })}
      keepLabel={t("task:close.keep")}
      confirm={
        <Button variant="danger" className="max-md:grow" disabled={!ready} onClick={() => close.mutate()}>
          {t(`task:close.${action}.confirm`)}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p>{t(`task:close.${action}.body`)}</p>
        {report.isFetching && <Spinner label={t("task:close.looking")} />}
        {report.error && !report.isFetching && (
          <ErrorNotice error={report.error} onRetry={() => void report.refetch()} />
        )}
        {report.data && !report.isFetching && <Report report={report.data} action={action} />}
        {close.error && <ErrorNotice error={close.error} />}
      </div>
    </AlertDialog>
  );
}

function useCloseTask(task: TaskCard, action: CloseAction, onClose: () => void) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => {
      const params = { params: { path: { id: task.id } } };
      return unwrap(
        action === "archive"
          ? api.POST("/api/v1/tasks/{id}/archive", params)
          : api.DELETE("/api/v1/tasks/{id}", params),
      );
    },
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.tasks });
      void client.invalidateQueries({ queryKey: keys.task(task.id), exact: true });
      void client.invalidateQueries({ queryKey: keys.cleanupJobs });
      showToast(t(`task:close.${action}.done`, { title: task.title }));
      onClose();
      if (action === "delete") void navigate({ to: "/" });
    },
  });
}

function Report({ report, action }: { report: CloseReport; action: CloseAction }) {
  const { t } = useTranslation();
  const atStake = report.stakes.length > 0;
  const made = report.workspace_path !== "";
  return (
    <>
      <ul className="flex flex-col gap-1.5">
        {report.live_sessions > 0 && (
          <Line icon={CircleStop}>{t("task:close.sessions", { count: report.live_sessions })}</Line>
        )}
        {made && !atStake && (
          <Line icon={FolderX}>
            {t("task:close.workspaceRemoved")} <Path>{report.workspace_path}</Path>
          </Line>
        )}
        {made && atStake && (
          <Line icon={FolderX}>
            {t("task:close.workspaceWaits")} <Path>{report.workspace_path}</Path>
          </Line>
        )}
        {!made && <Line icon={FolderX}>{t("task:close.noWorkspace")}</Line>}
        {report.branches_kept.map((branch) => (
          <Line key={branch} icon={GitBranch}>
            {t("task:close.branchKept")} <Path>{branch}</Path>
          </Line>
        ))}
        {made && action === "delete" && report.branches_kept.length === 0 && (
          <Line icon={GitBranch}>{t("task:close.branchRemoved")}</Line>
        )}
      </ul>
      {atStake && (
        <section className="flex flex-col gap-2 rounded-md border border-wait bg-wait-soft p-3">
          <h3 className="flex items-center gap-2 font-semibold text-wait">
            <TriangleAlert size={15} aria-hidden />
            {t("task:close.atStake")}
          </h3>
          <StakeList stakes={report.stakes} />
          <p>{t("task:close.nothingRemoved")}</p>
        </section>
      )}
    </>
  );
}

function Line({ icon: Icon, children }: { icon: LucideIcon; children: ReactNode }) {
  return (
    <li className="flex items-start gap-2">
      <Icon size={15} className="mt-0.5 shrink-0 text-muted" aria-hidden />
      <span className="min-w-0 [overflow-wrap:anywhere]">{children}</span>
    </li>
  );
}

function Path({ children }: { children: string }) {
  return <code className="font-mono text-[0.95em] text-muted">{children}</code>;
}
