// Runs the browser tests: each story on a desktop and on a phone, each with a Freehold of its own.
// FREEHOLD_BIN names the binary; CHROMIUM the browser, by default /usr/bin/chromium.
// `npm run e2e -- mobile-chrome` runs one project.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, openPage, PROJECTS } from "./browser.mjs";
import { tellClosing } from "./closing.mjs";
import { tellDecision } from "./decision.mjs";
import { makePlace, startFreehold } from "./freehold.mjs";
import { tellStory } from "./story.mjs";

const results = join(dirname(dirname(fileURLToPath(import.meta.url))), "test-results");

/**
 * The browser reports refusals as faults of loading. A story provokes some; and a page may ask for the changes
 * of a workspace at the very moment at which it is given back, which the server answers with 503.
 */
const PROVOKED = /Failed to load resource: the server responded with a status of (4\d\d|503)/;

async function runProject(browser, projectName) {
  const project = PROJECTS[projectName];
  const place = makePlace();
  let freehold;
  let opened;
  try {
    freehold = await startFreehold(place);
    opened = await openPage(browser, project);
    const parts = { page: opened.page, place, freehold, projectName, phone: project.phone };
    for (const [name, tell] of [
      ["the main job", tellStory],
      ["a decision", tellDecision],
      ["the way out and the way back", tellClosing],
    ]) {
      await tell(parts);
      console.log(`ok   ${projectName}: ${name}`);
    }
    assert.deepEqual(
      opened.faults.filter((fault) => !PROVOKED.test(fault)),
      [],
      "the page had faults",
    );
    return true;
  } catch (error) {
    console.error(`FAIL ${projectName}: ${error.stack}`);
    await opened?.page.screenshot({ path: join(results, projectName, "failure.png") }).catch(() => undefined);
    for (const fault of opened?.faults ?? []) console.error(`     page: ${fault}`);
    const log = freehold?.log() ?? "";
    if (log) console.error(`     server:\n${log.split("\n").slice(-40).join("\n")}`);
    return false;
  } finally {
    await opened?.close();
    await freehold?.stop();
    place.remove();
  }
}

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : Object.keys(PROJECTS);
rmSync(results, { recursive: true, force: true });
const browser = await launch();
let passed = true;
for (const name of names) passed = (await runProject(browser, name)) && passed;
await browser.close();
process.exit(passed ? 0 : 1);
