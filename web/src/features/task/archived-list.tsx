import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Archive, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { archivedQuery } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { BringBackDialog } from "~/features/trash/bring-back-dialog";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { Screen } from "~/ui/screen";
import { AttentionMark } from "./state-mark";

/** Tasks that were archived: their conversations can be read, and each can be brought back. */
export function ArchivedList() {
  const { t } = useTranslation();
  const tasks = useQuery(archivedQuery);
  return (
    <Screen title={t("task:archived.title")} lead={t("task:archived.lead")}>
      {tasks.error && <ErrorNotice error={tasks.error} onRetry={() => void tasks.refetch()} />}
      {tasks.isPending && <Loading />}
      {tasks.data?.length === 0 && (
        <EmptyState icon={<Archive size={24} aria-hidden />} title={t("task:archived.none")} />
      )}
      <ul className="flex flex-col divide-y divide-line rounded-md border border-line bg-surface empty:hidden">
        {tasks.data?.map((task) => (
          <ArchivedItem key={task.id} task={task} />
        ))}
      </ul>
    </Screen>
  );
}

function ArchivedItem({ task }: { task: TaskCard }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  return (
    <li className="flex flex-wrap items-center gap-2 pr-2 hover:bg-sunken max-md:pb-2 max-md:pl-2">
      <Link
        to="/tasks/$taskId"
        params={{ taskId: task.id }}
        className="flex min-h-10 min-w-0 grow basis-56 flex-wrap items-center gap-x-3 px-3 py-1.5 max-md:min-h-13"
      >
        <span className="min-w-0 truncate font-medium">{task.title}</span>
        <span className="text-muted">{task.repositories.join(", ")}</span>
        <AttentionMark task={task} />
        {task.archived_at && (
          <time
            className="text-muted md:ml-auto"
            dateTime={task.archived_at}
            title={moment(task.archived_at)}
          >
            {ago(task.archived_at)}
          </time>
        )}
      </Link>
      <Button
        className="max-md:grow"
        aria-label={t("trash:back.openNamed", { title: task.title })}
        icon={<Undo2 size={14} aria-hidden />}
        onClick={() => setAsking(true)}
      >
        {t("trash:back.open")}
      </Button>
      {asking && <BringBackDialog task={task} onClose={() => setAsking(false)} />}
    </li>
  );
}
