// One task: its conversations and its changes side by side on the desktop, one at a time on the phone.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowLeft, FileDiff, ListTodo, MessageSquare } from "lucide-react";
import { useTranslation } from "react-i18next";
import { ApiError } from "~/api/client";
import { taskQuery } from "~/api/queries";
import type { TaskDetail } from "~/api/types";
import { ChangesPanel } from "~/features/changes/changes-panel";
import { CleanupJobCard } from "~/features/cleanup/cleanup-job-card";
import { SessionArea } from "~/features/session/session-area";
import { ClosedNotice } from "~/features/trash/closed-notice";
import { classes } from "~/ui/classes";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { usePhone } from "~/ui/media";
import { SplitPane } from "~/ui/split-pane";
import { AttentionMark, TaskMark } from "./state-mark";
import { TaskFacts } from "./task-facts";
import { TaskMenu } from "./task-menu";

type View = "chat" | "changes" | "task";

interface TaskScreenProps {
  taskId: string;
  sessionId: string | undefined;
  view: View;
  onSession: (sessionId: string | undefined) => void;
  onView: (view: View) => void;
}

export function TaskScreen(props: TaskScreenProps) {
  const { t } = useTranslation();
  const phone = usePhone();
  const query = useQuery(taskQuery(props.taskId));
  if (query.error instanceof ApiError && query.error.status === 404) {
    return (
      <EmptyState wholePage title={t("task:gone.title")}>
        <p>
          <Link to="/trash" className="text-accent underline max-md:inline-block max-md:py-3">
            {t("task:gone.trash")}
          </Link>
        </p>
        <Link to="/" className="text-accent underline max-md:inline-block max-md:py-3">
          {t("common:notFound.back")}
        </Link>
      </EmptyState>
    );
  }
  if (query.error && !query.data) {
    return (
      <div className="p-4">
        <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
      </div>
    );
  }
  if (!query.data) return <Loading />;
  return phone ? (
    <PhoneTask {...props} detail={query.data} />
  ) : (
    <DesktopTask {...props} detail={query.data} />
  );
}

type LoadedProps = TaskScreenProps & { detail: TaskDetail };

function DesktopTask({ detail, sessionId, onSession }: LoadedProps) {
  const { t } = useTranslation();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <TaskHeader detail={detail} />
      <ClosedNotice task={detail.task} />
      <OpenDecisions detail={detail} />
      <SplitPane
        name="task"
        label={t("task:resize")}
        first={<SessionArea detail={detail} sessionId={sessionId} onSession={onSession} />}
        second={<ChangesPanel detail={detail} />}
      />
    </div>
  );
}

function PhoneTask({ detail, sessionId, view, onSession, onView }: LoadedProps) {
  const openChat = (next: string | undefined) => {
    onSession(next);
    if (view !== "chat") onView("chat");
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <TaskHeader detail={detail} />
      <ClosedNotice task={detail.task} />
      {view !== "task" && <OpenDecisions detail={detail} />}
      <div className="min-h-0 grow">
        {view === "chat" && <SessionArea detail={detail} sessionId={sessionId} onSession={onSession} />}
        {view === "changes" && <ChangesPanel detail={detail} />}
        {view === "task" && <TaskFacts detail={detail} onSession={openChat} />}
      </div>
      <TaskNavigation view={view} onView={onView} />
    </div>
  );
}

const VIEWS = [
  { view: "chat", icon: MessageSquare, label: "task:view.chat" },
  { view: "changes", icon: FileDiff, label: "task:view.changes" },
  { view: "task", icon: ListTodo, label: "task:view.task" },
] as const;

function TaskNavigation({ view, onView }: { view: View; onView: (view: View) => void }) {
  const { t } = useTranslation();
  return (
    <nav
      aria-label={t("task:view.label")}
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)]"
    >
      {VIEWS.map(({ view: target, icon: Icon, label }) => (
        <button
          key={target}
          type="button"
          aria-current={view === target ? "page" : undefined}
          onClick={() => onView(target)}
          className={classes(
            "flex min-h-13 grow basis-0 flex-col items-center justify-center gap-0.5 text-[0.75rem]",
            view === target ? "font-medium text-accent" : "text-muted",
          )}
        >
          <Icon size={19} aria-hidden />
          {t(label)}
        </button>
      ))}
    </nav>
  );
}

function TaskHeader({ detail }: { detail: TaskDetail }) {
  const { t } = useTranslation();
  const { task, environment } = detail;
  const branch = environment?.repositories[0]?.worktree_branch;
  const place = [task.repositories.join(", "), branch].filter(Boolean).join(" · ");
  return (
    <header className="flex shrink-0 items-center gap-2.5 border-b border-line bg-surface py-1.5 pl-3 pr-2 max-md:pl-1">
      <Link
        to="/"
        aria-label={t("common:nav.board")}
        className="grid size-11 shrink-0 place-items-center rounded-md md:hidden"
      >
        <ArrowLeft size={18} aria-hidden />
      </Link>
      <div className="min-w-0 grow">
        <h1 className="truncate font-semibold" title={task.title}>
          {task.title}
        </h1>
        <p className="flex items-center gap-3 text-[0.92em] text-muted">
          <TaskMark state={task.state} />
          <AttentionMark task={task} />
          <span className="truncate" title={place}>
            {place}
          </span>
        </p>
      </div>
      <TaskMenu detail={detail} />
    </header>
  );
}

/** Cleanups of this task that wait for a person; nothing else on the screen is as urgent. */
function OpenDecisions({ detail }: { detail: TaskDetail }) {
  const waiting = detail.cleanup_jobs.filter(
    (job) => job.state === "needs_decision" || job.state === "failed",
  );
  if (waiting.length === 0) return null;
  return (
    <div className="max-h-[45vh] shrink-0 overflow-y-auto border-b border-line p-2.5">
      {waiting.map((job) => (
        <CleanupJobCard key={job.id} job={job} />
      ))}
    </div>
  );
}
