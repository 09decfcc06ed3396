// A ratchet against text in components: the number of literals may fall, never rise.
//
// A literal is text between tags, or in an attribute that is shown or read aloud, with a letter in it.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "rolldown/utils";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const SHOWN = new Set([
  "title",
  "alt",
  "placeholder",
  "label",
  "aria-label",
  "aria-description",
  "aria-roledescription",
]);
const LETTER = /\p{L}{2}/u;
/** Known literals, which are the same in every language: the example path and the program's name. */
const ALLOWED = 2;

const found = [];
for (const file of components(join(web, "src"))) {
  const source = readFileSync(file, "utf8");
  const { program } = parseSync(file, source);
  const report = (node, text) => {
    const line = source.slice(0, node.start).split("\n").length;
    found.push(`${relative(web, file)}:${line}: ${text.trim()}`);
  };
  new Visitor({
    JSXText: (node) => LETTER.test(node.value) && report(node, node.value),
    JSXAttribute: (node) => {
      const { value } = node;
      if (value?.type !== "Literal" || !SHOWN.has(String(node.name.name))) return;
      if (LETTER.test(String(value.value))) report(node, String(value.value));
    },
  }).visit(program);
}

if (found.length > ALLOWED) {
  for (const literal of found) console.error(`i18n: literal text at ${literal}`);
  console.error(`i18n: ${found.length} literals, ${ALLOWED} are allowed; put new text into a catalogue`);
  process.exit(1);
}
if (found.length < ALLOWED) {
  console.error(`i18n: only ${found.length} literals are left; lower ALLOWED in scripts/i18n-literals.mjs`);
  process.exit(1);
}
console.log(`i18n: ${found.length} literals in components, as allowed`);

function components(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".tsx") && !entry.name.endsWith(".test.tsx"))
    .map((entry) => join(entry.parentPath, entry.name));
}
