// A stand-in for the server, for looking at screens while none is at hand: `npm run build && npm run mock`.
// It serves dist/ and answers the interface from a world in memory. It is no part of the product.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { acceptSocket } from "./socket.mjs";
import { stakesOf, World } from "./world.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};
const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");

export function startMock({ port = 0, empty = false } = {}) {
  const world = new World({ empty });
  const server = createServer((request, response) => void handle(world, request, response));
  server.on("upgrade", (request, stream) => live(world, request, stream));
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => {
      const url = `http://127.0.0.1:${server.address().port}/#token=mock`;
      const stop = () => {
        server.closeAllConnections();
        server.close();
      };
      resolve({ url, world, stop });
    });
  });
}

function live(world, request, stream) {
  const socket = acceptSocket(request, stream, (text) => {
    const hello = JSON.parse(text);
    const newest = world.events.length;
    const since = hello.since ?? newest;
    const send = (frame) => socket.send(JSON.stringify(frame));
    send({ frame: "ready", since, newest });
    for (const event of world.events.slice(since)) send({ frame: "event", ...event });
    const listener = (event) => send({ frame: "event", ...event });
    world.listeners.add(listener);
    stream.on("close", () => world.listeners.delete(listener));
  });
}

async function handle(world, request, response) {
  const url = new URL(request.url, "http://127.0.0.1");
  if (!url.pathname.startsWith("/api/v1/")) return file(url.pathname, response);
  let text = "";
  for await (const chunk of request) text += chunk;
  const answer = (status, body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (request.headers.authorization !== "Bearer mock") {
    return answer(401, {
      code: "unauthorized",
      message: "the token is missing or wrong",
      hint: "",
      subject: "",
    });
  }
  const parts = url.pathname.slice("/api/v1/".length).split("/");
  const body = text ? JSON.parse(text) : {};
  const result = route(world, request.method, parts, body, url.searchParams);
  if (result) return answer(...result);
  return answer(404, {
    code: "not_found",
    message: `nothing is at ${url.pathname}`,
    hint: "",
    subject: url.pathname,
  });
}

function route(world, method, [noun, id, verb, extra], body, query) {
  switch (`${method} ${noun}`) {
    case "GET server":
      return [
        200,
        {
          version: "0.1.0",
          database: "sqlite",
          home: "/home/me/.freehold",
          workspaces_root: "/home/me/.freehold/workspaces",
          git_version: "2.47.3",
          last_event: world.events.length,
        },
      ];
    case "GET workspaces":
      return [200, world.workspaces];
    case "GET agents":
      return [200, world.agents];
    case "POST agents":
      world.agents.push({
        id: world.id("agent"),
        kind: "custom",
        env_names: Object.keys(body.env ?? {}),
        ...body,
      });
      return [201, world.agents.at(-1)];
    case "GET repositories":
      if (verb !== "branches") return [200, world.repositories];
      return [
        200,
        ["main", "release/8", "origin/main"].map((name) => ({
          name,
          is_remote: name.startsWith("origin/"),
          commit: "3f78",
          is_default: name === "main",
        })),
      ];
    case "POST repositories":
      if (!body.path.startsWith("/"))
        return [
          400,
          {
            code: "invalid_git_input",
            message: `${body.path} is not an absolute path`,
            hint: "give the whole path, from /",
            subject: body.path,
          },
        ];
      return [201, world.addRepository(body.path)];
    case "GET cleanup-jobs":
      return [200, world.jobs];
    case "POST cleanup-jobs":
      return decide(world, id, body.decision);
    case "GET sessions":
      return [
        200,
        { items: world.messages.get(id) ?? [], has_older: false, last_event: world.events.length },
      ];
  }
  if (noun === "trash") return routeTrash(world, method, id);
  if (noun === "storage") return routeStorage(world, id);
  if (noun === "seals") {
    return [200, { path: query.get("path"), old_path: null, patch: PATCH, binary: false, too_large: false }];
  }
  if (noun === "tasks") return routeTask(world, method, id, verb, body, query);
  if (noun === "sessions") return routeSession(world, method, id, verb, extra, body);
  return null;
}

function routeTask(world, method, id, verb, body, query) {
  if (!id && method === "GET") {
    const archived = query.get("archived") === "true";
    const items = world.tasks
      .map(({ task }) => task)
      .filter((task) => !task.deleted_at && (task.archived_at !== null) === archived);
    return [200, { items, next_cursor: null }];
  }
  if (!id) return [201, world.addTask(body)];
  const detail = world.tasks.find(({ task }) => task.id === id);
  if (!detail) return null;
  switch (`${method} ${verb ?? ""}`) {
    case "GET ":
      return [200, detail];
    case "PATCH ":
      return patch(world, detail, body);
    case "DELETE ":
      return [202, world.close(detail, "delete")];
    case "POST archive":
      return [202, world.close(detail, "archive")];
    case "POST reopen":
      return [200, world.reopen(detail)];
    case "GET seals":
      return [200, world.sealsOf(detail).map((seal) => ({ seal, ...sealedFiles(detail) }))];
    case "POST start":
      world.start(detail);
      return [202, detail];
    case "POST sessions":
      return [201, world.addSession(detail, body.prompt, body.agent_profile_id)];
    case "GET changes":
      return [200, changes(detail)];
    case "GET diff":
      return [
        200,
        { path: query.get("path"), old_path: null, patch: PATCH, binary: false, too_large: false },
      ];
    case "GET close-report":
      return [
        200,
        {
          live_sessions: detail.sessions.length,
          workspace_path: detail.environment?.workspace_path ?? "",
          branches_kept: detail.environment ? [detail.environment.repositories[0].worktree_branch] : [],
          sealed: stakesOf(detail),
          stakes: [],
          restorable_until:
            query.get("action") === "delete" ? new Date(Date.now() + 30 * 86_400_000).toISOString() : null,
        },
      ];
  }
  return null;
}

function routeTrash(world, method, id) {
  if (method === "GET" && !id) return [200, world.trash()];
  const detail = world.tasks.find(({ task }) => task.id === id && task.deleted_at);
  if (!detail) return null;
  if (method === "GET") return [200, world.trash().find(({ task }) => task.id === id)];
  return [202, world.purge(detail)];
}

function routeStorage(world, part) {
  if (part === "unowned" || part === "quarantine") return [200, []];
  const none = {
    count: 0,
    unmeasured: 0,
    size_bytes: 0,
    file_count: 0,
    at_least: false,
    measured_at: null,
  };
  const repositories = world.repositories.map(({ id, name, local_path }) => ({
    id,
    name,
    path: local_path ?? "",
    worktrees: none,
    seal_bytes: 0,
    seal_count: 0,
  }));
  const room = { idle: none, quarantine: none, unowned: none };
  return [
    200,
    { root: "/w", free_bytes: 40_000_000_000, is_measuring: false, tasks: [], repositories, ...room },
  ];
}

function sealedFiles(detail) {
  return { files: changes(detail)[0]?.files ?? [], error_message: "" };
}

function patch(world, detail, body) {
  if (body.title) world.change(detail, { title: body.title });
  if (body.step_id) {
    const column = world.tasks
      .map(({ task }) => task)
      .filter((task) => task.step_id === body.step_id && task !== detail.task)
      .sort((a, b) => a.position - b.position);
    column.splice(
      body.after_task_id ? column.findIndex(({ id }) => id === body.after_task_id) + 1 : 0,
      0,
      detail.task,
    );
    world.change(detail, { step_id: body.step_id });
    column.forEach((task, position) => {
      task.position = position;
    });
  }
  return [200, detail];
}

function routeSession(world, method, id, verb, requestId, body) {
  const detail = world.tasks.find(({ sessions }) => sessions.some((session) => session.id === id));
  const session = detail?.sessions.find((one) => one.id === id);
  if (!session) return null;
  if (method === "DELETE") {
    detail.sessions = detail.sessions.filter((one) => one !== session);
    if (session.is_primary && detail.sessions.length > 0) detail.sessions.at(-1).is_primary = true;
    world.emit({ type: "session_deleted", task_id: detail.task.id, session_id: id });
    return [
      200,
      {
        session_id: id,
        primary_session_id: detail.sessions.at(-1)?.id ?? null,
        workspace_path: detail.environment.workspace_path,
      },
    ];
  }
  if (verb === "prompt") void world.play(detail, session, body.text);
  if (verb === "cancel") world.setSession(detail, session, "IDLE");
  if (verb === "stop") world.setSession(detail, session, "COMPLETED");
  if (verb === "permissions") world.answer(detail, session, requestId, body.option_id);
  return [200, session];
}

function decide(world, id, decision) {
  const job = world.jobs.find((one) => one.id === id);
  if (decision === "retry") return [200, job];
  const detail = world.tasks.find(({ task }) => task.id === job.task_id);
  if (decision === "discard") {
    Object.assign(job, { state: "succeeded", stakes: [], discard_phrase: null });
    world.change(detail, { cleanup_state: null });
    world.emit({ type: "cleanup_job_changed", task_id: job.task_id, job_id: id });
    return [200, job];
  }
  Object.assign(job, { state: "cancelled", stakes: [] });
  world.change(detail, { cleanup_state: null, archived_at: null, deleted_at: null });
  world.emit({ type: "cleanup_job_changed", task_id: job.task_id, job_id: id });
  return [200, job];
}

function changes(detail) {
  if (!detail.environment) return [];
  const [repository] = detail.environment.repositories;
  const files = [
    { path: "src/config.rs", old_path: null, kind: "modified", additions: 4, deletions: 2, untracked: false },
    { path: "src/main.rs", old_path: null, kind: "modified", additions: 1, deletions: 1, untracked: false },
    { path: "tests/config.rs", old_path: null, kind: "added", additions: 12, deletions: 0, untracked: true },
  ];
  return [
    {
      repository_id: repository.repository_id,
      repository_name: repository.repository_name,
      branch: repository.worktree_branch,
      base_commit: repository.base_commit,
      files,
      error_message: "",
    },
  ];
}

const PATCH = `diff --git a/src/config.rs b/src/config.rs
--- a/src/config.rs
+++ b/src/config.rs
@@ -10,9 +10,11 @@ impl Config {
     /// Reads the settings of a text.
     pub fn load(text: &str) -> Result<Config, Error> {
-        let value = parse(text).map_err(|_| Error::Broken)?;
-        Ok(value)
+        let value = parse(text).map_err(|fault| Error::Broken {
+            line: fault.line,
+        })?;
+        Ok(Config { value })
     }
 
     /// Says where the settings came from.
     pub fn origin(&self) -> &Path {
`;

function file(path, response) {
  const name = extname(path) ? path : "/index.html";
  try {
    const bytes = readFileSync(join(dist, name));
    response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" });
    response.end(bytes);
  } catch {
    response.writeHead(404);
    response.end();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startMock({
    port: Number(process.env.PORT ?? 4173),
    empty: process.argv.includes("--empty"),
  });
  console.log(url);
}
