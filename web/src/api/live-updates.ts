// What live events do to the page: they renew what was read, and they feed the open conversations.
//
// Reads are renewed in batches: a turn that streams a thousand events causes a few reads, not a thousand.
import type { QueryClient } from "@tanstack/react-query";
import { keys } from "./queries";
import type { LiveEvent } from "./types";

type Key = readonly unknown[];

const BATCH_MS = 60;
/** Changed files are read at most this often while an agent works. */
const CHANGES_MS = 1_000;

/** The keys that an event makes stale, apart from the conversation itself. */
export function staleKeys(event: LiveEvent["event"]): Key[] {
  switch (event.type) {
    case "repository_changed":
      return [keys.repositories];
    case "task_changed":
    case "task_deleted":
      return [keys.tasks, keys.trash, keys.task(event.task_id)];
    case "session_changed":
    case "session_deleted":
      return [keys.tasks, keys.task(event.task_id)];
    case "setup_output":
      return [keys.task(event.task_id)];
    case "cleanup_job_changed":
      return [
        keys.cleanupJobs,
        keys.storage,
        keys.tasks,
        keys.trash,
        keys.seals(event.task_id),
        keys.task(event.task_id),
      ];
    case "message_added":
    case "message_appended":
    case "message_replaced":
      return [];
  }
}

type Touching = Extract<LiveEvent["event"], { task_id: string }>;

/** Whether files of the task may have changed: a tool was used, or a turn began or ended. */
function touchesFiles(event: LiveEvent["event"]): event is Touching {
  if (event.type === "session_changed") return true;
  const isMessage = event.type === "message_added" || event.type === "message_replaced";
  return isMessage && event.message.kind === "tool_call";
}

/** Collects stale keys and renews them together. */
export class Renewal {
  private readonly client: QueryClient;
  private readonly pending = new Map<string, Key>();
  private readonly changed = new Set<string>();
  private batch: ReturnType<typeof setTimeout> | undefined;
  private changes: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient) {
    this.client = client;
  }

  take(event: LiveEvent["event"]): void {
    if (touchesFiles(event)) this.renewChanges(event.task_id);
    for (const key of staleKeys(event)) this.pending.set(JSON.stringify(key), key);
    if (this.pending.size > 0) this.batch ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  private flush(): void {
    this.batch = undefined;
    const all = [...this.pending.values()];
    this.pending.clear();
    for (const queryKey of all) {
      // Below a task's key are its changes and its close report: they are renewed by other events, or not at all.
      const exact = queryKey[0] === "task";
      void this.client.invalidateQueries({ queryKey, exact });
    }
  }

  private renewChanges(taskId: string): void {
    this.changed.add(taskId);
    this.changes ??= setTimeout(() => {
      this.changes = undefined;
      for (const id of this.changed) {
        void this.client.invalidateQueries({ queryKey: keys.changes(id) });
        void this.client.invalidateQueries({ queryKey: ["task", id, "diff"] });
      }
      this.changed.clear();
    }, CHANGES_MS);
  }
}
