import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { cleanupJobsQuery } from "~/api/queries";
import { waitsForPerson } from "~/features/cleanup/cleanup-job-card";
import { CleanupJobs } from "~/features/cleanup/cleanup-jobs";
import { Screen } from "~/ui/screen";
import { QuarantineList } from "./quarantine-list";
import { RoomView } from "./room-view";
import { UnownedList } from "./unowned-list";

/** What takes room and whose it is, what nobody owns, the quarantine, and the jobs that give workspaces back. */
export function StorageScreen() {
  const { t } = useTranslation();
  const jobs = useQuery(cleanupJobsQuery);
  const waits = jobs.data?.some(waitsForPerson) ?? false;
  const cleanup = (
    <Section title={t("cleanup:screen.title")} lead={t("cleanup:screen.lead")}>
      <CleanupJobs />
    </Section>
  );
  return (
    <Screen title={t("storage:screen.title")} lead={t("storage:screen.lead")}>
      {waits && cleanup}
      <Section title={t("storage:room.title")} lead={t("storage:room.lead")}>
        <RoomView />
      </Section>
      <Section title={t("storage:unowned.title")} lead={t("storage:unowned.lead")}>
        <UnownedList />
      </Section>
      <Section title={t("storage:quarantine.title")} lead={t("storage:quarantine.lead")}>
        <QuarantineList />
      </Section>
      {!waits && cleanup}
    </Screen>
  );
}

function Section({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2.5">
      <header>
        <h2 className="text-[1.1em] font-semibold">{title}</h2>
        <p className="text-muted">{lead}</p>
      </header>
      {children}
    </section>
  );
}
