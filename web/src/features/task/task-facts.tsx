// The phone's third view: the task itself — its sessions, what was asked, its workspace, its cleanups.
import { EllipsisVertical, MessageSquareX, Plus, SquareX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Session, TaskDetail } from "~/api/types";
import { CleanupJobCard } from "~/features/cleanup/cleanup-job-card";
import { DeleteSessionDialog } from "~/features/session/delete-session-dialog";
import { isLive, useNewSession, useStopSession } from "~/features/session/use-session";
import { Button, IconButton } from "~/ui/button";
import { ActionsSheet, SheetAction } from "~/ui/dialog";
import { SessionMark } from "./state-mark";
import { isClosed } from "./task-menu";

interface TaskFactsProps {
  detail: TaskDetail;
  onSession: (sessionId: string | undefined) => void;
}

export function TaskFacts({ detail, onSession }: TaskFactsProps) {
  const { t } = useTranslation();
  const { environment, prompt } = detail;
  return (
    <div className="flex h-full flex-col gap-5 overflow-y-auto p-4">
      <SessionsSection detail={detail} onSession={onSession} />
      {prompt && (
        <Section title={t("task:facts.prompt")}>
          <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{prompt}</p>
        </Section>
      )}
      <Section title={t("task:facts.workspace")}>
        {environment ? (
          <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1.5 [&_dd]:font-mono [&_dd]:[overflow-wrap:anywhere] [&_dt]:text-muted">
            <dt>{t("task:facts.folder")}</dt>
            <dd>{environment.workspace_path}</dd>
            {environment.repositories.map((repository) => (
              <BranchFacts
                key={repository.id}
                branch={repository.worktree_branch}
                base={repository.base_branch}
              />
            ))}
          </dl>
        ) : (
          <p className="text-muted">{t("task:facts.noWorkspace")}</p>
        )}
      </Section>
      {detail.cleanup_jobs.length > 0 && (
        <Section title={t("task:facts.cleanups")}>
          <div className="flex flex-col gap-2">
            {detail.cleanup_jobs.map((job) => (
              <CleanupJobCard key={job.id} job={job} />
            ))}
          </div>
        </Section>
      )}
    </div>
  );
}

function BranchFacts({ branch, base }: { branch: string; base: string }) {
  const { t } = useTranslation();
  return (
    <>
      <dt>{t("task:facts.branch")}</dt>
      <dd>{branch}</dd>
      <dt>{t("task:facts.base")}</dt>
      <dd>{base}</dd>
    </>
  );
}

function Section({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <header className="flex min-h-11 items-center justify-between">
        <h2 className="font-semibold">{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}

function SessionsSection({ detail, onSession }: TaskFactsProps) {
  const { t } = useTranslation();
  const [acting, setActing] = useState<Session | null>(null);
  const [deleting, setDeleting] = useState<Session | null>(null);
  const create = useNewSession(detail.task.id, onSession);
  const stop = useStopSession(detail.task.id);
  return (
    <Section
      title={t("session:list")}
      action={
        <Button
          icon={<Plus size={15} aria-hidden />}
          disabled={create.isPending || isClosed(detail) || !detail.environment}
          onClick={() => create.mutate({})}
        >
          {t("session:new")}
        </Button>
      }
    >
      {detail.sessions.length === 0 && <p className="text-muted">{t("session:none")}</p>}
      <ul className="flex flex-col divide-y divide-line rounded-md border border-line bg-surface empty:hidden">
        {detail.sessions.map((session) => (
          <li key={session.id} className="flex items-center">
            <button
              type="button"
              onClick={() => onSession(session.id)}
              className="flex min-h-13 min-w-0 grow flex-col justify-center px-3 text-left"
            >
              <span className="truncate font-medium">{session.name}</span>
              <span className="flex items-center gap-3 text-[0.9em] text-muted">
                <SessionMark state={session.state} />
                <span className="truncate">{session.agent_name}</span>
              </span>
            </button>
            <IconButton
              label={t("session:actions", { name: session.name })}
              icon={<EllipsisVertical size={17} aria-hidden />}
              onClick={() => setActing(session)}
            />
          </li>
        ))}
      </ul>
      <ActionsSheet open={acting !== null} onOpenChange={() => setActing(null)} title={acting?.name ?? ""}>
        <SheetAction
          icon={<SquareX size={17} aria-hidden />}
          disabled={!acting || !isLive(acting)}
          onSelect={() => {
            if (acting) stop.mutate(acting.id);
            setActing(null);
          }}
        >
          {t("session:stopAgent")}
        </SheetAction>
        <SheetAction
          danger
          icon={<MessageSquareX size={17} aria-hidden />}
          onSelect={() => {
            setDeleting(acting);
            setActing(null);
          }}
        >
          {t("session:delete.open")}
        </SheetAction>
      </ActionsSheet>
      {deleting && (
        <DeleteSessionDialog
          session={deleting}
          sessions={detail.sessions}
          onClose={() => setDeleting(null)}
          onDeleted={() => undefined}
        />
      )}
    </Section>
  );
}
