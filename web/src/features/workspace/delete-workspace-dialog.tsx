// Asks before a workspace goes with all its tasks: what stops, what is sealed, until when it can be brought back. Its
// name must be typed; to confirm is to consent to the seals.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleStop, HardDrive, ListChecks, PackageCheck, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { workspaceReportQuery } from "~/api/queries";
import type { Workspace, WorkspaceCloseReport } from "~/api/types";
import { AtStake } from "~/features/cleanup/at-stake";
import { size } from "~/i18n/size";
import { day } from "~/i18n/time";
import { Button } from "~/ui/button";
import { AlertDialog } from "~/ui/dialog";
import { FactLine, FactList } from "~/ui/fact-list";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { ExactField } from "~/ui/field";
import { showToast } from "~/ui/toast";

export function DeleteWorkspaceDialog({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const { t } = useTranslation();
  const report = useQuery(workspaceReportQuery(workspace.id));
  const [typed, setTyped] = useState("");
  const remove = useDeleteWorkspace(workspace, typed, onClose);
  const seen = report.data !== undefined && !report.isFetching ? report.data : undefined;
  const ready = seen !== undefined && typed === workspace.name && !remove.isPending;
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("workspace:delete.title", { name: workspace.name })}
      keepLabel={t("workspace:delete.keep")}
      confirm={
        <Button variant="danger" className="max-md:grow" disabled={!ready} onClick={() => remove.mutate()}>
          {t("workspace:delete.confirm")}
        </Button>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) remove.mutate();
        }}
      >
        <p>{t("workspace:delete.body")}</p>
        {report.isFetching && <Spinner label={t("workspace:delete.looking")} />}
        {report.error && !report.isFetching && (
          <ErrorNotice error={report.error} onRetry={() => void report.refetch()} />
        )}
        {seen && <Facts report={seen} />}
        <ExactField
          label={t("workspace:delete.label", { name: workspace.name })}
          value={typed}
          onChange={setTyped}
        />
        {remove.error && <ErrorNotice error={remove.error} />}
      </form>
    </AlertDialog>
  );
}

function Facts({ report }: { report: WorkspaceCloseReport }) {
  const { t } = useTranslation();
  return (
    <>
      <FactList>
        <FactLine icon={ListChecks}>{t("workspace:delete.tasks", { count: report.task_count })}</FactLine>
        {report.live_sessions > 0 && (
          <FactLine icon={CircleStop}>{t("task:close.sessions", { count: report.live_sessions })}</FactLine>
        )}
        <FactLine icon={PackageCheck}>{t("workspace:delete.seals")}</FactLine>
        <FactLine icon={HardDrive}>{t("task:close.diskBytes", { size: size(report.disk_bytes) })}</FactLine>
        <FactLine icon={Undo2}>
          {t("workspace:delete.restorableUntil", { day: day(report.restorable_until) })}
        </FactLine>
      </FactList>
      <AtStake sealed={report.sealed} stakes={report.stakes} />
    </>
  );
}

function useDeleteWorkspace(workspace: Workspace, confirm: string, onClose: () => void) {
  const { t } = useTranslation();
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(
        api.DELETE("/api/v1/workspaces/{id}", {
          params: { path: { id: workspace.id }, query: { confirm, seal: true } },
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries();
      showToast(t("workspace:delete.done", { name: workspace.name }));
      onClose();
    },
  });
}
