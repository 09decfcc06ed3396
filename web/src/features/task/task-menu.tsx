import { Archive, EllipsisVertical, FolderSync, Pencil, Play, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { TaskDetail } from "~/api/types";
import { canComeBack } from "~/features/trash/bring-back";
import { BringBackDialog } from "~/features/trash/bring-back-dialog";
import { Button, IconButton } from "~/ui/button";
import { usePhone } from "~/ui/media";
import { Menu, MenuItem, MenuSeparator } from "~/ui/menu";
import { CloseTaskDialog } from "./close-task-dialog";
import { RenameTaskDialog } from "./rename-task-dialog";
import { ResetDialog } from "./reset-dialog";
import { useStartTask } from "./use-start-task";

type Asked = "rename" | "reset" | "archive" | "delete" | "back" | null;

/** Whether the task has been archived or deleted, or is about to be. */
export function isClosed(detail: TaskDetail): boolean {
  return (
    detail.task.archived_at != null || detail.task.deleted_at != null || detail.task.cleanup_state != null
  );
}

export function TaskMenu({ detail }: { detail: TaskDetail }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [asked, setAsked] = useState<Asked>(null);
  const start = useStartTask(detail.task.id);
  const startable = !isClosed(detail) && detail.sessions.length === 0 && detail.task.state !== "SCHEDULING";
  const close = () => setAsked(null);
  return (
    <>
      {startable && !phone && (
        <Button
          variant="primary"
          icon={<Play size={14} aria-hidden />}
          disabled={start.isPending}
          onClick={() => start.mutate()}
        >
          {t("task:start")}
        </Button>
      )}
      <Menu
        trigger={
          <IconButton label={t("task:menu.label")} icon={<EllipsisVertical size={16} aria-hidden />} />
        }
      >
        {startable && phone && (
          <MenuItem icon={<Play size={14} aria-hidden />} onSelect={() => start.mutate()}>
            {t("task:start")}
          </MenuItem>
        )}
        <MenuItem icon={<Pencil size={14} aria-hidden />} onSelect={() => setAsked("rename")}>
          {t("task:menu.rename")}
        </MenuItem>
        {detail.environment && !isClosed(detail) && (
          <MenuItem icon={<FolderSync size={14} aria-hidden />} onSelect={() => setAsked("reset")}>
            {t("task:menu.reset")}
          </MenuItem>
        )}
        <MenuSeparator />
        {canComeBack(detail.task) ? (
          <MenuItem icon={<Undo2 size={14} aria-hidden />} onSelect={() => setAsked("back")}>
            {t("task:menu.bringBack")}
          </MenuItem>
        ) : (
          <MenuItem
            icon={<Archive size={14} aria-hidden />}
            disabled={isClosed(detail)}
            onSelect={() => setAsked("archive")}
          >
            {t("task:menu.archive")}
          </MenuItem>
        )}
        <MenuItem
          danger
          icon={<Trash2 size={14} aria-hidden />}
          disabled={detail.task.deleted_at != null || detail.task.cleanup_state != null}
          onSelect={() => setAsked("delete")}
        >
          {t("task:menu.delete")}
        </MenuItem>
      </Menu>
      {asked === "rename" && <RenameTaskDialog task={detail.task} onClose={close} />}
      {asked === "reset" && <ResetDialog task={detail.task} onClose={close} />}
      {asked === "back" && <BringBackDialog task={detail.task} onClose={close} />}
      {(asked === "archive" || asked === "delete") && (
        <CloseTaskDialog task={detail.task} action={asked} onClose={close} />
      )}
    </>
  );
}
