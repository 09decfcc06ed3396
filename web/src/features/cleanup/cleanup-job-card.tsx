import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ban, CircleCheck, CircleX, Clock, LoaderCircle, type LucideIcon, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { keys } from "~/api/queries";
import type { CleanupJob } from "~/api/types";
import { ago, moment } from "~/i18n/time";
import { Button } from "~/ui/button";
import { classes } from "~/ui/classes";
import { ErrorNotice } from "~/ui/feedback";
import { DiscardDialog } from "./discard-dialog";
import { StakeList } from "./stake-list";

type Decision = { decision: "retry" | "keep" } | { decision: "discard"; phrase: string };

/** Jobs that take seals away, and no workspace. */
const PURGES = ["trash_purge", "seal_expiry"];

const LOOKS: Record<string, { icon: LucideIcon; tone: string; spins?: boolean }> = {
  prepared: { icon: Clock, tone: "text-muted" },
  pending: { icon: Clock, tone: "text-muted" },
  running: { icon: LoaderCircle, tone: "text-run", spins: true },
  retry_wait: { icon: Clock, tone: "text-wait" },
  needs_decision: { icon: TriangleAlert, tone: "text-wait" },
  succeeded: { icon: CircleCheck, tone: "text-done" },
  failed: { icon: CircleX, tone: "text-fail" },
  cancelled: { icon: Ban, tone: "text-muted" },
};

/** Whether a person must decide before anything more happens. */
export function waitsForPerson(job: CleanupJob): boolean {
  return job.state === "needs_decision" || job.state === "failed";
}

/** One cleanup: how far it is, why it stopped, and what a person can decide. */
export function CleanupJobCard({ job, titled }: { job: CleanupJob; titled?: boolean }) {
  const { t } = useTranslation();
  const { icon: Icon, tone, spins } = LOOKS[job.state] ?? { icon: Clock, tone: "text-muted" };
  const waits = waitsForPerson(job);
  return (
    <article
      data-cleanup-job={job.id}
      className={classes(
        "flex flex-col gap-2 rounded-md border p-3",
        waits ? "border-wait bg-wait-soft" : "border-line bg-surface",
      )}
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
        <h2 className="flex min-w-0 items-center gap-2 font-semibold">
          <Icon size={15} className={classes("shrink-0", tone, spins && "animate-spin")} aria-hidden />
          <span className="truncate">
            {titled
              ? job.task_title || job.task_id
              : t(`cleanup:trigger.${job.trigger}`, { defaultValue: job.trigger })}
          </span>
        </h2>
        <span className={tone}>{t(`cleanup:state.${job.state}`, { defaultValue: job.state })}</span>
        {titled && (
          <span className="text-muted">
            {t(`cleanup:trigger.${job.trigger}`, { defaultValue: job.trigger })}
          </span>
        )}
        <time className="ml-auto text-muted" dateTime={job.updated_at} title={moment(job.updated_at)}>
          {ago(job.updated_at)}
        </time>
      </header>
      {waits && <p>{t(`cleanup:kept.${whatIsKept(job)}`)}</p>}
      {job.stakes.length > 0 && <StakeList stakes={job.stakes} />}
      {job.is_foreign && waits && <p>{t("cleanup:foreign")}</p>}
      {job.last_error && job.stakes.length === 0 && !(job.is_foreign && waits) && (
        <p className="[overflow-wrap:anywhere]">{job.last_error}</p>
      )}
      {job.state === "retry_wait" && job.next_attempt_at && (
        <p className="text-muted">
          {t("cleanup:nextAttempt", { attempts: job.attempts, when: moment(job.next_attempt_at) })}
        </p>
      )}
      {job.worktree_paths.length > 0 && (
        <ul className="font-mono text-[0.92em] text-muted [overflow-wrap:anywhere]">
          {job.worktree_paths.map((path) => (
            <li key={path}>{path}</li>
          ))}
        </ul>
      )}
      {waits && <Decisions job={job} />}
    </article>
  );
}

/** What can be said of a job that stopped: of what is named, of another program's, or of all of it. */
function whatIsKept(job: CleanupJob): "named" | "foreign" | "all" {
  if (job.stakes.length > 0) return "named";
  return job.is_foreign ? "foreign" : "all";
}

/** What calling the job off keeps; nothing when it cannot be called off. */
function whatKeepingKeeps(job: CleanupJob): "task" | "seals" | "place" | null {
  if (job.is_foreign) return "task";
  if (job.trigger === "quarantine" || job.trigger === "quarantine_purge") return "place";
  // The traces of a failed start belong to nobody: they can be moved away, and then looked at again.
  if (job.trigger === "failed_creation") return null;
  return PURGES.includes(job.trigger) ? "seals" : "task";
}

function Decisions({ job }: { job: CleanupJob }) {
  const { t } = useTranslation();
  const [discarding, setDiscarding] = useState(false);
  const decide = useDecision(job);
  const kept = whatKeepingKeeps(job);
  return (
    <>
      <div className="flex flex-wrap gap-2">
        {kept && (
          <Button
            variant="primary"
            className="max-md:grow"
            disabled={decide.isPending}
            onClick={() => decide.mutate({ decision: "keep" })}
          >
            {t(`cleanup:decide.keep.${kept}`)}
          </Button>
        )}
        {!job.is_foreign && (
          <Button
            className="max-md:grow"
            disabled={decide.isPending}
            onClick={() => decide.mutate({ decision: "retry" })}
          >
            {t("cleanup:decide.retry")}
          </Button>
        )}
        {job.discard_phrase && (
          <Button
            variant="danger"
            className="max-md:grow"
            disabled={decide.isPending}
            onClick={() => setDiscarding(true)}
          >
            {t("cleanup:decide.discard")}
          </Button>
        )}
      </div>
      {!job.is_foreign && (
        <p className="text-muted">
          {kept && `${t(`cleanup:decide.helpKeep.${kept}`)} `}
          {t("cleanup:decide.helpRetry")}
        </p>
      )}
      {decide.error && <ErrorNotice error={decide.error} />}
      {discarding && job.discard_phrase && (
        <DiscardDialog
          job={job}
          phrase={job.discard_phrase}
          onClose={() => setDiscarding(false)}
          onDiscard={(phrase) => decide.mutate({ decision: "discard", phrase })}
        />
      )}
    </>
  );
}

function useDecision(job: CleanupJob) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (decision: Decision) =>
      unwrap(
        api.POST("/api/v1/cleanup-jobs/{id}/decision", {
          params: { path: { id: job.id } },
          body: decision,
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.cleanupJobs });
      void client.invalidateQueries({ queryKey: keys.tasks });
      void client.invalidateQueries({ queryKey: keys.trash });
      void client.invalidateQueries({ queryKey: keys.task(job.task_id), exact: true });
    },
  });
}
