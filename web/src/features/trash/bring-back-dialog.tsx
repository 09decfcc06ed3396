// Brings a closed task back. What took its place or moved its branch is never overwritten: the dialog then
// offers another place or another branch.
import { useQuery } from "@tanstack/react-query";
import { FolderOpen, GitBranch, MessagesSquare } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "~/api/client";
import { sealsQuery } from "~/api/queries";
import type { TaskCard } from "~/api/types";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { FactLine, FactList, Path } from "~/ui/fact-list";
import { ErrorNotice, Spinner } from "~/ui/feedback";
import { RadioGroup } from "~/ui/radio-group";
import { AS_IT_WAS, type BranchChoice, type Choices, type Place, useBringBack } from "./bring-back";
import { newestSeals } from "./newest-seals";

const PLACES: readonly Place[] = ["same", "elsewhere"];
const BRANCHES: readonly BranchChoice[] = ["sealed", "new", "detached"];

/** What stood in the way so far. */
interface InTheWay {
  place: boolean;
  branch: boolean;
}

export function BringBackDialog({ task, onClose }: { task: TaskCard; onClose: () => void }) {
  const { t } = useTranslation();
  const formId = useId();
  const [choices, setChoices] = useState<Choices>(AS_IT_WAS);
  const [inTheWay, setInTheWay] = useState<InTheWay>({ place: false, branch: false });
  const back = useBringBack(task, onClose);
  const submit = () =>
    back.mutate(choices, {
      onError: (error) => {
        const found = whatStands(error);
        setInTheWay((old) => ({ place: old.place || found.place, branch: old.branch || found.branch }));
        setChoices((old) => otherThan(old, found));
      },
    });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("trash:back.title", { title: task.title })}
      footer={
        <>
          <Button variant="ghost" onClick={onClose}>
            {t("common:cancel")}
          </Button>
          <Button type="submit" form={formId} variant="primary" disabled={back.isPending}>
            {back.isPending ? t("trash:back.pending") : t("trash:back.submit")}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-3.5"
        onSubmit={(event) => {
          event.preventDefault();
          if (!back.isPending) submit();
        }}
      >
        <WhatComesBack taskId={task.id} choices={choices} />
        {back.error && <ErrorNotice error={back.error} offersNext={inTheWay.place || inTheWay.branch} />}
        {inTheWay.place && (
          <RadioGroup
            legend={t("trash:back.place.label")}
            value={choices.place}
            options={PLACES.map((value) => ({ value, label: t(`trash:back.place.${value}`) }))}
            onChange={(place) => setChoices({ ...choices, place })}
          />
        )}
        {inTheWay.branch && (
          <RadioGroup
            legend={t("trash:back.branch.label")}
            value={choices.branch}
            options={BRANCHES.map((value) => ({ value, label: t(`trash:back.branch.${value}`) }))}
            onChange={(branch) => setChoices({ ...choices, branch })}
          />
        )}
        {(inTheWay.place || inTheWay.branch) && (
          <p className="text-muted">{t("trash:back.nothingOverwritten")}</p>
        )}
      </form>
    </Dialog>
  );
}

function WhatComesBack({ taskId, choices }: { taskId: string; choices: Choices }) {
  const { t } = useTranslation();
  const seals = useQuery(sealsQuery(taskId));
  if (seals.error) return <ErrorNotice error={seals.error} onRetry={() => void seals.refetch()} />;
  if (!seals.data) return <Spinner label={t("trash:back.looking")} />;
  const { newest } = newestSeals(seals.data);
  return (
    <FactList>
      <FactLine icon={MessagesSquare}>{t("trash:back.conversations")}</FactLine>
      {newest.length === 0 && <FactLine icon={FolderOpen}>{t("trash:back.noSeal")}</FactLine>}
      {newest.map(({ seal }) => (
        <FactLine key={seal.id} icon={FolderOpen}>
          {choices.place === "same"
            ? t("trash:back.files", { count: seal.file_count })
            : t("trash:back.filesElsewhere", { count: seal.file_count })}{" "}
          <Path>{seal.worktree_path}</Path>
        </FactLine>
      ))}
      {choices.branch === "sealed" &&
        newest
          .filter(({ seal }) => seal.branch !== "")
          .map(({ seal }) => (
            <FactLine key={seal.id} icon={GitBranch}>
              {t("trash:back.onBranch")} <Path>{seal.branch}</Path>
            </FactLine>
          ))}
    </FactList>
  );
}

/** What an answer says stood in the way of a restoration. */
function whatStands(error: unknown): InTheWay {
  if (!(error instanceof ApiError)) return { place: false, branch: false };
  const { code } = error.body;
  return {
    place: code === "path_taken",
    // A seal without a commit cannot come back without a branch: that is refused as a conflict too.
    branch: code.startsWith("branch_") || (code === "restore_failed" && error.status === 409),
  };
}

/** The first choice that avoids what stood in the way. */
function otherThan(choices: Choices, found: InTheWay): Choices {
  return {
    place: found.place ? "elsewhere" : choices.place,
    branch: found.branch ? "new" : choices.branch,
  };
}
