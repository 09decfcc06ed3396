// The frame around every screen: where one can go, whether the page is current, and the token gate.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useMatchRoute } from "@tanstack/react-router";
import { Archive, HardDrive, LayoutGrid, Settings, Trash2, WifiOff } from "lucide-react";
import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { cleanupJobsQuery } from "~/api/queries";
import { currentToken, onTokenChange } from "~/api/token";
import { TaskList } from "~/features/task/task-list";
import { Loading } from "~/ui/feedback";
import { usePhone } from "~/ui/media";
import { Toasts } from "~/ui/toast";
import { useLiveConnection, useLiveStatus } from "./live-status";

const TokenScreen = lazy(() => import("./token-screen").then((module) => ({ default: module.TokenScreen })));

const PLACES = [
  { to: "/", icon: LayoutGrid, label: "common:nav.board" },
  { to: "/archived", icon: Archive, label: "common:nav.archived" },
  { to: "/trash", icon: Trash2, label: "common:nav.trash" },
  { to: "/storage", icon: HardDrive, label: "common:nav.storage" },
  { to: "/settings", icon: Settings, label: "common:nav.settings" },
] as const;

export function Shell() {
  const token = useSyncExternalStore(onTokenChange, currentToken);
  const client = useQueryClient();
  useEffect(() => {
    // What one token could read is not shown to a page without it.
    if (token === "") client.clear();
  }, [token, client]);
  if (token === "") {
    return (
      <Suspense fallback={<Loading />}>
        <TokenScreen />
      </Suspense>
    );
  }
  return <Frame key={token} />;
}

function Frame() {
  useLiveConnection();
  const { t } = useTranslation();
  const phone = usePhone();
  const onTask = useMatchRoute()({ to: "/tasks/$taskId", fuzzy: true }) !== false;
  return (
    <div className="flex h-full min-h-0 md:flex-row max-md:flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-60 focus:m-2 focus:rounded-md focus:bg-raised focus:px-3 focus:py-2"
      >
        {t("common:skipToContent")}
      </a>
      {!phone && <Sidebar withTasks={onTask} />}
      <div className="flex min-h-0 min-w-0 grow flex-col">
        <ConnectionNotice />
        <main id="main" tabIndex={-1} className="min-h-0 grow overflow-hidden">
          <Outlet />
        </main>
      </div>
      {phone && !onTask && <BottomBar />}
      <Toasts />
    </div>
  );
}

function Sidebar({ withTasks }: { withTasks: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="flex w-52 shrink-0 flex-col border-r border-line bg-sunken">
      <header className="flex h-11 shrink-0 items-center gap-2 px-3 font-semibold">
        <img src="/icon.svg" alt="" width={20} height={20} />
        {t("common:product")}
      </header>
      <nav aria-label={t("common:nav.label")} className="flex shrink-0 flex-col gap-0.5 px-2">
        {PLACES.map(({ to, icon: Icon, label }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: true }}
            className="flex h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-surface hover:text-ink [&.active]:bg-surface [&.active]:font-medium [&.active]:text-ink"
          >
            <Icon size={15} aria-hidden />
            {t(label)}
            {to === "/storage" && <WaitingJobs />}
          </Link>
        ))}
      </nav>
      {withTasks && <TaskList />}
    </div>
  );
}

function BottomBar() {
  const { t } = useTranslation();
  return (
    <nav
      aria-label={t("common:nav.label")}
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)]"
    >
      {PLACES.map(({ to, icon: Icon, label }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true }}
          className="flex min-h-13 grow basis-0 flex-col items-center justify-center gap-0.5 text-[0.75rem] text-muted [&.active]:font-medium [&.active]:text-accent"
        >
          <span className="relative">
            <Icon size={19} aria-hidden />
            {to === "/storage" && <WaitingJobs />}
          </span>
          {t(label)}
        </Link>
      ))}
    </nav>
  );
}

/** How many cleanups wait for a person; nothing when none does. */
function WaitingJobs() {
  const { t } = useTranslation();
  const { data: jobs = [] } = useQuery(cleanupJobsQuery);
  const waiting = jobs.filter((job) => job.state === "needs_decision" || job.state === "failed").length;
  if (waiting === 0) return null;
  return (
    <span className="rounded-full bg-wait-soft px-1.5 text-[0.75rem] leading-5 font-medium text-wait tabular-nums md:ml-auto max-md:absolute max-md:-top-1.5 max-md:left-3.5">
      <span aria-hidden>{waiting}</span>
      <span className="sr-only">{t("common:nav.waiting", { count: waiting })}</span>
    </span>
  );
}

function ConnectionNotice() {
  const { t } = useTranslation();
  const status = useLiveStatus();
  return (
    <div role="status" aria-live="polite">
      {status === "waiting" && (
        <p className="flex items-center gap-2 border-b border-line bg-wait-soft px-3 py-1.5 text-wait">
          <WifiOff size={15} aria-hidden />
          {t("common:connection.waiting")}
        </p>
      )}
    </div>
  );
}
