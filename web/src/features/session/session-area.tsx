// The conversations of a task: tabs, the one that is shown, and what to do when there is none.
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, MessageSquareX, Play, Plus, SquareX } from "lucide-react";
import { Tabs } from "radix-ui";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { agentsQuery } from "~/api/queries";
import type { Session, TaskDetail } from "~/api/types";
import { SessionMark } from "~/features/task/state-mark";
import { isClosed } from "~/features/task/task-menu";
import { useStartTask } from "~/features/task/use-start-task";
import { Button, IconButton } from "~/ui/button";
import { EmptyState, Spinner } from "~/ui/feedback";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "~/ui/menu";
import { ConversationView } from "./conversation-view";
import { DeleteSessionDialog } from "./delete-session-dialog";
import { isLive, useNewSession, useStopSession } from "./use-session";

interface SessionAreaProps {
  detail: TaskDetail;
  sessionId: string | undefined;
  onSession: (sessionId: string | undefined) => void;
}

export function SessionArea({ detail, sessionId, onSession }: SessionAreaProps) {
  const { t } = useTranslation();
  const { sessions } = detail;
  const current =
    sessions.find(({ id }) => id === sessionId) ??
    sessions.find((session) => session.is_primary) ??
    sessions[0];
  if (!current) return <NoSession detail={detail} onSession={onSession} />;
  return (
    <Tabs.Root value={current.id} onValueChange={onSession} className="flex h-full min-h-0 flex-col">
      <div className="flex h-10 shrink-0 items-stretch border-b border-line bg-surface pr-1 max-md:h-12">
        <Tabs.List aria-label={t("session:list")} className="flex min-w-0 overflow-x-auto">
          {sessions.map((session) => (
            <Tabs.Trigger
              key={session.id}
              value={session.id}
              className="flex shrink-0 items-center gap-1.5 border-b-2 border-transparent px-3 text-muted hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
            >
              <SessionMark state={session.state} compact />
              {session.name}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <div className="flex shrink-0 items-center">
          <SessionMenu detail={detail} session={current} onSession={onSession} />
          <NewSessionButton detail={detail} onSession={onSession} />
        </div>
        <p className="ml-auto flex min-w-0 items-center gap-3 pl-3 pr-2 text-muted max-lg:hidden">
          <span className="truncate">{current.agent_name}</span>
          <SessionMark state={current.state} />
        </p>
      </div>
      <Tabs.Content value={current.id} tabIndex={-1} className="min-h-0 grow">
        <ConversationView key={current.id} session={current} closed={isClosed(detail)} />
      </Tabs.Content>
    </Tabs.Root>
  );
}

interface SessionMenuProps {
  detail: TaskDetail;
  session: Session;
  onSession: (sessionId: string | undefined) => void;
}

function SessionMenu({ detail, session, onSession }: SessionMenuProps) {
  const { t } = useTranslation();
  const [deleting, setDeleting] = useState(false);
  const stop = useStopSession(detail.task.id);
  return (
    <>
      <Menu
        trigger={
          <IconButton
            label={t("session:actions", { name: session.name })}
            icon={<ChevronDown size={15} aria-hidden />}
          />
        }
      >
        <MenuItem
          icon={<SquareX size={14} aria-hidden />}
          disabled={!isLive(session)}
          onSelect={() => stop.mutate(session.id)}
        >
          {t("session:stopAgent")}
        </MenuItem>
        <MenuSeparator />
        <MenuItem danger icon={<MessageSquareX size={14} aria-hidden />} onSelect={() => setDeleting(true)}>
          {t("session:delete.open")}
        </MenuItem>
      </Menu>
      {deleting && (
        <DeleteSessionDialog
          session={session}
          sessions={detail.sessions}
          onClose={() => setDeleting(false)}
          onDeleted={() => onSession(undefined)}
        />
      )}
    </>
  );
}

function NewSessionButton({ detail, onSession }: Omit<SessionMenuProps, "session">) {
  const { t } = useTranslation();
  const agents = useQuery(agentsQuery);
  const create = useNewSession(detail.task.id, onSession);
  const disabled = create.isPending || isClosed(detail) || !detail.environment;
  const icon = <Plus size={16} aria-hidden />;
  if ((agents.data?.length ?? 0) < 2) {
    return (
      <IconButton
        label={t("session:new")}
        icon={icon}
        disabled={disabled}
        onClick={() => create.mutate({})}
      />
    );
  }
  return (
    <Menu trigger={<IconButton label={t("session:new")} icon={icon} disabled={disabled} />}>
      <MenuLabel>{t("session:newWith")}</MenuLabel>
      {agents.data?.map((agent) => (
        <MenuItem key={agent.id} onSelect={() => create.mutate({ agentId: agent.id })}>
          {agent.name}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** No conversation: the workspace is being made, could not be made, is there without one, or is gone. */
function NoSession({ detail, onSession }: Omit<SessionMenuProps, "session">) {
  const { t } = useTranslation();
  const { task, environment, error_message } = detail;
  const create = useNewSession(task.id, onSession);
  const start = useStartTask(task.id);
  if (isClosed(detail)) {
    return <EmptyState title={t("session:closed.title")}>{t("session:closed.body")}</EmptyState>;
  }
  if (task.state === "SCHEDULING" || environment?.status === "creating") {
    return (
      <div className="grid h-full place-items-center">
        <Spinner label={t("session:preparing")} />
      </div>
    );
  }
  if (task.state === "FAILED" && error_message) {
    return (
      <EmptyState
        title={t("session:failed.title")}
        action={
          <Button variant="primary" disabled={start.isPending} onClick={() => start.mutate()}>
            {t("common:tryAgain")}
          </Button>
        }
      >
        <p className="[overflow-wrap:anywhere]">{error_message}</p>
      </EmptyState>
    );
  }
  const ready = environment?.status === "ready";
  return (
    <EmptyState
      title={t("session:empty.title")}
      action={
        ready ? (
          <Button
            variant="primary"
            icon={<Plus size={15} aria-hidden />}
            disabled={create.isPending}
            onClick={() => create.mutate({})}
          >
            {t("session:new")}
          </Button>
        ) : (
          <Button
            variant="primary"
            icon={<Play size={15} aria-hidden />}
            disabled={start.isPending}
            onClick={() => start.mutate()}
          >
            {t("task:start")}
          </Button>
        )
      }
    >
      {ready ? t("session:empty.kept") : t("session:empty.notStarted")}
    </EmptyState>
  );
}
