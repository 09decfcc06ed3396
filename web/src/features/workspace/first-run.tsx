import { FolderGit2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { AddRepositoryForm } from "~/features/repository/add-repository-form";

/** What a newcomer sees: what this is, and the one thing to do first. */
export function FirstRun() {
  const { t } = useTranslation();
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto flex max-w-xl flex-col gap-5 px-4 py-10 md:py-20">
        <FolderGit2 size={30} className="text-accent" aria-hidden />
        <div className="flex flex-col gap-2">
          <h1 className="text-[1.5em] font-semibold leading-tight">{t("workspace:firstRun.title")}</h1>
          <p className="text-muted">{t("workspace:firstRun.body")}</p>
        </div>
        <AddRepositoryForm />
        <ol className="flex list-decimal flex-col gap-1 pl-5 text-muted">
          <li>{t("workspace:firstRun.step1")}</li>
          <li>{t("workspace:firstRun.step2")}</li>
          <li>{t("workspace:firstRun.step3")}</li>
        </ol>
      </div>
    </div>
  );
}
