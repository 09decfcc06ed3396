// Asks before a task is archived or deleted. It says what stops, what is sealed and how it comes back, what
// stays, and what no seal holds; of that nothing is removed until a person has decided. To confirm is to consent
// to the seal.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleStop, FolderCheck, FolderX, GitBranch, HardDrive, PackageCheck, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { closeReportQuery, keys } from "~/api/queries";
import type { CloseReport, TaskCard, TaskRef } from "~/api/types";
import { AtStake } from "~/features/cleanup/at-stake";
import { useUndo } from "~/features/trash/bring-back";
import { size } from "~/i18n/size";
import { day } from "~/i18n/time";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { FactLine, FactList, Path } from "~/ui/fact-list";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { Checkbox } from "~/ui/field";
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
  const [withSubTasks, setWithSubTasks] = useState(false);
  const close = useCloseTask(task, action, withSubTasks, onClose);
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
        {report.data && !report.isFetching && (
          <>
            <Report task={task} report={report.data} action={action} />
            <SubTasks
              tasks={report.data.sub_tasks ?? []}
              action={action}
              included={withSubTasks}
              onChange={setWithSubTasks}
            />
          </>
        )}
        {close.error && <ErrorNotice error={close.error} />}
      </div>
    </AlertDialog>
  );
}

function useCloseTask(task: TaskCard, action: CloseAction, withSubTasks: boolean, onClose: () => void) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const navigate = useNavigate();
  const undo = useUndo(task, action);
  return useMutation({
    mutationFn: () => {
      const params = { params: { path: { id: task.id }, query: { seal: true, sub_tasks: withSubTasks } } };
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
      void client.invalidateQueries({ queryKey: keys.trash });
      showToast(t(`task:close.${action}.done`, { title: task.title }), "plain", {
        action: { label: t("task:close.undo"), run: () => void undo() },
        about: task.id,
      });
      onClose();
      if (action === "delete") void navigate({ to: "/" });
    },
  });
}

interface ReportProps {
  task: TaskCard;
  report: CloseReport;
  action: CloseAction;
}

function Report({ task, report, action }: ReportProps) {
  const { t } = useTranslation();
  return (
    <>
      <FactList>
        {report.live_sessions > 0 && (
          <FactLine icon={CircleStop}>{t("task:close.sessions", { count: report.live_sessions })}</FactLine>
        )}
        <WorkspaceFacts task={task} report={report} action={action} />
        {(report.found_elsewhere ?? []).map((reason) => (
          <FactLine key={reason} icon={PackageCheck}>
            {reason}
          </FactLine>
        ))}
        {report.restorable_until && (
          <FactLine icon={Undo2}>
            {t("task:close.restorableUntil", { day: day(report.restorable_until) })}
          </FactLine>
        )}
      </FactList>
      <AtStake sealed={report.sealed} stakes={report.stakes} />
    </>
  );
}

/** What happens to the workspace: it is given back and how it returns, or why it stays. */
function WorkspaceFacts({ task, report, action }: ReportProps) {
  const { t } = useTranslation();
  const path = report.workspace_path;
  const borrowers = report.borrowers ?? [];
  if (task.archived_at != null && task.cleanup_state == null) {
    return <FactLine icon={PackageCheck}>{t("task:close.givenBack")}</FactLine>;
  }
  if (path === "") return <FactLine icon={FolderX}>{t("task:close.noWorkspace")}</FactLine>;
  if (borrowers.length > 0) return <Lent borrowers={borrowers} heirId={report.heir_id ?? ""} path={path} />;
  if (report.keeps_workspace) {
    return (
      <FactLine icon={FolderCheck}>
        {t("task:close.workspaceKept")} <Path>{path}</Path>
      </FactLine>
    );
  }
  return (
    <>
      <FactLine icon={PackageCheck}>{t("task:close.seals")}</FactLine>
      <FactLine icon={FolderX}>
        {report.stakes.length > 0 ? t("task:close.workspaceWaits") : t("task:close.workspaceRemoved")}{" "}
        <Path>{path}</Path>
      </FactLine>
      {(report.disk_bytes ?? 0) > 0 && (
        <FactLine icon={HardDrive}>
          {t("task:close.diskBytes", { size: size(report.disk_bytes ?? 0) })}
        </FactLine>
      )}
      {action === "archive" && <FactLine icon={Undo2}>{t("task:close.comesBack")}</FactLine>}
      {report.branches_kept.map((branch) => (
        <FactLine key={branch} icon={GitBranch}>
          {t("task:close.branchKept")} <Path>{branch}</Path>
        </FactLine>
      ))}
      {action === "delete" && report.branches_kept.length === 0 && (
        <FactLine icon={GitBranch}>{t("task:close.branchRemoved")}</FactLine>
      )}
    </>
  );
}

interface LentProps {
  borrowers: readonly TaskRef[];
  heirId: string;
  path: string;
}

/** Other open tasks work in the workspace, so it stays; one of them owns it from then on, or the closing is refused. */
function Lent({ borrowers, heirId, path }: LentProps) {
  const { t } = useTranslation();
  const heir = borrowers.find(({ id }) => id === heirId);
  const titles = borrowers.map(({ title }) => `“${title}”`).join(", ");
  return (
    <FactLine icon={FolderCheck}>
      {heir ? t("task:close.lent", { titles, heir: heir.title }) : t("task:close.lentToNone", { titles })}{" "}
      <Path>{path}</Path>
    </FactLine>
  );
}

interface SubTasksProps {
  tasks: readonly TaskRef[];
  action: CloseAction;
  included: boolean;
  onChange: (included: boolean) => void;
}

/** The open sub-tasks: kept, unless they are included. */
function SubTasks({ tasks, action, included, onChange }: SubTasksProps) {
  const { t } = useTranslation();
  if (tasks.length === 0) return null;
  return (
    <section className="flex flex-col gap-1.5">
      <h3 className="font-semibold">{t("task:close.subTasks", { count: tasks.length })}</h3>
      <ul className="list-disc pl-5 [overflow-wrap:anywhere]">
        {tasks.map(({ id, title }) => (
          <li key={id}>{title}</li>
        ))}
      </ul>
      <Checkbox
        label={t(`task:close.${action}.withSubTasks`)}
        checked={included}
        onChange={(event) => onChange(event.target.checked)}
      />
      <p className="text-muted">
        {included ? t("task:close.subTasksIncluded") : t("task:close.subTasksKept")}
      </p>
    </section>
  );
}
