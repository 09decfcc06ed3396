// What is read from the server: one key and one function per noun, so that live events know what to renew.
import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { TaskCard } from "./types";

const PAGE = 200;

/** Where a difference is read: in the workspace of a task, or in a seal. */
export type DiffSource = { taskId: string; repositoryId: string } | { sealId: string };

export const keys = {
  agents: ["agents"] as const,
  repositories: ["repositories"] as const,
  branches: (id: string) => ["repositories", id, "branches"] as const,
  workspaces: ["workspaces"] as const,
  tasks: ["tasks"] as const,
  board: ["tasks", "open"] as const,
  archived: ["tasks", "archived"] as const,
  task: (id: string) => ["task", id] as const,
  changes: (id: string) => ["task", id, "changes"] as const,
  diff: (source: DiffSource, path: string) =>
    "sealId" in source
      ? ["seal", source.sealId, "diff", path]
      : ["task", source.taskId, "diff", source.repositoryId, path],
  seals: (id: string) => ["seals", id] as const,
  trash: ["trash"] as const,
  closeReport: (id: string, action: string) => ["task", id, "close-report", action] as const,
  workspaceReport: (id: string) => ["workspaces", id, "close-report"] as const,
  cleanupJobs: ["cleanup-jobs"] as const,
  storage: ["storage"] as const,
  unowned: ["storage", "unowned"] as const,
  quarantine: ["storage", "quarantine"] as const,
  server: ["server"] as const,
};

export const serverQuery = queryOptions({
  queryKey: keys.server,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/server", { signal })),
});

export const workspacesQuery = queryOptions({
  queryKey: keys.workspaces,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/workspaces", { signal })),
});

export const repositoriesQuery = queryOptions({
  queryKey: keys.repositories,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/repositories", { signal })),
});

export const branchesQuery = (id: string) =>
  queryOptions({
    queryKey: keys.branches(id),
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/repositories/{id}/branches", { params: { path: { id } }, signal })),
    enabled: id !== "",
    staleTime: 5_000,
  });

export const agentsQuery = queryOptions({
  queryKey: keys.agents,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/agents", { signal })),
});

export const boardQuery = queryOptions({
  queryKey: keys.board,
  queryFn: ({ signal }) => listTasks(false, signal),
});

export const archivedQuery = queryOptions({
  queryKey: keys.archived,
  queryFn: ({ signal }) => listTasks(true, signal),
});

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: keys.task(id),
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/tasks/{id}", { params: { path: { id } }, signal })),
  });

export const changesQuery = (id: string) =>
  queryOptions({
    queryKey: keys.changes(id),
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/tasks/{id}/changes", { params: { path: { id } }, signal })),
  });

export const diffQuery = (source: DiffSource, path: string) =>
  queryOptions({
    queryKey: keys.diff(source, path),
    queryFn: ({ signal }) =>
      "sealId" in source
        ? unwrap(
            api.GET("/api/v1/seals/{id}/diff", {
              params: { path: { id: source.sealId }, query: { path } },
              signal,
            }),
          )
        : unwrap(
            api.GET("/api/v1/tasks/{id}/diff", {
              params: { path: { id: source.taskId }, query: { repository_id: source.repositoryId, path } },
              signal,
            }),
          ),
  });

/** The seals of a task with the files that they change. */
export const sealsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.seals(id),
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/tasks/{id}/seals", { params: { path: { id } }, signal })),
    // What comes back is never shown as it was before the last closing.
    gcTime: 0,
  });

export const trashQuery = queryOptions({
  queryKey: keys.trash,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/trash", { signal })),
});

export const workspaceReportQuery = (id: string) =>
  queryOptions({
    queryKey: keys.workspaceReport(id),
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/workspaces/{id}/close-report", { params: { path: { id } }, signal })),
    // What is at stake is looked at anew each time the dialog opens.
    gcTime: 0,
  });

export const closeReportQuery = (id: string, action: "archive" | "delete") =>
  queryOptions({
    queryKey: keys.closeReport(id, action),
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/tasks/{id}/close-report", { params: { path: { id }, query: { action } }, signal }),
      ),
    // What is at stake is looked at anew each time the dialog opens.
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });

export const cleanupJobsQuery = queryOptions({
  queryKey: keys.cleanupJobs,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/cleanup-jobs", { signal })),
});

/** While sizes are being measured they are read again and again. */
const MEASURING_MS = 2_000;

export const storageQuery = queryOptions({
  queryKey: keys.storage,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/storage", { signal })),
  refetchInterval: (query) => (query.state.data?.is_measuring ? MEASURING_MS : false),
});

export const unownedQuery = queryOptions({
  queryKey: keys.unowned,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/storage/unowned", { signal })),
});

export const quarantineQuery = queryOptions({
  queryKey: keys.quarantine,
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/storage/quarantine", { signal })),
});

/** Reads all pages; a board shows every task, and a page holds two hundred. */
async function listTasks(archived: boolean, signal: AbortSignal): Promise<TaskCard[]> {
  const items: TaskCard[] = [];
  let cursor: string | undefined;
  do {
    const query = { archived, limit: PAGE, ...(cursor ? { cursor } : {}) };
    const page = await unwrap(api.GET("/api/v1/tasks", { params: { query }, signal }));
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return items;
}
