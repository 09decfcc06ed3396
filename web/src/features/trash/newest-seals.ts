import type { SealedChanges } from "~/api/types";

/** Sorts the seals of a task into those that its workspace comes back from and the others; both newest first. */
export function newestSeals(seals: readonly SealedChanges[]): {
  newest: SealedChanges[];
  others: SealedChanges[];
} {
  const inOrder = [...seals].sort((a, b) => b.seal.created_at.localeCompare(a.seal.created_at));
  const seen = new Set<string>();
  const worktrees = new Set<SealedChanges>();
  for (const one of inOrder) {
    // What a failed attempt left belongs to no worktree.
    const worktree = one.seal.environment_repo_id;
    if (worktree == null || seen.has(worktree)) continue;
    seen.add(worktree);
    worktrees.add(one);
  }
  // A folder comes back with the worktrees that were sealed together with it.
  const jobs = new Set([...worktrees].map(({ seal }) => seal.job_id));
  const folder = inOrder.find(
    ({ seal }) => seal.kind === "folder" && (jobs.size === 0 || jobs.has(seal.job_id)),
  );
  const newest = inOrder.filter((one) => worktrees.has(one) || one === folder);
  return { newest, others: inOrder.filter((one) => !newest.includes(one)) };
}
