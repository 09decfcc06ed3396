// Shares of the room on disk: by repository, and within each by task.
import type { Storage, TaskStorage } from "~/api/types";

/** What one task takes of one repository. */
export interface TaskShare {
  id: string;
  title: string;
  bytes: number;
}

/** What is taken on behalf of one repository, the largest share first. */
export interface RepositoryShare {
  id: string;
  name: string;
  bytes: number;
  tasks: TaskShare[];
}

/** The bytes that a task takes: its workspace on disk and its seals. */
export function taskBytes(task: TaskStorage): number {
  return task.workspace.size_bytes + task.seal_bytes;
}

/** The shares of all repositories that take anything, the largest first. */
export function sharesOf(storage: Storage): RepositoryShare[] {
  const shares = storage.repositories.map((repository) => {
    const tasks = storage.tasks
      .map((task) => ({ id: task.task_id, title: task.title, bytes: bytesIn(task, repository.id) }))
      .filter((task) => task.bytes > 0);
    const bytes = tasks.reduce((sum, task) => sum + task.bytes, 0);
    return { id: repository.id, name: repository.name, bytes, tasks: tasks.sort(byBytes) };
  });
  return shares.filter((share) => share.bytes > 0).sort(byBytes);
}

function bytesIn(task: TaskStorage, repositoryId: string): number {
  const own = task.worktrees.filter((worktree) => worktree.repository_id === repositoryId);
  return own.reduce((sum, worktree) => sum + (worktree.size_bytes ?? 0), 0);
}

function byBytes(one: { bytes: number }, other: { bytes: number }): number {
  return other.bytes - one.bytes;
}
