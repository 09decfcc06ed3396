import type { SealedChanges } from "~/api/types";

/** Sorts the seals of a task into the newest of each worktree and the earlier ones; both newest first. */
export function newestSeals(seals: readonly SealedChanges[]): {
  newest: SealedChanges[];
  earlier: SealedChanges[];
} {
  const inOrder = [...seals].sort((a, b) => b.seal.created_at.localeCompare(a.seal.created_at));
  const seen = new Set<string>();
  const newest: SealedChanges[] = [];
  const earlier: SealedChanges[] = [];
  for (const one of inOrder) {
    (seen.has(one.seal.worktree_path) ? earlier : newest).push(one);
    seen.add(one.seal.worktree_path);
  }
  return { newest, earlier };
}
