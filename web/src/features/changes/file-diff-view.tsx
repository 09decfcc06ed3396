import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { type DiffSource, diffQuery } from "~/api/queries";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { parsePatch } from "./diff-model";
import { type DiffLayout, DiffView } from "./diff-view";

interface FileDiffViewProps {
  source: DiffSource;
  path: string;
  layout: DiffLayout;
}

/** One file's difference, fetched when it is opened. */
export function FileDiffView({ source, path, layout }: FileDiffViewProps) {
  const { t } = useTranslation();
  const diff = useQuery(diffQuery(source, path));
  const hunks = useMemo(() => parsePatch(diff.data?.patch ?? ""), [diff.data]);
  if (diff.error) return <ErrorNotice error={diff.error} onRetry={() => void diff.refetch()} />;
  if (!diff.data) {
    return (
      <div className="px-3 py-2">
        <Spinner />
      </div>
    );
  }
  if (diff.data.binary) return <p className="px-3 py-2 text-muted">{t("changes:binaryFile")}</p>;
  return (
    <>
      <DiffView label={path} hunks={hunks} layout={layout} />
      {diff.data.too_large && <p className="px-3 py-2 text-wait">{t("changes:tooLarge")}</p>}
    </>
  );
}
