import { Hand } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Permission } from "~/api/types";
import { Button } from "~/ui/button";
import { useAnswerPermission } from "./use-session";

interface PermissionCardProps {
  title: string;
  permission: Permission;
  sessionId: string;
  taskId: string;
}

/** An agent asks whether it may do something; it waits until one of its answers is chosen. */
export function PermissionCard({ title, permission, sessionId, taskId }: PermissionCardProps) {
  const { t } = useTranslation();
  const answer = useAnswerPermission(taskId, sessionId);
  const options = permission.options ?? [];
  if (permission.status !== "pending") {
    const chosen = options.find((option) => option.option_id === permission.chosen)?.name;
    return (
      <p className="flex items-start gap-2 text-muted">
        <Hand size={15} className="mt-0.5 shrink-0" aria-hidden />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {title}
          {" — "}
          {permission.status === "expired"
            ? t("session:permission.expired")
            : (chosen ?? t("session:permission.refused"))}
        </span>
      </p>
    );
  }
  return (
    <section
      aria-label={t("session:permission.title")}
      className="flex flex-col gap-2.5 rounded-md border border-wait bg-wait-soft p-3"
    >
      <h2 className="flex items-center gap-2 font-semibold text-wait">
        <Hand size={15} aria-hidden />
        {t("session:permission.title")}
      </h2>
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{title}</p>
      <div className="flex flex-wrap gap-2">
        {options.map((option) => (
          <Button
            key={option.option_id}
            variant={option.kind.startsWith("allow_once") ? "primary" : "secondary"}
            disabled={answer.isPending}
            className="max-w-full max-md:grow"
            onClick={() => answer.mutate({ requestId: permission.request_id, optionId: option.option_id })}
          >
            <span className="truncate">{option.name}</span>
          </Button>
        ))}
        <Button
          variant="ghost"
          disabled={answer.isPending}
          onClick={() => answer.mutate({ requestId: permission.request_id, optionId: null })}
        >
          {t("session:permission.cancel")}
        </Button>
      </div>
    </section>
  );
}
