// What a screen shows when it has nothing, waits, or failed.
import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "~/i18n/error-text";
import { Button } from "./button";

export function Spinner({ label }: { label?: string }) {
  const { t } = useTranslation();
  return (
    <span role="status" className="inline-flex items-center gap-2 text-muted">
      <LoaderCircle size={15} className="animate-spin" aria-hidden />
      {label ?? t("common:loading")}
    </span>
  );
}

export function Loading() {
  return (
    <div className="grid h-full min-h-24 place-items-center">
      <Spinner />
    </div>
  );
}

interface EmptyStateProps {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** Whether it is all that the page shows. */
  wholePage?: boolean;
}

export function EmptyState({ icon, title, children, action, wholePage }: EmptyStateProps) {
  const Heading = wholePage ? "h1" : "h2";
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-4 py-10 text-center">
      {icon && <span className="text-muted">{icon}</span>}
      <Heading className="text-[1.1em] font-semibold">{title}</Heading>
      {children && <div className="text-muted">{children}</div>}
      {action && <div className="mt-2">{action}</div>}
    </div>
  );
}

interface ErrorNoticeProps {
  error: unknown;
  onRetry?: (() => void) | undefined;
  /** Whether what to do next is offered beside the notice, so that it need not say it. */
  offersNext?: boolean;
}

export function ErrorNotice({ error, onRetry, offersNext }: ErrorNoticeProps) {
  const { t } = useTranslation();
  const { message, hint } = errorText(t, error);
  return (
    <div
      role="alert"
      className="flex items-start gap-2.5 rounded-md border border-fail bg-fail-soft px-3 py-2"
    >
      <CircleAlert size={16} className="mt-0.5 shrink-0 text-fail" aria-hidden />
      <div className="min-w-0 grow [overflow-wrap:anywhere]">
        <p>{message}</p>
        {hint && !offersNext && <p className="text-muted">{hint}</p>}
      </div>
      {onRetry && <Button onClick={onRetry}>{t("common:tryAgain")}</Button>}
    </div>
  );
}
