// Where a new task works and what it starts from, as a person chooses it and as it is asked for.
import type { NewTask, Offer } from "~/api/types";

export const START_KINDS = [
  "branch",
  "revision",
  "existing",
  "fetch",
  "in_place",
  "adopted",
  "scratch",
] as const;

export type StartKind = (typeof START_KINDS)[number];

export interface StartPoint {
  kind: StartKind;
  /** A tag or a commit. */
  revision: string;
  /** A branch that exists, to work on. */
  existing: string;
  /** The name of the new branch; empty for one made up from the title. */
  newBranch: string;
  /** A ref of the remote, for example `pull/42/head`. */
  fetchRef: string;
  /** The folder of a worktree that the person made. */
  path: string;
  /** Whether the remote is asked first where the base branch is now. */
  refresh: boolean;
}

export const FROM_BASE: StartPoint = {
  kind: "branch",
  revision: "",
  existing: "",
  newBranch: "",
  fetchRef: "",
  path: "",
  refresh: false,
};

/** The text that a kind cannot do without; none for those that need no more than the base branch. */
export function neededField(kind: StartKind): "revision" | "existing" | "fetchRef" | "path" | null {
  switch (kind) {
    case "revision":
      return "revision";
    case "existing":
      return "existing";
    case "fetch":
      return "fetchRef";
    case "adopted":
      return "path";
    default:
      return null;
  }
}

/** Whether a branch of its own is made for the task. */
export function makesBranch(kind: StartKind): boolean {
  return kind === "branch" || kind === "revision" || kind === "fetch";
}

export function isComplete(start: StartPoint): boolean {
  const field = neededField(start.kind);
  return field === null || start[field].trim() !== "";
}

/** What a new task says of its workspace. */
export function placed(
  start: StartPoint,
  repositoryId: string,
  base: { name: string; isRemote: boolean },
): Pick<NewTask, "workspace_kind" | "repositories"> {
  if (start.kind === "scratch") return { workspace_kind: "scratch", repositories: [] };
  const named = makesBranch(start.kind) && start.newBranch.trim();
  const repository = {
    repository_id: repositoryId,
    ...(named ? { new_branch: start.newBranch.trim() } : {}),
  };
  switch (start.kind) {
    case "revision":
      return { repositories: [{ ...repository, base_branch: start.revision.trim() }] };
    case "existing":
      return { repositories: [{ ...repository, checkout_branch: start.existing.trim() }] };
    case "fetch":
      return { repositories: [{ ...repository, fetch_ref: start.fetchRef.trim() }] };
    case "in_place":
      return { workspace_kind: "in_place", repositories: [repository] };
    case "adopted":
      return {
        workspace_kind: "adopted",
        repositories: [{ ...repository, adopt_path: start.path.trim() }],
      };
    default: {
      const refreshed = base.isRemote && start.refresh ? { refresh: true } : {};
      const from = base.name ? { base_branch: base.name, ...refreshed } : {};
      return { repositories: [{ ...repository, ...from }] };
    }
  }
}

/** The ways that the server offers when a branch is checked out elsewhere. */
export function offeredStarts(offer: Offer): StartPoint[] {
  const starts: StartPoint[] = [
    { ...FROM_BASE, kind: "revision", revision: offer.base_branch, newBranch: offer.new_branch },
  ];
  if (offer.adopt_path) starts.push({ ...FROM_BASE, kind: "adopted", path: offer.adopt_path });
  if (offer.in_place) starts.push({ ...FROM_BASE, kind: "in_place" });
  return starts;
}
