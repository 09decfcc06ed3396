import { ChevronRight, FolderGit2, Trash2, Undo2 } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { TrashedTask } from "~/api/types";
import type { DiffLayout } from "~/features/changes/diff-view";
import { AttentionMark } from "~/features/task/state-mark";
import { size } from "~/i18n/size";
import { ago, day, moment, until } from "~/i18n/time";
import { Button } from "~/ui/button";
import { classes } from "~/ui/classes";
import { usePhone } from "~/ui/media";
import { useRemembered } from "~/ui/remembered";
import { BringBackDialog } from "./bring-back-dialog";
import { PurgeDialog } from "./purge-dialog";
import { SealsView } from "./seals-view";

/** With less than this left, the day on which a task goes stands out. */
const SOON_MS = 3 * 24 * 60 * 60 * 1_000;

/** One deleted task: how old and how large it is, when it goes, what is in it, and the two ways out. */
export function TrashEntry({ entry }: { entry: TrashedTask }) {
  const { t } = useTranslation();
  const previewId = useId();
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState<"back" | "purge" | null>(null);
  const { task } = entry;
  const isBusy = task.cleanup_state != null;
  return (
    <article data-trashed={task.id} className="rounded-md border border-line bg-surface">
      <div className="flex flex-col gap-2 p-3">
        <Facts entry={entry} />
        <div className="flex flex-wrap gap-2">
          <Button
            className="max-md:w-full"
            aria-expanded={open}
            aria-controls={previewId}
            icon={
              <ChevronRight
                size={14}
                className={classes("transition-transform", open && "rotate-90")}
                aria-hidden
              />
            }
            onClick={() => setOpen(!open)}
          >
            {t("trash:entry.preview")}
          </Button>
          <Button
            className="max-md:grow"
            icon={<Undo2 size={14} aria-hidden />}
            onClick={() => setAsked("back")}
          >
            {t("trash:back.open")}
          </Button>
          <Button
            variant="danger"
            className="max-md:grow"
            icon={<Trash2 size={14} aria-hidden />}
            disabled={isBusy}
            onClick={() => setAsked("purge")}
          >
            {t("trash:purge.open")}
          </Button>
        </div>
      </div>
      <div id={previewId} className={open ? "border-t border-line" : undefined}>
        {open && <Preview taskId={task.id} />}
      </div>
      {asked === "back" && <BringBackDialog task={task} onClose={() => setAsked(null)} />}
      {asked === "purge" && <PurgeDialog entry={entry} onClose={() => setAsked(null)} />}
    </article>
  );
}

function Facts({ entry }: { entry: TrashedTask }) {
  const { t } = useTranslation();
  const { task, trashed_at, expires_at, size_bytes } = entry;
  const isSoon = Date.parse(expires_at) - Date.now() < SOON_MS;
  return (
    <header className="flex flex-col gap-1">
      <h2 className="font-semibold [overflow-wrap:anywhere]">{task.title}</h2>
      <p className="flex flex-wrap items-center gap-x-3 text-muted">
        {task.repositories.length > 0 && (
          <span className="inline-flex min-w-0 items-center gap-1.5">
            <FolderGit2 size={14} className="shrink-0" aria-hidden />
            <span className="truncate">{task.repositories.join(", ")}</span>
          </span>
        )}
        <time dateTime={trashed_at} title={moment(trashed_at)}>
          {t("trash:entry.deleted", { when: ago(trashed_at) })}
        </time>
        <span>{entry.seals.length > 0 ? size(size_bytes) : t("trash:entry.noSeal")}</span>
        <AttentionMark task={task} />
      </p>
      <p className={isSoon ? "text-wait" : "text-muted"}>
        <time dateTime={expires_at} title={moment(expires_at)}>
          {t("trash:entry.goes", { when: until(expires_at), day: day(expires_at) })}
        </time>
      </p>
    </header>
  );
}

function Preview({ taskId }: { taskId: string }) {
  const phone = usePhone();
  const [layout] = useRemembered<DiffLayout>("diff-layout", "unified");
  return <SealsView taskId={taskId} layout={phone ? "unified" : layout} />;
}
