import { size } from "~/i18n/size";
import type { RepositoryShare } from "./shares";

/** Below this share of its column a task's name would not be readable. */
const READABLE = 0.08;

/**
 * The room on disk as areas: a column for each repository, an area in it for each task. The list below it says the
 * same in words.
 */
export function Treemap({ shares }: { shares: readonly RepositoryShare[] }) {
  return (
    <div aria-hidden className="flex h-56 gap-1 overflow-hidden rounded-md" data-treemap>
      {shares.map((share) => (
        <div
          key={share.id}
          className="flex min-w-2 basis-0 flex-col gap-px overflow-hidden"
          style={{ flexGrow: share.bytes }}
        >
          {share.tasks.map((task) => (
            <div
              key={task.id}
              className="min-h-1 basis-0 overflow-hidden bg-sunken px-1.5 py-0.5 text-[0.85em] leading-tight"
              style={{ flexGrow: task.bytes }}
              title={`${share.name} · ${task.title} · ${size(task.bytes)}`}
            >
              {task.bytes / share.bytes > READABLE && (
                <>
                  <span className="block truncate">{task.title}</span>
                  <span className="block truncate text-muted">{size(task.bytes)}</span>
                </>
              )}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
