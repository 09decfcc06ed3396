import { Brain, ChevronRight, CircleAlert, Info, ListChecks } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Message, Permission, Plan, ToolCall } from "~/api/types";
import { classes } from "~/ui/classes";
import { Markdown } from "./markdown";
import { PermissionCard } from "./permission-card";
import { ToolCard } from "./tool-card";

interface MessageViewProps {
  message: Message;
  sessionId: string;
  taskId: string;
}

/** One entry of a conversation, by its kind. What the page does not know is shown as text. */
export function MessageView({ message, sessionId, taskId }: MessageViewProps) {
  switch (message.kind) {
    case "thinking":
      return <Thinking text={message.content} />;
    case "tool_call":
      return <ToolCard title={message.content} call={message.metadata as unknown as ToolCall} />;
    case "agent_plan":
      return <PlanCard plan={message.metadata as unknown as Plan} />;
    case "permission_request":
      return (
        <PermissionCard
          title={message.content}
          permission={message.metadata as unknown as Permission}
          sessionId={sessionId}
          taskId={taskId}
        />
      );
    case "error":
      return <Notice tone="error" icon={<CircleAlert size={15} aria-hidden />} text={message.content} />;
    case "status":
      return <Notice tone="plain" icon={<Info size={15} aria-hidden />} text={message.content} />;
    default:
      return <Spoken message={message} />;
  }
}

function Spoken({ message }: { message: Message }) {
  const { t } = useTranslation();
  const mine = message.author === "user";
  return (
    <article
      aria-label={mine ? t("session:author.user") : t("session:author.agent")}
      className={classes(mine && "rounded-lg border border-line bg-accent-soft px-3 py-2 md:ml-10")}
    >
      {mine ? (
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{message.content}</p>
      ) : (
        <Markdown text={message.content} />
      )}
    </article>
  );
}

function Notice({ tone, icon, text }: { tone: "plain" | "error"; icon: ReactNode; text: string }) {
  return (
    <p
      role={tone === "error" ? "alert" : undefined}
      className={classes(
        "flex items-start gap-2 [overflow-wrap:anywhere] [&>svg]:mt-0.5 [&>svg]:shrink-0",
        tone === "error"
          ? "rounded-md border border-fail bg-fail-soft px-3 py-2 [&>svg]:text-fail"
          : "text-muted",
      )}
    >
      {icon}
      <span className="min-w-0 whitespace-pre-wrap">{text}</span>
    </p>
  );
}

function Thinking({ text }: { text: string }) {
  const { t } = useTranslation();
  return (
    <details className="group text-muted">
      <summary className="flex w-fit list-none items-center gap-1.5 rounded hover:text-ink max-md:min-h-11">
        <ChevronRight size={14} className="transition-transform group-open:rotate-90" aria-hidden />
        <Brain size={14} aria-hidden />
        {t("session:thinking")}
      </summary>
      <div className="ml-1.5 border-l-2 border-line pl-3 pt-1">
        <Markdown text={text} />
      </div>
    </details>
  );
}

function PlanCard({ plan }: { plan: Plan }) {
  const { t } = useTranslation();
  const entries = plan.entries ?? [];
  const done = entries.filter((entry) => entry.status === "completed").length;
  return (
    <section aria-label={t("session:plan")} className="rounded-md border border-line bg-surface px-3 py-2">
      <h2 className="flex items-center gap-2 font-medium">
        <ListChecks size={15} className="text-muted" aria-hidden />
        {t("session:plan")}
        <span className="font-normal text-muted tabular-nums">
          {t("session:planProgress", { done, total: entries.length })}
        </span>
      </h2>
      <ol className="mt-1.5 flex flex-col gap-1">
        {entries.map((entry, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a plan's entries have no name but their place
          <li key={index} className="flex items-start gap-2">
            <input
              type="checkbox"
              readOnly
              disabled
              checked={entry.status === "completed"}
              aria-label={t(`session:planStatus.${entry.status}`, { defaultValue: entry.status })}
              className="mt-1 accent-accent"
            />
            <span
              className={classes(
                "min-w-0 [overflow-wrap:anywhere]",
                entry.status === "completed" && "text-muted line-through",
                entry.status === "in_progress" && "font-medium",
              )}
            >
              {entry.content}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
