// The dialog for a new task: the prompt first, the rest with the values used last.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, unwrap } from "~/api/client";
import { agentsQuery, branchesQuery, keys, repositoriesQuery } from "~/api/queries";
import type { AgentProfile, Branch, NewTask, Repository } from "~/api/types";
import { AddRepositoryForm } from "~/features/repository/add-repository-form";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { ErrorNotice, Loading } from "~/ui/feedback";
import { Checkbox, Field, Input, Select, Textarea } from "~/ui/field";
import { usePhone } from "~/ui/media";
import { readRemembered, remember } from "~/ui/remembered";
import { FROM_BASE, isComplete, placed, type StartPoint } from "./start-point";
import { RefusedStart, StartKindField, StartPointFields } from "./start-point-fields";

interface Choices {
  repositoryId: string;
  /** The base branch used last, by repository. */
  branches: Record<string, string>;
  agentId: string;
  start: boolean;
}

const NO_CHOICES: Choices = { repositoryId: "", branches: {}, agentId: "", start: true };
const CHOICES = "new-task";
const TITLE_LENGTH = 500;

export function NewTaskDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const formId = useId();
  const repositories = useQuery(repositoriesQuery);
  const agents = useQuery(agentsQuery);
  const create = useCreateTask(onClose);
  const navigate = useNavigate();
  const openTask = (taskId: string) => {
    onClose();
    void navigate({ to: "/tasks/$taskId", params: { taskId } });
  };
  const failed = repositories.error ?? agents.error;
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("task:new.title")}
      footer={
        <>
          <Button variant="ghost" onClick={onClose}>
            {t("common:cancel")}
          </Button>
          <Button type="submit" form={formId} variant="primary" disabled={create.isPending}>
            {create.isPending ? t("task:new.creating") : t("task:new.create")}
          </Button>
        </>
      }
    >
      {failed && <ErrorNotice error={failed} />}
      {!failed && !(repositories.data && agents.data) && <Loading />}
      {repositories.data?.length === 0 && <AddRepositoryForm />}
      {repositories.data && repositories.data.length > 0 && agents.data && (
        <NewTaskForm
          formId={formId}
          repositories={repositories.data}
          agents={agents.data}
          error={create.error}
          onOpenTask={openTask}
          onSubmit={(task) => !create.isPending && create.mutate(task)}
        />
      )}
    </Dialog>
  );
}

function useCreateTask(onClose: () => void) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (task: NewTask) => unwrap(api.POST("/api/v1/tasks", { body: task })),
    onSuccess: (detail, task) => {
      client.setQueryData(keys.task(detail.task.id), detail);
      void client.invalidateQueries({ queryKey: keys.tasks });
      onClose();
      if (task.start) void navigate({ to: "/tasks/$taskId", params: { taskId: detail.task.id } });
    },
  });
}

interface NewTaskFormProps {
  formId: string;
  repositories: Repository[];
  agents: AgentProfile[];
  error: unknown;
  onOpenTask: (taskId: string) => void;
  onSubmit: (task: NewTask) => void;
}

function NewTaskForm({ formId, repositories, agents, error, onOpenTask, onSubmit }: NewTaskFormProps) {
  const { t } = useTranslation();
  const phone = usePhone();
  const [choices, setChoices] = useState(() =>
    usable(readRemembered(CHOICES, NO_CHOICES), repositories, agents),
  );
  const [prompt, setPrompt] = useState("");
  const [title, setTitle] = useState("");
  const [start, setStart] = useState(FROM_BASE);
  const [incomplete, setIncomplete] = useState(false);
  const hasText = prompt.trim() !== "" || title.trim() !== "";
  const changeStart = (part: Partial<StartPoint>) => setStart((old) => ({ ...old, ...part }));
  const branches = useQuery(branchesQuery(choices.repositoryId));
  const branch = chosenBranch(branches.data ?? [], choices.branches[choices.repositoryId]);
  const base = branches.data?.find(({ name }) => name === branch);
  const change = (part: Partial<Choices>) => setChoices((old) => ({ ...old, ...part }));

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!hasText || !isComplete(start)) return setIncomplete(true);
    remember(CHOICES, choices);
    onSubmit({
      prompt: prompt.trim(),
      ...(title.trim() ? { title: title.trim() } : {}),
      ...placed(start, choices.repositoryId, { name: branch, isRemote: base?.is_remote ?? false }),
      agent_profile_id: choices.agentId,
      start: choices.start,
    });
  };
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };

  return (
    <form id={formId} onSubmit={submit} className="flex flex-col gap-3.5">
      <Field
        label={t("task:new.prompt")}
        hint={phone ? undefined : t("task:new.promptHint")}
        error={incomplete && !hasText ? t("task:new.promptMissing") : undefined}
      >
        {(control) => (
          <Textarea
            {...control}
            autoFocus
            rows={6}
            className="field-sizing-content max-h-[40vh] min-h-32"
            value={prompt}
            onKeyDown={submitByKey}
            onChange={(event) => {
              setPrompt(event.target.value);
              setIncomplete(false);
            }}
          />
        )}
      </Field>
      <Field label={t("task:new.titleLabel")}>
        {(control) => (
          <Input
            {...control}
            maxLength={TITLE_LENGTH}
            placeholder={t("task:new.titlePlaceholder")}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
          />
        )}
      </Field>
      <div className="grid items-start gap-3.5 md:grid-cols-2">
        <StartKindField start={start} onChange={changeStart} />
        {start.kind !== "scratch" && (
          <Field label={t("task:new.repository")}>
            {(control) => (
              <Select
                {...control}
                value={choices.repositoryId}
                onChange={(event) => change({ repositoryId: event.target.value })}
              >
                {repositories.map((repository) => (
                  <option key={repository.id} value={repository.id}>
                    {repository.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        {start.kind === "branch" && (
          <Field label={t("task:new.branch")}>
            {(control) => (
              <Select
                {...control}
                value={branch}
                disabled={!branches.data}
                onChange={(event) =>
                  change({ branches: { ...choices.branches, [choices.repositoryId]: event.target.value } })
                }
              >
                {(branches.data ?? []).map((candidate) => (
                  <option key={candidate.name} value={candidate.name}>
                    {candidate.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <StartPointFields
          start={start}
          branches={branches.data ?? []}
          base={base}
          incomplete={incomplete && !isComplete(start)}
          onChange={changeStart}
        />
        <Field label={t("task:new.agent")}>
          {(control) => (
            <Select
              {...control}
              value={choices.agentId}
              onChange={(event) => change({ agentId: event.target.value })}
            >
              {agents.map((agent) => (
                <option key={agent.id} value={agent.id}>
                  {agent.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {branches.error && <ErrorNotice error={branches.error} onRetry={() => void branches.refetch()} />}
      <Checkbox
        label={t("task:new.start")}
        checked={choices.start}
        onChange={(event) => change({ start: event.target.checked })}
      />
      {error != null && <RefusedStart error={error} onChoose={setStart} onOpenTask={onOpenTask} />}
    </form>
  );
}

/** The remembered choices, as far as what they name still exists. */
function usable(choices: Choices, repositories: Repository[], agents: AgentProfile[]): Choices {
  const repository = repositories.find(({ id }) => id === choices.repositoryId) ?? repositories[0];
  const agent = agents.find(({ id }) => id === choices.agentId) ?? agents[0];
  return { ...NO_CHOICES, ...choices, repositoryId: repository?.id ?? "", agentId: agent?.id ?? "" };
}

function chosenBranch(branches: Branch[], remembered: string | undefined): string {
  const found =
    branches.find(({ name }) => name === remembered) ?? branches.find((branch) => branch.is_default);
  return (found ?? branches[0])?.name ?? "";
}
