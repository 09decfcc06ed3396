// States as a sign and a word; colour only supports them.

import type { LucideIcon } from "lucide-react";
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleX,
  Eye,
  Hand,
  LoaderCircle,
  Pause,
  TriangleAlert,
} from "lucide-react";
import { useTranslation } from "react-i18next";
import type { TaskCard } from "~/api/types";
import { classes } from "~/ui/classes";

interface Look {
  icon: LucideIcon;
  tone: string;
  spins?: boolean;
}

const TASK: Record<string, Look> = {
  TODO: { icon: CircleDashed, tone: "text-muted" },
  CREATED: { icon: CircleDashed, tone: "text-muted" },
  SCHEDULING: { icon: LoaderCircle, tone: "text-run", spins: true },
  IN_PROGRESS: { icon: LoaderCircle, tone: "text-run", spins: true },
  WAITING_FOR_INPUT: { icon: Hand, tone: "text-wait" },
  REVIEW: { icon: Eye, tone: "text-review" },
  BLOCKED: { icon: Ban, tone: "text-wait" },
  COMPLETED: { icon: CircleCheck, tone: "text-done" },
  FAILED: { icon: CircleX, tone: "text-fail" },
  CANCELLED: { icon: Ban, tone: "text-muted" },
};

const SESSION: Record<string, Look> = {
  CREATED: { icon: CircleDashed, tone: "text-muted" },
  STARTING: { icon: LoaderCircle, tone: "text-run", spins: true },
  RUNNING: { icon: LoaderCircle, tone: "text-run", spins: true },
  WAITING_FOR_INPUT: { icon: Hand, tone: "text-wait" },
  IDLE: { icon: CircleDot, tone: "text-done" },
  COMPLETED: { icon: Pause, tone: "text-muted" },
  FAILED: { icon: CircleX, tone: "text-fail" },
  CANCELLED: { icon: Ban, tone: "text-muted" },
  INTERRUPTED: { icon: Pause, tone: "text-wait" },
};

const UNKNOWN: Look = { icon: CircleDashed, tone: "text-muted" };

function Mark({ look, word, compact }: { look: Look; word: string; compact: boolean | undefined }) {
  const Icon = look.icon;
  return (
    <span
      className={classes("inline-flex items-center gap-1.5 whitespace-nowrap", look.tone)}
      title={compact ? word : undefined}
    >
      <Icon size={14} className={classes("shrink-0", look.spins && "animate-spin")} aria-hidden />
      <span className={compact ? "sr-only" : undefined}>{word}</span>
    </span>
  );
}

export function TaskMark({ state, compact }: { state: string; compact?: boolean }) {
  const { t } = useTranslation();
  return (
    <Mark
      look={TASK[state] ?? UNKNOWN}
      word={t(`task:state.${state}`, { defaultValue: state })}
      compact={compact}
    />
  );
}

export function SessionMark({ state, compact }: { state: string; compact?: boolean }) {
  const { t } = useTranslation();
  return (
    <Mark
      look={SESSION[state] ?? UNKNOWN}
      word={t(`session:state.${state}`, { defaultValue: state })}
      compact={compact}
    />
  );
}

/** Says that a person has to do something: answer an agent, or decide about a cleanup. */
export function AttentionMark({ task }: { task: TaskCard }) {
  const { t } = useTranslation();
  if (task.cleanup_state === "needs_decision" || task.cleanup_state === "failed") {
    return (
      <span className="inline-flex items-center gap-1.5 text-wait">
        <TriangleAlert size={14} aria-hidden />
        {t("task:attention.decision")}
      </span>
    );
  }
  if (task.cleanup_state) {
    return (
      <span className="inline-flex items-center gap-1.5 text-muted">
        <LoaderCircle size={14} className="animate-spin" aria-hidden />
        {t("task:attention.closing")}
      </span>
    );
  }
  return null;
}

/** Whether a task waits for a person. */
export function needsAttention(task: TaskCard): boolean {
  return (
    task.state === "WAITING_FOR_INPUT" ||
    task.state === "FAILED" ||
    task.cleanup_state === "needs_decision" ||
    task.cleanup_state === "failed"
  );
}
