import { Tabs } from "radix-ui";
import { useTranslation } from "react-i18next";
import type { Step, TaskCard } from "~/api/types";
import { needsAttention } from "~/features/task/state-mark";
import { useRemembered } from "~/ui/remembered";
import { BoardCard } from "./board-card";
import { columnsOf } from "./columns";

interface BoardPhoneProps {
  steps: readonly Step[];
  tasks: readonly TaskCard[];
  filtered: boolean;
}

/** One column at a time, with a switcher that shows how many tasks each holds. */
export function BoardPhone({ steps, tasks, filtered }: BoardPhoneProps) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useRemembered("board-step", "");
  const columns = columnsOf(steps, tasks);
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const current = steps.some((step) => step.id === chosen) ? chosen : (steps[0]?.id ?? "");
  return (
    <Tabs.Root value={current} onValueChange={setChosen} className="flex min-h-0 grow flex-col">
      <Tabs.List
        aria-label={t("workspace:board.steps")}
        className="flex shrink-0 overflow-x-auto border-b border-line bg-surface"
      >
        {steps.map((step) => {
          const ids = columns[step.id] ?? [];
          const waiting = ids.some((id) => needsAttention(byId.get(id) as TaskCard));
          return (
            <Tabs.Trigger
              key={step.id}
              value={step.id}
              className="flex min-h-11 grow items-center justify-center gap-1.5 whitespace-nowrap border-b-2 border-transparent px-3 text-muted data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
            >
              {step.name}
              <span className="tabular-nums text-muted">{ids.length}</span>
              {waiting && (
                <span
                  className="size-2 rounded-full bg-wait"
                  role="img"
                  aria-label={t("workspace:board.waiting")}
                />
              )}
            </Tabs.Trigger>
          );
        })}
      </Tabs.List>
      {steps.map((step) => (
        <Tabs.Content key={step.id} value={step.id} className="min-h-0 grow overflow-y-auto p-3">
          <ul className="flex flex-col gap-2.5">
            {(columns[step.id] ?? []).map((id) => (
              <li key={id}>
                <BoardCard task={byId.get(id) as TaskCard} steps={steps} />
              </li>
            ))}
          </ul>
          {columns[step.id]?.length === 0 && (
            <p className="py-10 text-center text-muted">
              {filtered ? t("workspace:board.noMatch") : t("workspace:board.emptyColumn")}
            </p>
          )}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
