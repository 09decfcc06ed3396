import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys, storageQuery } from "~/api/queries";
import type { RepositoryStorage, Room, Storage, TaskStorage } from "~/api/types";
import { size } from "~/i18n/size";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { ErrorNotice, Loading } from "~/ui/feedback";
import { usePhone } from "~/ui/media";
import { sharesOf, taskBytes } from "./shares";
import { Treemap } from "./treemap";

/** What takes room, by repository and task. */
export function RoomView() {
  const storage = useQuery(storageQuery);
  if (storage.error) return <ErrorNotice error={storage.error} onRetry={() => void storage.refetch()} />;
  if (!storage.data) return <Loading />;
  return <Rooms storage={storage.data} />;
}

function Rooms({ storage }: { storage: Storage }) {
  const { t } = useTranslation();
  const isPhone = usePhone();
  const shares = sharesOf(storage);
  const tasks = [...storage.tasks].sort((one, other) => taskBytes(other) - taskBytes(one));
  return (
    <div className="flex flex-col gap-3">
      <MeasureLine storage={storage} />
      {!isPhone && shares.length > 0 && <Treemap shares={shares} />}
      {storage.repositories.length > 0 && (
        <ul aria-label={t("storage:room.repositories")} className="flex flex-col gap-1">
          {storage.repositories.map((repository) => (
            <RepositoryLine key={repository.id} repository={repository} />
          ))}
        </ul>
      )}
      {tasks.length === 0 && <p className="text-muted">{t("storage:room.none")}</p>}
      {tasks.length > 0 && (
        <ul aria-label={t("storage:room.tasks")} className="flex flex-col divide-y divide-line">
          {tasks.map((task) => (
            <TaskLine key={task.task_id} task={task} />
          ))}
        </ul>
      )}
      <p className="text-muted">
        {t("storage:room.others", {
          idle: roomText(t, storage.idle),
          quarantine: roomText(t, storage.quarantine),
          unowned: roomText(t, storage.unowned),
        })}
      </p>
    </div>
  );
}

function MeasureLine({ storage }: { storage: Storage }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const measure = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/storage/measure")),
    onSuccess: (measured) => client.setQueryData(keys.storage, measured),
  });
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
      <p className="min-w-0 grow [overflow-wrap:anywhere]">
        <code className="font-mono text-[0.95em]">{storage.root}</code>{" "}
        {storage.free_bytes != null && (
          <span className="text-muted">{t("storage:room.free", { size: size(storage.free_bytes) })}</span>
        )}
      </p>
      <Button
        icon={<RefreshCw size={14} aria-hidden />}
        disabled={measure.isPending || storage.is_measuring}
        onClick={() => measure.mutate()}
      >
        {storage.is_measuring ? t("storage:room.measuring") : t("storage:room.measure")}
      </Button>
      {measure.error && <ErrorNotice error={measure.error} />}
    </div>
  );
}

function RepositoryLine({ repository }: { repository: RepositoryStorage }) {
  const { t } = useTranslation();
  return (
    <li className="flex flex-wrap gap-x-3">
      <span className="min-w-0 grow truncate font-medium">{repository.name}</span>
      <span>
        {t("storage:room.worktrees", { count: repository.worktrees.count })},{" "}
        {roomText(t, repository.worktrees)}
      </span>
      {repository.seal_count > 0 && (
        <span className="text-muted">{t("storage:room.sealed", { size: size(repository.seal_bytes) })}</span>
      )}
    </li>
  );
}

function TaskLine({ task }: { task: TaskStorage }) {
  const { t } = useTranslation();
  const { measured_at } = task.workspace;
  return (
    <li className="flex flex-col gap-0.5 py-1.5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        {task.state === "deleted" ? (
          <span className="min-w-0 grow truncate">{task.title}</span>
        ) : (
          <Link
            to="/tasks/$taskId"
            params={{ taskId: task.task_id }}
            className="min-w-0 grow truncate underline-offset-2 hover:underline max-md:py-3"
          >
            {task.title}
          </Link>
        )}
        <span className="text-muted">{t(`storage:task.${task.state}`, { defaultValue: task.state })}</span>
        <span>{onDisk(t, task)}</span>
      </div>
      <p className="flex flex-wrap gap-x-3 text-muted [overflow-wrap:anywhere]">
        {task.seal_count > 0 && <span>{t("storage:room.sealed", { size: size(task.seal_bytes) })}</span>}
        {task.script_runs > 0 && (
          <span>
            {t("storage:task.scripts", { count: task.script_runs, size: size(task.script_output) })}
          </span>
        )}
        {task.hostname !== "" && <span>{t("storage:task.elsewhere", { hostname: task.hostname })}</span>}
        {measured_at && (
          <time dateTime={measured_at} title={moment(measured_at)}>
            {t("storage:room.measured", { when: ago(measured_at) })}
          </time>
        )}
      </p>
    </li>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

function onDisk(t: Translate, task: TaskStorage): string {
  if (task.workspace_path === "") return t("storage:task.nothing");
  return task.is_persons ? t("storage:task.yours") : roomText(t, task.workspace);
}

/** How much room some places take, with what is not known about it. */
function roomText(t: Translate, room: Room): string {
  if (room.count === 0) return size(0);
  if (room.measured_at == null) return t("storage:room.unmeasured");
  const bytes = size(room.size_bytes);
  return room.at_least || room.unmeasured > 0 ? t("storage:room.atLeast", { size: bytes }) : bytes;
}
