// The columns with drag and drop, by pointer and by keyboard.
//
// While a card is carried, the columns are a draft of their own, so that live changes do not pull it out of
// the hand; when it is put down the draft becomes one move.
import {
  type Announcements,
  DndContext,
  type DragEndEvent,
  type DragOverEvent,
  DragOverlay,
  KeyboardSensor,
  PointerSensor,
  useDroppable,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Step, TaskCard } from "~/api/types";
import { BoardCard } from "./board-card";
import { collisionIn } from "./board-collision";
import { type Columns, columnsOf, isSamePlace, movedOver, moveIn, stepOf } from "./columns";
import { useMoveTask } from "./use-move-task";

interface BoardProps {
  steps: readonly Step[];
  tasks: readonly TaskCard[];
  filtered: boolean;
}

export function BoardColumns({ steps, tasks, filtered }: BoardProps) {
  const { t } = useTranslation();
  const move = useMoveTask();
  const stored = useMemo(() => columnsOf(steps, tasks), [steps, tasks]);
  const byId = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const [draft, setDraft] = useState<Columns | null>(null);
  const [carried, setCarried] = useState<string | null>(null);
  const columns = draft ?? stored;
  const collision = useMemo(() => collisionIn(columns), [columns]);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 6 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );

  const letGo = () => {
    setDraft(null);
    setCarried(null);
  };
  const over = ({ active, over: target }: DragOverEvent) => {
    if (!target) return;
    const from = stepOf(columns, String(active.id));
    const to = stepOf(columns, String(target.id));
    // Within a column the cards make room by themselves; between columns the draft changes.
    if (from !== to) setDraft(movedOver(columns, String(active.id), String(target.id)));
  };
  const drop = ({ active, over: target }: DragEndEvent) => {
    const id = String(active.id);
    const last = target ? movedWithin(columns, id, String(target.id)) : columns;
    const place = moveIn(last, id);
    letGo();
    if (place && !isSamePlace(stored, place)) move.mutate(place);
  };

  const card = carried ? byId.get(carried) : undefined;
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={collision}
      onDragStart={({ active }) => {
        setCarried(String(active.id));
        setDraft(stored);
      }}
      onDragOver={over}
      onDragEnd={drop}
      onDragCancel={letGo}
      accessibility={{
        announcements: announcements(t, byId, steps, columns),
        screenReaderInstructions: { draggable: t("workspace:board.dragHelp") },
      }}
    >
      <div className="flex min-h-0 grow gap-2.5 overflow-x-auto p-3">
        {steps.map((step) => (
          <Column
            key={step.id}
            step={step}
            steps={steps}
            ids={columns[step.id] ?? []}
            byId={byId}
            emptyText={filtered ? t("workspace:board.noMatch") : t("workspace:board.emptyColumn")}
          />
        ))}
      </div>
      <DragOverlay>{card && <BoardCard task={card} steps={steps} lifted />}</DragOverlay>
    </DndContext>
  );
}

interface ColumnProps {
  step: Step;
  steps: readonly Step[];
  ids: string[];
  byId: ReadonlyMap<string, TaskCard>;
  emptyText: string;
}

function Column({ step, steps, ids, byId, emptyText }: ColumnProps) {
  const { setNodeRef } = useDroppable({ id: step.id });
  return (
    <section
      ref={setNodeRef}
      aria-labelledby={`step-${step.id}`}
      className="flex min-h-0 min-w-60 max-w-96 grow basis-0 flex-col rounded-lg bg-sunken"
    >
      <header className="flex items-center gap-2 px-3 pb-1 pt-2.5">
        <h2 id={`step-${step.id}`} className="truncate font-medium">
          {step.name}
        </h2>
        <span className="text-muted tabular-nums">{ids.length}</span>
      </header>
      <SortableContext items={ids} strategy={verticalListSortingStrategy}>
        <ul className="flex min-h-0 grow flex-col gap-2 overflow-y-auto p-2">
          {ids.map((id) => {
            const task = byId.get(id);
            return task && <SortableCard key={id} task={task} steps={steps} />;
          })}
          {ids.length === 0 && <li className="px-1 py-4 text-center text-muted">{emptyText}</li>}
        </ul>
      </SortableContext>
    </section>
  );
}

function SortableCard({ task, steps }: { task: TaskCard; steps: readonly Step[] }) {
  const { setNodeRef, attributes, listeners, transform, transition, isDragging } = useSortable({
    id: task.id,
  });
  return (
    <li
      ref={setNodeRef}
      style={{
        transform: CSS.Translate.toString(transform),
        transition,
        opacity: isDragging ? 0.35 : undefined,
      }}
    >
      <BoardCard task={task} steps={steps} handle={{ ...attributes, ...listeners }} />
    </li>
  );
}

/** Sorts within the column where the card was let go. */
function movedWithin(columns: Columns, taskId: string, overId: string): Columns {
  const stepId = stepOf(columns, taskId);
  if (!stepId || overId === stepId || !columns[stepId]?.includes(overId)) return columns;
  return movedOver(columns, taskId, overId);
}

type Translate = ReturnType<typeof useTranslation>["t"];

function announcements(
  t: Translate,
  byId: ReadonlyMap<string, TaskCard>,
  steps: readonly Step[],
  columns: Columns,
): Announcements {
  const title = (id: string | number) => byId.get(String(id))?.title ?? "";
  const step = (id: string | number) => {
    const stepId = stepOf(columns, String(id));
    return steps.find((candidate) => candidate.id === stepId)?.name ?? "";
  };
  return {
    onDragStart: ({ active }) => t("workspace:board.picked", { title: title(active.id) }),
    onDragOver: ({ active, over }) =>
      over ? t("workspace:board.over", { title: title(active.id), step: step(over.id) }) : undefined,
    onDragEnd: ({ active, over }) =>
      over ? t("workspace:board.dropped", { title: title(active.id), step: step(over.id) }) : undefined,
    onDragCancel: ({ active }) => t("workspace:board.cancelled", { title: title(active.id) }),
  };
}
