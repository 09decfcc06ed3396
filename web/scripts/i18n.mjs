// Checks the catalogues against each other and against the source.
//
// English is the source. Every other catalogue has the same keys; a counted key has the forms that its
// language needs; the pseudo catalogue is what this script makes of English; each key is used, and each
// key that is used exists. A key in a template, such as `task:state.${state}`, uses all with its beginning.
// And each error code of the server has words.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const locales = join(web, "src", "i18n", "locales");
const LANGUAGES = { pseudo: "en", "pt-pt": "pt-PT", "zh-cn": "zh-CN" };
const FORM = /_(zero|one|two|few|many|other)$/;
const MAPPED = { a: "á", c: "ç", e: "é", g: "ğ", i: "í", n: "ñ", o: "ó", s: "š", u: "ú", y: "ý", z: "ž" };

const problems = [];
const areas = readdirSync(join(locales, "en")).map((file) => file.replace(".json", ""));
const english = Object.fromEntries(areas.map((area) => [area, catalogue("en", area)]));

if (process.argv.includes("--write-pseudo")) {
  for (const area of areas) writeFileSync(fileOf("pseudo", area), pseudoText(area));
  process.exit(0);
}

for (const area of areas) {
  checkForms("en", "en", area, english[area]);
  for (const [language, tag] of Object.entries(LANGUAGES)) checkCatalogue(language, tag, area);
}
checkUse();
checkErrorCodes();

if (problems.length > 0) {
  for (const problem of problems) console.error(`i18n: ${problem}`);
  process.exit(1);
}
console.log(`i18n: ${areas.length} areas in ${Object.keys(LANGUAGES).length + 1} catalogues agree`);

function fileOf(language, area) {
  return join(locales, language, `${area}.json`);
}

function catalogue(language, area) {
  const file = fileOf(language, area);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

function pseudo(text) {
  const mapped = text
    .split(/(\{\{[^}]*\}\})/)
    .map((part) =>
      part.startsWith("{{") ? part : part.replace(/[a-z]/g, (letter) => MAPPED[letter] ?? letter),
    )
    .join("");
  return `[${mapped}${"·".repeat(Math.ceil(text.length / 4))}]`;
}

function pseudoText(area) {
  const entries = Object.entries(english[area]).map(([key, text]) => [key, pseudo(text)]);
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

function checkCatalogue(language, tag, area) {
  const own = catalogue(language, area);
  const wanted = new Set(Object.keys(english[area]).map(stem));
  const found = new Set(Object.keys(own).map(stem));
  for (const key of wanted) if (!found.has(key)) problems.push(`${language}/${area}: ${key} is missing`);
  for (const key of found)
    if (!wanted.has(key)) problems.push(`${language}/${area}: ${key} is not in English`);
  checkForms(language, tag, area, own);
  checkPlaces(language, area, own);
  if (language === "pseudo" && existsSync(fileOf(language, area))) {
    if (readFileSync(fileOf(language, area), "utf8") !== pseudoText(area)) {
      problems.push(`pseudo/${area} has drifted; run \`npm run i18n:pseudo\``);
    }
  }
}

function checkForms(language, tag, area, own) {
  const needed = new Intl.PluralRules(tag).resolvedOptions().pluralCategories;
  const counted = new Set(
    Object.keys(english[area])
      .filter((key) => FORM.test(key))
      .map(stem),
  );
  for (const key of counted) {
    for (const form of needed) {
      if (!(`${key}_${form}` in own))
        problems.push(`${language}/${area}: ${key} lacks the plural form "${form}"`);
    }
  }
}

/** A translation fills in the same values as its source. */
function checkPlaces(language, area, own) {
  for (const [key, text] of Object.entries(own)) {
    const source = english[area][key] ?? english[area][`${stem(key)}_other`] ?? "";
    if (placesIn(text) !== placesIn(source))
      problems.push(`${language}/${area}: ${key} fills in other values`);
  }
}

function placesIn(text) {
  return (text.match(/\{\{\s*\w+\s*\}\}/g) ?? []).sort().join();
}

function stem(key) {
  return key.replace(FORM, "");
}

function checkUse() {
  const sources = files(join(web, "src")).map((file) => readFileSync(file, "utf8"));
  const exact = new Set();
  const beginnings = [];
  for (const source of sources) {
    for (const match of source.matchAll(/["'`]([a-z]+):([A-Za-z][\w.-]*)(["'`]|\$\{)/g)) {
      const [, area, key, end] = match;
      if (!areas.includes(area)) continue;
      if (end === "${") beginnings.push(`${area}:${key}`);
      else exact.add(`${area}:${key}`);
    }
  }
  const known = new Set(
    areas.flatMap((area) => Object.keys(english[area]).map((key) => `${area}:${stem(key)}`)),
  );
  for (const key of exact) if (!known.has(key)) problems.push(`${key} is used but not in English`);
  for (const key of known) {
    if (!exact.has(key) && !beginnings.some((beginning) => key.startsWith(beginning))) {
      problems.push(`${key} is not used`);
    }
  }
}

/** Each code of an error that the server can send has words of its own. */
function checkErrorCodes() {
  const crates = join(dirname(web), "crates");
  const engine = readFileSync(join(crates, "engine", "src", "error.rs"), "utf8");
  const start = engine.indexOf("pub fn code(");
  const own = engine.slice(start, engine.indexOf("pub fn hint(", start));
  const codes = new Set([...own.matchAll(/"([a-z_]+)"/g)].map(([, code]) => code));
  const server = join(crates, "server", "src");
  for (const file of readdirSync(server, { recursive: true }).filter((name) => name.endsWith(".rs"))) {
    const source = readFileSync(join(server, file), "utf8");
    for (const [, code] of source.matchAll(/\bproblem\(\s*[\w:]+,\s*"([a-z_]+)"/g)) codes.add(code);
  }
  if (start < 0 || codes.size < 20) problems.push("the codes of errors were not found in crates/");
  for (const code of codes) {
    if (!(`code.${code}` in english.errors))
      problems.push(`the error code ${code} has no words in en/errors`);
  }
}

function files(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
