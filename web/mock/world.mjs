// A small world that behaves like a server as far as the screens can tell: everything is in memory, every
// change is an event, and an agent that plays the same scene each time.

const now = () => new Date().toISOString().replace("Z", "000Z");

export class World {
  constructor({ empty = false } = {}) {
    this.next = 1;
    this.events = [];
    this.listeners = new Set();
    this.repositories = [];
    this.tasks = [];
    this.jobs = [];
    this.messages = new Map();
    this.agents = [
      { id: "demo", kind: "demo", name: "Demo agent", command: "", args: [], env_names: [] },
      {
        id: "custom",
        kind: "custom",
        name: "OpenCode",
        command: "opencode",
        args: ["acp"],
        env_names: ["OPENCODE_CONFIG"],
      },
    ];
    const steps = ["Backlog", "In progress", "Review", "Done"].map((name, position) => ({
      id: `step-${position}`,
      name,
      position,
      is_start: position === 0,
    }));
    this.workspaces = [{ id: "ws", name: "Default", workflows: [{ id: "wf", name: "Board", steps }] }];
    if (!empty) this.furnish();
  }

  id(kind) {
    return `${kind}-${String(this.next++).padStart(4, "0")}`;
  }

  emit(event) {
    const stored = { seq: this.events.length + 1, at: now(), event };
    this.events.push(stored);
    for (const listener of this.listeners) listener(stored);
  }

  addRepository(path) {
    const known = this.repositories.find((repository) => repository.local_path === path);
    if (known) return { repository: known, note: "", already_registered: true };
    const repository = {
      id: this.id("repository"),
      workspace_id: "ws",
      name: path.split("/").filter(Boolean).at(-1) ?? "repository",
      local_path: path,
      default_branch: "main",
      branch_prefix: "freehold/",
      created_at: now(),
    };
    this.repositories.push(repository);
    this.emit({ type: "repository_changed", repository_id: repository.id });
    return { repository, note: "", already_registered: false };
  }

  addTask({
    title,
    prompt = "",
    repositories,
    agent_profile_id = "demo",
    step_id = "step-0",
    start = false,
  }) {
    const id = this.id("task");
    const names = repositories.map(
      (one) => this.repositories.find(({ id }) => id === one.repository_id)?.name ?? "",
    );
    const task = {
      id,
      workspace_id: "ws",
      workflow_id: "wf",
      step_id,
      title: title ?? prompt.split("\n")[0],
      state: "TODO",
      position: this.tasks.length,
      repositories: names,
      session_state: null,
      environment_status: null,
      cleanup_state: null,
      archived_at: null,
      deleted_at: null,
      created_at: now(),
      updated_at: now(),
    };
    const detail = {
      task,
      prompt,
      error_message: "",
      agent_profile_id,
      environment: null,
      sessions: [],
      cleanup_jobs: [],
    };
    detail.repositoryId = repositories[0].repository_id;
    this.tasks.push(detail);
    this.emit({ type: "task_changed", task_id: id });
    if (start) this.start(detail);
    return detail;
  }

  start(detail) {
    this.change(detail, { state: "SCHEDULING" });
    setTimeout(() => {
      this.makeEnvironment(detail);
      this.addSession(detail, detail.prompt);
    }, 150);
  }

  makeEnvironment(detail) {
    const path = `/home/me/.freehold/workspaces/${detail.task.id}`;
    detail.environment = {
      id: this.id("environment"),
      status: "ready",
      workspace_path: path,
      repositories: [
        {
          id: this.id("environment-repo"),
          repository_id: detail.repositoryId,
          repository_name: detail.task.repositories[0],
          worktree_path: `${path}/${detail.task.repositories[0]}`,
          worktree_branch: `freehold/${detail.task.id}`,
          base_branch: "main",
          base_commit: "3f786850e387550fdab836ed7e6dc881de23001b",
          status: "active",
        },
      ],
    };
    this.change(detail, { environment_status: "ready" });
  }

  change(detail, part) {
    Object.assign(detail.task, part, { updated_at: now() });
    this.emit({ type: "task_changed", task_id: detail.task.id });
  }

  addSession(detail, prompt, agentId) {
    const agent = this.agents.find(({ id }) => id === (agentId ?? detail.agent_profile_id)) ?? this.agents[0];
    const session = {
      id: this.id("session"),
      task_id: detail.task.id,
      name: `Session ${detail.sessions.length + 1}`,
      state: "IDLE",
      error_message: "",
      is_primary: detail.sessions.length === 0,
      agent_profile_id: agent.id,
      agent_name: agent.name,
      started_at: now(),
      updated_at: now(),
    };
    detail.sessions.push(session);
    this.messages.set(session.id, []);
    this.emit({ type: "session_changed", task_id: detail.task.id, session_id: session.id });
    if (prompt) void this.play(detail, session, prompt);
    return session;
  }

  setSession(detail, session, state) {
    Object.assign(session, { state, updated_at: now() });
    this.emit({ type: "session_changed", task_id: detail.task.id, session_id: session.id });
    const taskState = { RUNNING: "IN_PROGRESS", WAITING_FOR_INPUT: "WAITING_FOR_INPUT", IDLE: "REVIEW" }[
      state
    ];
    if (taskState) this.change(detail, { state: taskState, session_state: state });
  }

  say(session, author, kind, content, metadata = {}) {
    const messages = this.messages.get(session.id);
    const message = {
      id: this.id("message"),
      turn_id: "turn",
      ordinal: messages.length + 1,
      author,
      kind,
      content,
      metadata,
      created_at: now(),
      updated_at: now(),
    };
    messages.push(message);
    const ids = { task_id: session.task_id, session_id: session.id };
    this.emit({ type: "message_added", ...ids, message: { ...message } });
    return message;
  }

  append(session, message, text) {
    const offset = message.content.length;
    message.content += text;
    const ids = { task_id: session.task_id, session_id: session.id };
    this.emit({ type: "message_appended", ...ids, message_id: message.id, offset, text });
  }

  replace(session, message, part) {
    Object.assign(message, part);
    this.emit({
      type: "message_replaced",
      task_id: session.task_id,
      session_id: session.id,
      message: { ...message },
    });
  }

  async play(detail, session, prompt, pause = 40) {
    this.say(session, "user", "message", prompt);
    this.setSession(detail, session, "RUNNING");
    const wait = () => new Promise((resolve) => setTimeout(resolve, pause));
    const thought = this.say(session, "agent", "thinking", "");
    for (const word of "The request names two files and a new one. I read them first, then change each with one edit.".split(
      " ",
    )) {
      this.append(session, thought, `${word} `);
    }
    this.say(session, "agent", "agent_plan", "", {
      entries: [
        { content: "Read the configuration loader and its caller", priority: "high", status: "completed" },
        { content: "Report the line of a broken setting", priority: "high", status: "in_progress" },
        { content: "Add a test for it", priority: "medium", status: "pending" },
      ],
    });
    await wait();
    const text = this.say(session, "agent", "message", "");
    const words =
      "I found the loader in `src/config.rs`. It drops the **position** of a broken setting, so the message cannot name the line:\n\n```rust\nlet value = parse(text).map_err(|_| Error::Broken)?;\n```\n\nI keep the position and show it.\n\n- `src/config.rs` keeps the line\n- `src/main.rs` prints it\n- `tests/config.rs` is new\n".match(
        /\S+\s*/g,
      );
    for (const word of words) {
      await wait();
      this.append(session, text, word);
    }
    for (const tool of TOOLS) {
      const call = this.say(session, "agent", "tool_call", tool.title, { ...tool, status: "in_progress" });
      await wait();
      this.replace(session, call, { metadata: { ...tool, status: "completed" } });
    }
    if (!prompt.includes("permission")) return this.setSession(detail, session, "IDLE");
    this.say(session, "agent", "permission_request", "Run `cargo test --all`", {
      request_id: this.id("request"),
      tool_call_id: "",
      options: [
        { option_id: "once", name: "Allow once", kind: "allow_once" },
        { option_id: "always", name: "Always allow", kind: "allow_always" },
        { option_id: "no", name: "Reject", kind: "reject_once" },
      ],
      status: "pending",
      chosen: null,
    });
    this.setSession(detail, session, "WAITING_FOR_INPUT");
  }

  answer(detail, session, requestId, optionId) {
    const message = this.messages.get(session.id).find(({ metadata }) => metadata.request_id === requestId);
    this.replace(session, message, {
      metadata: { ...message.metadata, status: "answered", chosen: optionId },
    });
    this.say(session, "agent", "message", optionId === "no" ? "I leave it." : "All 42 tests pass.");
    this.setSession(detail, session, "IDLE");
  }

  addJob(detail, trigger) {
    const job = {
      id: this.id("job"),
      task_id: detail.task.id,
      task_title: detail.task.title,
      trigger,
      state: "succeeded",
      attempts: 1,
      next_attempt_at: null,
      last_error: "",
      stakes: [],
      discard_phrase: null,
      is_foreign: false,
      worktree_paths: detail.environment ? [detail.environment.repositories[0].worktree_path] : [],
      created_at: now(),
      updated_at: now(),
      completed_at: now(),
    };
    this.jobs.unshift(job);
    detail.cleanup_jobs.unshift(job);
    this.emit({ type: "cleanup_job_changed", task_id: detail.task.id, job_id: job.id });
    return job;
  }

  close(detail, action) {
    this.change(detail, action === "archive" ? { archived_at: now() } : { deleted_at: now() });
    return this.addJob(detail, action);
  }

  /** A cleanup that waits for a person, as a repository inside the workspace makes it. */
  wait(detail) {
    const job = this.close(detail, "archive");
    const [worktree_path] = job.worktree_paths;
    const inner = { kind: "nested_repository", worktree_path, items: ["vendor/inner"], total: 1, detail: "" };
    Object.assign(job, { state: "needs_decision", stakes: [inner], discard_phrase: "discard 1" });
    this.change(detail, { cleanup_state: "needs_decision" });
  }

  reopen(detail) {
    this.change(detail, { archived_at: null, deleted_at: null, cleanup_state: null });
    return detail;
  }

  purge(detail) {
    this.tasks = this.tasks.filter((one) => one !== detail);
    this.emit({ type: "task_deleted", task_id: detail.task.id });
    return this.addJob(detail, "trash_purge");
  }

  trash() {
    const deleted = this.tasks.filter(({ task }) => task.deleted_at);
    return deleted.map((detail) => ({
      task: detail.task,
      trashed_at: detail.task.deleted_at,
      expires_at: new Date(Date.parse(detail.task.deleted_at) + 30 * 86_400_000).toISOString(),
      size_bytes: 4_210_000,
      seals: this.sealsOf(detail),
    }));
  }

  sealsOf(detail) {
    return (detail.environment?.repositories ?? []).map((repository) => ({
      id: `seal-${detail.task.id}`,
      job_id: detail.cleanup_jobs[0]?.id ?? "",
      environment_repo_id: repository.id,
      repository_id: repository.repository_id,
      repository_path: `/home/me/code/${repository.repository_name}`,
      worktree_path: repository.worktree_path,
      branch: repository.worktree_branch,
      file_count: 214,
      size_bytes: 4_210_000,
      left_out: [{ path: "node_modules", size_bytes: 81_000_000, reason: "disposable" }],
      created_at: now(),
    }));
  }

  furnish() {
    const { repository: orchard } = this.addRepository("/home/me/code/orchard");
    const { repository: billing } = this.addRepository("/home/me/code/billing-service");
    const on = (repository) => [{ repository_id: repository.id }];
    this.addTask({
      title: "Replace the hand-written date parser",
      prompt: "Use the library.",
      repositories: on(orchard),
    });
    this.addTask({ title: "Describe the retry rules of webhooks in the guide", repositories: on(billing) });
    const broken = this.addTask({
      title: "Move the nightly report to the queue",
      repositories: on(billing),
      step_id: "step-1",
    });
    broken.error_message = "The branch `release/9` does not exist in billing-service. Nothing was made.";
    this.change(broken, { state: "FAILED" });
    const scene = [
      ["Show the line of a broken setting and ask permission to run the tests", orchard, "step-1"],
      ["Round invoices by the rules of the country", billing, "step-1"],
      ["Cache the price list for an hour", billing, "step-2"],
    ];
    for (const [title, repository, step_id] of scene) {
      const detail = this.addTask({ title, prompt: title, repositories: on(repository), step_id });
      this.makeEnvironment(detail);
      const session = this.addSession(detail, null);
      void this.play(detail, session, `${title}.`, 0);
    }
    const done = this.addTask({
      title: "Drop support for the old export format",
      repositories: on(orchard),
      step_id: "step-3",
    });
    this.makeEnvironment(done);
    this.close(done, "archive");
    const [waits, gone] = ["Vendor the parser of the bank", "Try another colour for the charts"].map(
      (title) => this.addTask({ title, prompt: title, repositories: on(orchard), step_id: "step-3" }),
    );
    for (const detail of [waits, gone]) this.makeEnvironment(detail);
    this.wait(waits);
    this.close(gone, "delete");
  }
}

/** What exists nowhere else: the same for every task that has a workspace and a word about it in its title. */
export function stakesOf(detail) {
  if (!detail.environment || !/cache|drop/i.test(detail.task.title)) return [];
  const worktree_path = detail.environment.repositories[0].worktree_path;
  return [
    { kind: "uncommitted", worktree_path, items: ["src/prices.rs", "src/main.rs"], total: 2, detail: "" },
    { kind: "untracked", worktree_path, items: ["notes/draft.md"], total: 1, detail: "" },
  ];
}

const PATH = "/home/me/.freehold/workspaces/task/orchard";
const TOOLS = [
  {
    title: "Read src/config.rs",
    tool_call_id: "1",
    tool_kind: "read",
    locations: [`${PATH}/src/config.rs`],
    diffs: [],
    output: "",
  },
  {
    title: "Edit src/config.rs",
    tool_call_id: "2",
    tool_kind: "edit",
    locations: [`${PATH}/src/config.rs`],
    diffs: [
      {
        path: `${PATH}/src/config.rs`,
        old_text:
          "pub fn load(text: &str) -> Result<Config, Error> {\n    let value = parse(text).map_err(|_| Error::Broken)?;\n    Ok(value)\n}\n",
        new_text:
          "pub fn load(text: &str) -> Result<Config, Error> {\n    let value = parse(text).map_err(|fault| Error::Broken { line: fault.line })?;\n    Ok(value)\n}\n",
      },
    ],
    output: "",
  },
  {
    title: "cargo test config",
    tool_call_id: "3",
    tool_kind: "execute",
    locations: [],
    diffs: [],
    output:
      "running 3 tests\ntest broken_setting_names_its_line ... ok\n\ntest result: ok. 3 passed; 0 failed\n",
  },
];
