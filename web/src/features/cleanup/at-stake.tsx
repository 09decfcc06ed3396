// What exists nowhere else, before something is given back: what is sealed, and what no seal holds.
import { PackageCheck, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Stake } from "~/api/types";
import { StakeList } from "./stake-list";

interface AtStakeProps {
  sealed: readonly Stake[];
  stakes: readonly Stake[];
}

export function AtStake({ sealed, stakes }: AtStakeProps) {
  const { t } = useTranslation();
  return (
    <>
      {sealed.length > 0 && (
        <section className="flex flex-col gap-2 rounded-md border border-line bg-sunken p-3">
          <h3 className="flex items-center gap-2 font-semibold">
            <PackageCheck size={15} className="text-done" aria-hidden />
            {t("task:close.sealed")}
          </h3>
          <StakeList stakes={sealed} />
        </section>
      )}
      {stakes.length > 0 && (
        <section className="flex flex-col gap-2 rounded-md border border-wait bg-wait-soft p-3">
          <h3 className="flex items-center gap-2 font-semibold text-wait">
            <TriangleAlert size={15} aria-hidden />
            {t("task:close.unsealed")}
          </h3>
          <StakeList stakes={stakes} />
          <p>{t("task:close.unsealedWaits")}</p>
        </section>
      )}
    </>
  );
}
