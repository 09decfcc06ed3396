// Makes src/api/schema.d.ts from docs/openapi.json, or with --check fails when it is stale.
//
// The generator needs TypeScript 5 while the app is checked by TypeScript 7, so it lives in a package of
// its own (web/codegen) that is installed when it is first needed.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const document = join(web, "..", "docs", "openapi.json");
const target = join(web, "src", "api", "schema.d.ts");
const generator = join(web, "codegen", "node_modules", "openapi-typescript", "bin", "cli.js");

if (!existsSync(document)) {
  console.error(`codegen: ${document} does not exist; write it with the server first`);
  process.exit(1);
}
if (!existsSync(generator)) {
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: join(web, "codegen"), stdio: "inherit" });
}
const fresh = execFileSync(process.execPath, [generator, document], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
});

if (process.argv.includes("--check")) {
  if (!existsSync(target) || readFileSync(target, "utf8") !== fresh) {
    console.error("codegen: src/api/schema.d.ts is stale; run `npm run codegen` and commit it");
    process.exit(1);
  }
  console.log("codegen: src/api/schema.d.ts matches docs/openapi.json");
} else {
  writeFileSync(target, fresh);
  console.log(`codegen: wrote ${target}`);
}
