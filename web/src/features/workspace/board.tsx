// The board: one column per step; on the phone one column at a time.
import { useQuery } from "@tanstack/react-query";
import { Plus, Search } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { boardQuery, repositoriesQuery, workspacesQuery } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { Button } from "~/ui/button";
import { ErrorNotice, Loading } from "~/ui/feedback";
import { Input } from "~/ui/field";
import { usePhone } from "~/ui/media";
import { BoardColumns } from "./board-columns";
import { BoardPhone } from "./board-phone";

const FirstRun = lazy(() => import("./first-run").then((module) => ({ default: module.FirstRun })));
const NewTaskDialog = lazy(() =>
  import("~/features/task/new-task-dialog").then((module) => ({ default: module.NewTaskDialog })),
);

export function Board() {
  const { t } = useTranslation();
  const phone = usePhone();
  const workspaces = useQuery(workspacesQuery);
  const repositories = useQuery(repositoriesQuery);
  const board = useQuery(boardQuery);
  const [creating, setCreating] = useState(false);
  const [filter, setFilter] = useState("");
  const tasks = useMemo(() => matching(board.data ?? [], filter), [board.data, filter]);

  const failed = workspaces.error ?? repositories.error ?? board.error;
  if (failed) {
    const retry = () => {
      for (const query of [workspaces, repositories, board]) if (query.error) void query.refetch();
    };
    return (
      <div className="p-4">
        <ErrorNotice error={failed} onRetry={retry} />
      </div>
    );
  }
  const workspace = workspaces.data?.[0];
  const workflow = workspace?.workflows.find((one) => one.steps.length > 0);
  if (!workspace || !workflow || !repositories.data || !board.data) return <Loading />;
  if (repositories.data.length === 0 && board.data.length === 0) {
    return (
      <Suspense fallback={<Loading />}>
        <FirstRun />
      </Suspense>
    );
  }
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex shrink-0 items-center gap-2 border-b border-line bg-surface px-3 py-1.5 md:h-11">
        <h1 className="min-w-0 truncate font-semibold max-md:sr-only">{workflow.name}</h1>
        <span className="truncate text-muted max-md:hidden">{workspace.name}</span>
        <div className="relative ml-auto max-md:grow md:w-56">
          <Search
            size={14}
            className="pointer-events-none absolute left-2.5 top-1/2 -translate-y-1/2 text-muted"
            aria-hidden
          />
          <Input
            type="search"
            aria-label={t("workspace:board.filter")}
            placeholder={t("workspace:board.filter")}
            className="pl-8"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </div>
        <Button variant="primary" icon={<Plus size={15} aria-hidden />} onClick={() => setCreating(true)}>
          {t("task:new.open")}
        </Button>
      </header>
      {phone ? (
        <BoardPhone steps={workflow.steps} tasks={tasks} filtered={filter !== ""} />
      ) : (
        <BoardColumns steps={workflow.steps} tasks={tasks} filtered={filter !== ""} />
      )}
      <Suspense>{creating && <NewTaskDialog onClose={() => setCreating(false)} />}</Suspense>
    </div>
  );
}

function matching(tasks: readonly TaskCard[], filter: string): TaskCard[] {
  const words = filter.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return tasks.filter((task) => {
    const text = `${task.title} ${task.repositories.join(" ")}`.toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}
