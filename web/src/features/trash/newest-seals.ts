import type { SealedChanges } from "~/api/types";

/** Sorts the seals of a task into those that its worktrees come back from and the others; both newest first. */
export function newestSeals(seals: readonly SealedChanges[]): {
  newest: SealedChanges[];
  others: SealedChanges[];
} {
  const inOrder = [...seals].sort((a, b) => b.seal.created_at.localeCompare(a.seal.created_at));
  const seen = new Set<string>();
  const newest: SealedChanges[] = [];
  const others: SealedChanges[] = [];
  for (const one of inOrder) {
    // What a failed attempt left belongs to no worktree.
    const worktree = one.seal.environment_repo_id;
    (worktree == null || seen.has(worktree) ? others : newest).push(one);
    if (worktree != null) seen.add(worktree);
  }
  return { newest, others };
}
