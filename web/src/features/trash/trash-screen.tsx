import { useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { trashQuery } from "~/api/queries";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { Screen } from "~/ui/screen";
import { TrashEntry } from "./trash-entry";

/** Deleted tasks: until they expire, each can be looked at and brought back. */
export function TrashScreen() {
  const { t } = useTranslation();
  const trash = useQuery(trashQuery);
  return (
    <Screen title={t("trash:screen.title")} lead={t("trash:screen.lead")}>
      {trash.error && <ErrorNotice error={trash.error} onRetry={() => void trash.refetch()} />}
      {trash.isPending && <Loading />}
      {trash.data?.length === 0 && (
        <EmptyState icon={<Trash2 size={24} aria-hidden />} title={t("trash:screen.none")}>
          {t("trash:screen.noneBody")}
        </EmptyState>
      )}
      <div className="flex flex-col gap-2.5">
        {trash.data?.map((entry) => (
          <TrashEntry key={entry.task.id} entry={entry} />
        ))}
      </div>
    </Screen>
  );
}
