// The workspaces in the settings, each with the way to delete it.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { workspacesQuery } from "~/api/queries";
import type { Workspace } from "~/api/types";
import { Button } from "~/ui/button";
import { ErrorNotice, Loading } from "~/ui/feedback";
import { DeleteWorkspaceDialog } from "./delete-workspace-dialog";

export function WorkspacesSection() {
  const { t } = useTranslation();
  const workspaces = useQuery(workspacesQuery);
  const [asked, setAsked] = useState<Workspace | null>(null);
  return (
    <section className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4">
      <h2 className="font-semibold">{t("settings:workspaces")}</h2>
      {workspaces.error && <ErrorNotice error={workspaces.error} onRetry={() => void workspaces.refetch()} />}
      {workspaces.isPending && <Loading />}
      <ul className="flex flex-col divide-y divide-line rounded-md border border-line empty:hidden">
        {workspaces.data?.map((workspace) => (
          <li key={workspace.id} className="flex flex-wrap items-center justify-between gap-3 px-3 py-2">
            <span className="font-medium [overflow-wrap:anywhere]">{workspace.name}</span>
            <Button
              aria-label={t("workspace:delete.openNamed", { name: workspace.name })}
              onClick={() => setAsked(workspace)}
            >
              {t("workspace:delete.open")}
            </Button>
          </li>
        ))}
      </ul>
      {asked && <DeleteWorkspaceDialog workspace={asked} onClose={() => setAsked(null)} />}
    </section>
  );
}
