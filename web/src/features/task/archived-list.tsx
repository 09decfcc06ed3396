import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Archive } from "lucide-react";
import { useTranslation } from "react-i18next";
import { archivedQuery } from "~/api/queries";
import { ago, moment } from "~/i18n/time";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { Screen } from "~/ui/screen";
import { AttentionMark } from "./state-mark";

/** Tasks that were archived: their conversations can be read, their workspace is given back. */
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
          <li key={task.id}>
            <Link
              to="/tasks/$taskId"
              params={{ taskId: task.id }}
              className="flex min-h-10 flex-wrap items-center gap-x-3 px-3 py-1.5 hover:bg-sunken max-md:min-h-13"
            >
              <span className="min-w-0 truncate font-medium">{task.title}</span>
              <span className="text-muted">{task.repositories.join(", ")}</span>
              <AttentionMark task={task} />
              {task.archived_at && (
                <time
                  className="ml-auto text-muted"
                  dateTime={task.archived_at}
                  title={moment(task.archived_at)}
                >
                  {ago(task.archived_at)}
                </time>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </Screen>
  );
}
