// Fails when what a browser fetches to show the board is larger than agreed: the page, its styles, and the
// script with everything that it imports at once, compressed.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT_KIB = 250;
const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");
const page = readFileSync(join(dist, "index.html"), "utf8");

const wanted = [...page.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
const seen = new Set();
while (wanted.length > 0) {
  const path = wanted.pop();
  if (seen.has(path)) continue;
  seen.add(path);
  if (!path.endsWith(".js")) continue;
  const source = readFileSync(join(dist, path), "utf8");
  for (const match of source.matchAll(/(?:from|import)\s*"(\.\/[^"]+\.js)"/g)) {
    wanted.push(join(dirname(path), match[1]));
  }
}
const bytes = [...seen].reduce(
  (total, path) => total + gzipSync(readFileSync(join(dist, path))).length,
  gzipSync(page).length,
);
const kib = Math.ceil(bytes / 1024);
console.log(`first load of the board: ${kib} KiB in ${seen.size + 1} files, at most ${LIMIT_KIB} KiB`);
if (kib > LIMIT_KIB) process.exit(1);
