import { Link } from "@tanstack/react-router";
import { ArrowRight, EllipsisVertical, FolderGit2, GripVertical } from "lucide-react";
import type { HTMLAttributes } from "react";
import { useTranslation } from "react-i18next";
import type { Step, TaskCard } from "~/api/types";
import { AttentionMark, needsAttention, TaskMark } from "~/features/task/state-mark";
import { ago, moment } from "~/i18n/time";
import { IconButton } from "~/ui/button";
import { classes } from "~/ui/classes";
import { Menu, MenuItem, MenuLabel } from "~/ui/menu";
import { useMoveTask } from "./use-move-task";

interface BoardCardProps {
  task: TaskCard;
  steps: readonly Step[];
  /** What makes the grip carry the card; absent where cards are not dragged. */
  handle?: HTMLAttributes<HTMLElement>;
  lifted?: boolean;
}

export function BoardCard({ task, steps, handle, lifted }: BoardCardProps) {
  return (
    <article
      data-task={task.id}
      className={classes(
        "group relative rounded-md border bg-surface pb-2",
        needsAttention(task) ? "border-wait" : "border-line",
        lifted ? "cursor-grabbing shadow-overlay" : "hover:border-line-strong",
      )}
    >
      <div className="flex items-start">
        {handle && <Grip title={task.title} handle={handle} />}
        <Link
          to="/tasks/$taskId"
          params={{ taskId: task.id }}
          draggable={false}
          className={classes(
            "min-w-0 grow py-2 font-medium after:absolute after:inset-0 max-md:py-3",
            !handle && "pl-3",
          )}
        >
          <span className="line-clamp-3 [overflow-wrap:anywhere]">{task.title}</span>
        </Link>
        <MoveMenu task={task} steps={steps} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 px-3 text-muted">
        <TaskMark state={task.state} />
        <AttentionMark task={task} />
        <time className="ml-auto" dateTime={task.updated_at} title={moment(task.updated_at)}>
          {ago(task.updated_at)}
        </time>
      </div>
      {task.repositories.length > 0 && (
        <p className="flex items-center gap-1.5 px-3 pt-0.5 text-muted">
          <FolderGit2 size={14} className="shrink-0" aria-hidden />
          <span className="truncate">{task.repositories.join(", ")}</span>
        </p>
      )}
    </article>
  );
}

function Grip({ title, handle }: { title: string; handle: HTMLAttributes<HTMLElement> }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      {...handle}
      aria-label={t("workspace:board.drag", { title })}
      className="relative z-10 mt-1.5 flex h-6 w-6 shrink-0 cursor-grab! touch-none items-center justify-center rounded text-muted hover:text-ink"
    >
      <GripVertical size={14} aria-hidden />
    </button>
  );
}

function MoveMenu({ task, steps }: { task: TaskCard; steps: readonly Step[] }) {
  const { t } = useTranslation();
  const move = useMoveTask();
  return (
    <div className="relative z-10 p-0.5">
      <Menu
        trigger={
          <IconButton
            label={t("workspace:board.actions", { title: task.title })}
            className="size-7"
            icon={<EllipsisVertical size={15} aria-hidden />}
          />
        }
      >
        <MenuLabel>{t("workspace:board.moveTo")}</MenuLabel>
        {steps.map((step) => (
          <MenuItem
            key={step.id}
            icon={<ArrowRight size={14} aria-hidden />}
            disabled={step.id === task.step_id}
            onSelect={() => move.mutate({ taskId: task.id, stepId: step.id, afterId: "" })}
          >
            {step.name}
          </MenuItem>
        ))}
      </Menu>
    </div>
  );
}
