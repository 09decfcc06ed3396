// Complete examples of each noun; a test names only what it is about.
import type {
  CloseReport,
  LiveEvent,
  Message,
  QuarantineEntry,
  Room,
  Seal,
  SealedChanges,
  Session,
  Storage,
  TaskCard,
  TaskDetail,
  TaskStorage,
  TrashedTask,
  UnownedPlace,
} from "~/api/types";

const THEN = "2026-11-30T10:00:00.000000Z";

export function aTask(part: Partial<TaskCard> = {}): TaskCard {
  return {
    id: "task-1",
    workspace_id: "ws",
    workflow_id: "wf",
    step_id: "step-1",
    title: "Fix the parser",
    state: "REVIEW",
    position: 0,
    repositories: ["orchard"],
    session_state: "IDLE",
    environment_status: "ready",
    created_at: THEN,
    updated_at: THEN,
    ...part,
  };
}

export function aSession(part: Partial<Session> = {}): Session {
  return {
    id: "session-1",
    task_id: "task-1",
    name: "Session 1",
    state: "IDLE",
    error_message: "",
    is_primary: true,
    agent_profile_id: "demo",
    agent_name: "Demo agent",
    started_at: THEN,
    updated_at: THEN,
    ...part,
  };
}

export function aDetail(part: Partial<TaskDetail> = {}): TaskDetail {
  return {
    task: aTask(),
    prompt: "Fix the parser",
    error_message: "",
    agent_profile_id: "demo",
    environment: {
      id: "environment-1",
      kind: "worktree",
      status: "ready",
      workspace_path: "/w/task-1",
      repositories: [
        {
          id: "er-1",
          repository_id: "repository-1",
          repository_name: "orchard",
          worktree_path: "/w/task-1/orchard",
          worktree_branch: "freehold/fix-the-parser",
          base_branch: "main",
          base_commit: "3f786850e387550fdab836ed7e6dc881de23001b",
          branch_made: true,
          warning: "",
          status: "active",
        },
      ],
      setups: [],
    },
    sessions: [aSession()],
    cleanup_jobs: [],
    ...part,
  };
}

export function aReport(part: Partial<CloseReport> = {}): CloseReport {
  return {
    live_sessions: 0,
    workspace_path: "/w/task-1",
    branches_kept: ["freehold/fix-the-parser"],
    sealed: [],
    stakes: [],
    ...part,
  };
}

export function aSeal(part: Partial<Seal> = {}): Seal {
  return {
    id: "seal-1",
    job_id: "job-1",
    environment_repo_id: "er-1",
    repository_id: "repository-1",
    repository_path: "/code/orchard",
    worktree_path: "/w/task-1/orchard",
    branch: "freehold/fix-the-parser",
    file_count: 3,
    size_bytes: 1_234_567,
    left_out: [],
    created_at: THEN,
    ...part,
  };
}

export function sealedChanges(part: Partial<Seal> = {}, path = "src/a.rs"): SealedChanges {
  const file = { path, kind: "modified", additions: 2, deletions: 1, untracked: false };
  return { seal: aSeal(part), files: [file], error_message: "" };
}

export function aTrashedTask(part: Partial<TrashedTask> = {}): TrashedTask {
  return {
    task: aTask({ deleted_at: THEN }),
    trashed_at: THEN,
    expires_at: "2126-12-30T10:00:00.000000Z",
    size_bytes: 1_234_567,
    seals: [aSeal()],
    ...part,
  };
}

type MessagePart = Omit<Partial<Message>, "metadata"> & { metadata?: object };

/** The document says of the metadata only that it is an object. */
export function aMessage(ordinal: number, content: string, part: MessagePart = {}): Message {
  return {
    id: `message-${ordinal}`,
    turn_id: "turn-1",
    ordinal,
    author: "agent",
    kind: "message",
    content,
    metadata: {},
    created_at: THEN,
    updated_at: THEN,
    ...part,
  } as Message;
}

export function anEvent(seq: number, event: LiveEvent["event"]): LiveEvent {
  return { seq, at: THEN, event };
}

export function aRoom(part: Partial<Room> = {}): Room {
  return {
    count: 1,
    unmeasured: 0,
    size_bytes: 2_000_000,
    file_count: 12,
    at_least: false,
    measured_at: THEN,
    ...part,
  };
}

export function aTaskStorage(part: Partial<TaskStorage> = {}): TaskStorage {
  return {
    task_id: "task-1",
    title: "Fix the parser",
    state: "open",
    workspace_path: "/w/task-1/orchard",
    hostname: "",
    is_persons: false,
    workspace: aRoom(),
    worktrees: [{ repository_id: "repository-1", path: "/w/task-1/orchard", size_bytes: 2_000_000 }],
    seal_bytes: 1_234_567,
    seal_count: 1,
    script_runs: 2,
    script_output: 4_000,
    ...part,
  };
}

export function aStorage(part: Partial<Storage> = {}): Storage {
  const nothing = aRoom({ count: 0, size_bytes: 0, measured_at: null });
  return {
    root: "/w",
    free_bytes: 40_000_000_000,
    is_measuring: false,
    tasks: [aTaskStorage()],
    repositories: [
      {
        id: "repository-1",
        name: "orchard",
        path: "/code/orchard",
        worktrees: aRoom(),
        seal_bytes: 1_234_567,
        seal_count: 1,
      },
    ],
    idle: nothing,
    quarantine: nothing,
    unowned: nothing,
    ...part,
  };
}

export function anUnownedPlace(part: Partial<UnownedPlace> = {}): UnownedPlace {
  return {
    path: "/w/lost/orchard",
    kind: "worktree",
    reason: "not_recorded",
    detail: "",
    is_owner_unknown: true,
    task_id: null,
    repository_id: null,
    repository_path: "/code/orchard",
    branch: "stray/lost",
    since: THEN,
    size_bytes: 3_000_000,
    at_least: false,
    measured_at: THEN,
    refusal: "",
    ...part,
  };
}

export function aQuarantineEntry(part: Partial<QuarantineEntry> = {}): QuarantineEntry {
  return {
    id: "entry-1",
    state: "held",
    kind: "worktree",
    original_path: "/w/lost/orchard",
    held_path: "/w/.quarantine/entry-1/orchard",
    restore_path: "",
    hostname: "",
    repository_id: null,
    repository_path: "/code/orchard",
    reason: "given_back",
    detail: "",
    requested_by: "ada",
    size_bytes: 3_000_000,
    job_id: "job-1",
    error_message: "",
    created_at: THEN,
    held_at: THEN,
    expires_at: "2126-12-30T10:00:00.000000Z",
    ...part,
  };
}
