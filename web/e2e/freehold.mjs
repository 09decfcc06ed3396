// The parts of a browser test that are not the browser: a real Freehold on a home of its own, and a real
// repository for it to work on.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_MS = 30_000;
const STOP_MS = 10_000;

/** A folder of its own for one run, with a repository in it; `git` works there with no one's settings. */
export function makePlace() {
  const root = mkdtempSync(join(tmpdir(), "freehold-e2e-"));
  const repository = join(root, "orchard");
  const env = cleanEnvironment(root);
  const git = (folder, ...args) => execFileSync("git", ["-C", folder, ...args], { env, encoding: "utf8" });

  mkdirSync(join(repository, "src"), { recursive: true });
  writeFileSync(
    join(root, "gitconfig"),
    "[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n",
  );
  writeFileSync(join(repository, "README.md"), "# Orchard\n\nKeeps count of apples.\n");
  writeFileSync(join(repository, "src", "apples.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(repository, "src", "pears.txt"), "four\nfive\nsix\n");
  git(repository, "init", "--quiet");
  git(repository, "add", "--all");
  git(repository, "commit", "--quiet", "--message", "Plant the orchard");
  return { root, repository, env, git, remove: () => rmSync(root, { recursive: true, force: true }) };
}

function cleanEnvironment(root) {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("GIT_") && !name.startsWith("XDG_"),
  );
  return {
    ...Object.fromEntries(kept),
    HOME: root,
    GIT_CONFIG_GLOBAL: join(root, "gitconfig"),
    GIT_CONFIG_NOSYSTEM: "1",
  };
}

/** Starts the binary and waits until it says that it is healthy. */
export async function startFreehold(place) {
  const binary = process.env.FREEHOLD_BIN;
  if (!binary) throw new Error("FREEHOLD_BIN is not set: give the path of a built freehold binary");
  const args = ["serve", "--home", join(place.root, "home"), "--port", "0", "--no-open", "--json"];
  const child = spawn(binary, args, { env: place.env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  const ready = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) resolve(JSON.parse(line));
    });
    child.once("exit", (code) => reject(new Error(`freehold ended with ${code}\n${log}`)));
    child.once("error", reject);
  });
  const { url, address, token } = await within(ready, START_MS, () => `freehold did not start\n${log}`);
  const ask = async (path) => {
    const answer = await fetch(`http://${address}/api/v1${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const stop = async () => {
    if (child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await within(ended, STOP_MS, () => "freehold did not stop").catch(() => child.kill("SIGKILL"));
  };
  return { url, ask, stop, log: () => log };
}

/** Waits for a promise, but not for longer than a limit. */
export async function within(promise, limit, why) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(why())), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks again until the answer is true; fails after a limit with what was asked for. */
export async function until(what, check, limit = 20_000) {
  const end = Date.now() + limit;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`this did not come true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
