import { Archive, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { TaskCard } from "~/api/types";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { BringBackDialog } from "./bring-back-dialog";

/** Says on an archived task's screen that its workspace is sealed, and offers it back. */
export function ClosedNotice({ task }: { task: TaskCard }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  if (task.archived_at == null || task.deleted_at != null || task.cleanup_state != null) return null;
  return (
    <aside
      aria-label={t("trash:closed.label")}
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line bg-sunken px-3 py-1.5"
    >
      <Archive size={15} className="shrink-0 text-muted" aria-hidden />
      <p className="min-w-0 grow basis-56">
        <time dateTime={task.archived_at} title={moment(task.archived_at)}>
          {t("trash:closed.archived", { when: ago(task.archived_at) })}
        </time>
      </p>
      <Button className="max-md:grow" icon={<Undo2 size={14} aria-hidden />} onClick={() => setAsking(true)}>
        {t("trash:back.open")}
      </Button>
      {asking && <BringBackDialog task={task} onClose={() => setAsking(false)} />}
    </aside>
  );
}
