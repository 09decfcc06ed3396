// A real browser as a desktop and as a phone, with what every screen is checked for.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const PROJECTS = {
  "desktop-chrome": { phone: false, context: { viewport: { width: 1280, height: 800 } } },
  "mobile-chrome": {
    phone: true,
    context: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
  },
};

/** The least height of what is touched on a phone, in pixels. */
const TOUCH = 44;

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** Opens a page that remembers every fault of its scripts. */
export async function openPage(browser, project) {
  const context = await browser.newContext({ ...project.context, locale: "en-US", colorScheme: "light" });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`${message.text()} ${message.location().url}`);
  });
  return { page, faults, close: () => context.close() };
}

/** Takes a picture of the screen and checks it: accessibility, width, and on a phone the size of targets. */
export async function look(page, projectName, name) {
  const folder = join(web, "test-results", projectName);
  mkdirSync(folder, { recursive: true });
  await settled(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  // Isolated evaluation: the page's own rules about scripts stay as they are.
  await page.evaluate(axeSource);
  const problems = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document);
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
  });
  if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) {
    problems.push("the page is wider than the screen");
  }
  if (PROJECTS[projectName].phone) problems.push(...(await smallTargets(page)));
  if (problems.length > 0) throw new Error(`${projectName}, screen "${name}":\n  ${problems.join("\n  ")}`);
}

async function settled(page) {
  await page.evaluate(async () => {
    await Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY)
        .map((animation) => animation.finished.catch(() => undefined)),
    );
  });
}

function smallTargets(page) {
  return page.evaluate((least) => {
    const targets = [...document.querySelectorAll("button, a, select, input, summary, [role=menuitem]")];
    return (
      targets
        .filter(
          (target) =>
            !target.closest("label, .prose") && !target.disabled && !target.classList.contains("sr-only"),
        )
        .map((target) => ({ target, box: target.getBoundingClientRect() }))
        // A card is touched anywhere, not only on its title.
        .filter(({ target }) => !target.closest("[data-task]") || target.tagName === "BUTTON")
        .filter(({ box }) => box.width > 0 && box.height > 0 && Math.min(box.height, box.width) < least - 0.5)
        .map(
          ({ target, box }) =>
            `too small to touch (${Math.round(box.width)}×${Math.round(box.height)}): ${target.outerHTML.slice(0, 160)}`,
        )
    );
  }, TOUCH);
}
