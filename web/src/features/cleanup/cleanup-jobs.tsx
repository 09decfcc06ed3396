import { useQuery } from "@tanstack/react-query";
import { HardDrive } from "lucide-react";
import { useTranslation } from "react-i18next";
import { cleanupJobsQuery } from "~/api/queries";
import type { CleanupJob } from "~/api/types";
import { EmptyState, ErrorNotice, Loading } from "~/ui/feedback";
import { CleanupJobCard, waitsForPerson } from "./cleanup-job-card";

/** All cleanup jobs; those that wait for a person come first. */
export function CleanupJobs() {
  const { t } = useTranslation();
  const jobs = useQuery(cleanupJobsQuery);
  return (
    <>
      {jobs.error && <ErrorNotice error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isPending && <Loading />}
      {jobs.data?.length === 0 && (
        <EmptyState icon={<HardDrive size={24} aria-hidden />} title={t("cleanup:screen.none")}>
          {t("cleanup:screen.noneBody")}
        </EmptyState>
      )}
      <div className="flex flex-col gap-2.5">
        {inOrder(jobs.data ?? []).map((job) => (
          <CleanupJobCard key={job.id} job={job} titled />
        ))}
      </div>
    </>
  );
}

function inOrder(jobs: readonly CleanupJob[]): CleanupJob[] {
  return [...jobs].sort(
    (a, b) =>
      Number(waitsForPerson(b)) - Number(waitsForPerson(a)) || b.updated_at.localeCompare(a.updated_at),
  );
}
