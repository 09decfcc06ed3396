import type { ErrorComponentProps } from "@tanstack/react-router";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { EmptyState, ErrorNotice } from "~/ui/feedback";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState wholePage title={t("common:notFound.title")}>
      <Link to="/" className="text-accent underline">
        {t("common:notFound.back")}
      </Link>
    </EmptyState>
  );
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <div className="p-4">
      <ErrorNotice error={error} onRetry={reset} />
    </div>
  );
}
