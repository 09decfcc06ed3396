import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { boardQuery } from "~/api/queries";
import { needsAttention, TaskMark } from "./state-mark";

/** The open tasks beside a task: those that wait for a person first. */
export function TaskList() {
  const { t } = useTranslation();
  const { data: tasks = [] } = useQuery(boardQuery);
  const ordered = [...tasks].sort((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)));
  return (
    <nav
      aria-label={t("task:list.label")}
      className="mt-3 flex min-h-0 grow flex-col border-t border-line pt-2"
    >
      <h2 className="px-4 pb-1 text-[0.9em] font-medium text-muted">{t("task:list.label")}</h2>
      <ul className="min-h-0 grow overflow-y-auto px-2 pb-2">
        {ordered.map((task) => (
          <li key={task.id}>
            <Link
              to="/tasks/$taskId"
              params={{ taskId: task.id }}
              className="flex h-8 items-center gap-2 rounded-md px-2 text-muted hover:bg-surface hover:text-ink [&.active]:bg-surface [&.active]:text-ink"
            >
              <TaskMark state={task.state} compact />
              <span className="truncate">{task.title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
