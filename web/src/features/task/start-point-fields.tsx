// The part of the new task's form that says where the task works.
import { useTranslation } from "react-i18next";
import { ApiError } from "~/api/client";
import type { Branch } from "~/api/types";
import { Button } from "~/ui/button";
import { ErrorNotice } from "~/ui/feedback";
import { Checkbox, ExactField, Field, Select } from "~/ui/field";
import { makesBranch, offeredStarts, START_KINDS, type StartKind, type StartPoint } from "./start-point";

interface StartKindFieldProps {
  start: StartPoint;
  onChange: (part: Partial<StartPoint>) => void;
}

export function StartKindField({ start, onChange }: StartKindFieldProps) {
  const { t } = useTranslation();
  return (
    <Field label={t("task:new.where")} hint={hintOf(start.kind)}>
      {(control) => (
        <Select
          {...control}
          value={start.kind}
          onChange={(event) => onChange({ kind: event.target.value as StartKind })}
        >
          {START_KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {t(`task:new.where.${kind}`)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );

  function hintOf(kind: StartKind): string | undefined {
    const hinted = kind === "in_place" || kind === "adopted" || kind === "scratch" || kind === "existing";
    return hinted ? t(`task:new.whereHint.${kind}`) : undefined;
  }
}

interface StartPointFieldsProps extends StartKindFieldProps {
  branches: Branch[];
  /** The base branch that is chosen. */
  base: Branch | undefined;
  /** Whether what the kind needs is missing and was asked for. */
  incomplete: boolean;
}

/** What else has to be said for the chosen kind. */
export function StartPointFields({ start, branches, base, incomplete, onChange }: StartPointFieldsProps) {
  const { t } = useTranslation();
  const missing = incomplete ? t("task:new.missing") : undefined;
  return (
    <>
      {start.kind === "revision" && (
        <ExactField
          label={t("task:new.revision")}
          placeholder={t("task:new.revisionExample")}
          error={missing}
          value={start.revision}
          onChange={(revision) => onChange({ revision })}
        />
      )}
      {start.kind === "fetch" && (
        <ExactField
          label={t("task:new.fetchRef")}
          hint={t("task:new.fetchRefHint")}
          placeholder={t("task:new.fetchRefExample")}
          error={missing}
          value={start.fetchRef}
          onChange={(fetchRef) => onChange({ fetchRef })}
        />
      )}
      {start.kind === "adopted" && (
        <ExactField
          label={t("task:new.path")}
          placeholder={t("task:new.pathExample")}
          error={missing}
          value={start.path}
          onChange={(path) => onChange({ path })}
        />
      )}
      {start.kind === "existing" && (
        <Field label={t("task:new.existing")} error={missing}>
          {(control) => (
            <Select
              {...control}
              value={start.existing}
              onChange={(event) => onChange({ existing: event.target.value })}
            >
              <option value="">{t("task:new.choose")}</option>
              {branches.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {makesBranch(start.kind) && (
        <ExactField
          label={t("task:new.newBranch")}
          placeholder={t("task:new.newBranchPlaceholder")}
          value={start.newBranch}
          onChange={(newBranch) => onChange({ newBranch })}
        />
      )}
      {start.kind === "branch" && base?.is_remote && (
        <Checkbox
          label={t("task:new.refresh")}
          checked={start.refresh}
          onChange={(event) => onChange({ refresh: event.target.checked })}
        />
      )}
    </>
  );
}

interface RefusedStartProps {
  error: unknown;
  onChoose: (start: StartPoint) => void;
  onOpenTask: (taskId: string) => void;
}

/** Why a task was not made, with the ways out that the server offers. */
export function RefusedStart({ error, onChoose, onOpenTask }: RefusedStartProps) {
  const { t } = useTranslation();
  const offer = error instanceof ApiError ? error.body.offer : undefined;
  if (!offer) return <ErrorNotice error={error} />;
  const taskId = offer.task_id;
  return (
    <div className="flex flex-col gap-2">
      <ErrorNotice error={error} offersNext />
      <div className="flex flex-wrap gap-2">
        {offeredStarts(offer).map((start) => (
          <Button key={start.kind} onClick={() => onChoose(start)}>
            {t(`task:new.offer.${start.kind}`, { branch: start.newBranch, path: start.path })}
          </Button>
        ))}
        {taskId && <Button onClick={() => onOpenTask(taskId)}>{t("task:new.offer.task")}</Button>}
      </div>
    </div>
  );
}
