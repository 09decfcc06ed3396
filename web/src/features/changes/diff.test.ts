import { expect, test } from "vitest";
import { type DiffLine, parsePatch, splitRows } from "./diff-model";
import { diffTexts } from "./text-diff";

function signs(lines: readonly DiffLine[]): string[] {
  const sign = { same: " ", added: "+", deleted: "-" };
  return lines.map((line) => sign[line.kind] + line.text);
}

test("a unified diff is read with the numbers of both sides", () => {
  const patch =
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn main\n one\n-two\n+2\n three\n\\ No newline at end of file\n";
  const [hunk] = parsePatch(patch);
  expect(hunk?.place).toBe("fn main");
  expect(hunk?.lines.map((line) => [line.before, line.after, line.text])).toEqual([
    [3, 3, "one"],
    [4, null, "two"],
    [null, 4, "2"],
    [5, 5, "three"],
  ]);
});

test("changed lines that look like headers are lines", () => {
  const [hunk] = parsePatch("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+++ new\n");
  expect(signs(hunk?.lines ?? [])).toEqual(["--- old", "+++ new"]);
});

test("the split view puts what came beside what went", () => {
  const [hunk] = parsePatch("@@ -1,3 +1,2 @@\n-a\n-b\n+c\n d\n");
  const rows = splitRows(hunk?.lines ?? []).map(({ before, after }) => [
    before?.text ?? null,
    after?.text ?? null,
  ]);
  expect(rows).toEqual([
    ["a", "c"],
    ["b", null],
    ["d", "d"],
  ]);
});

test("a new file is all additions, a removed one all deletions", () => {
  expect(signs(diffTexts("", "a\nb\n")[0]?.lines ?? [])).toEqual(["+a", "+b"]);
  expect(signs(diffTexts("a\nb\n", "")[0]?.lines ?? [])).toEqual(["-a", "-b"]);
  expect(diffTexts("same\n", "same\n")).toEqual([]);
});

test("far changes are hunks of their own with a little around them", () => {
  const before = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  const after = before.map((line, index) => (index === 5 || index === 30 ? "changed" : line));
  const hunks = diffTexts(before.join("\n"), after.join("\n"));
  expect(hunks.map((hunk) => hunk.lines.length)).toEqual([8, 8]);
  expect(hunks[1]?.lines[0]).toMatchObject({ before: 28, after: 28 });
});

test("near changes share a hunk and no line is shown twice", () => {
  const [hunk, ...others] = diffTexts("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n");
  expect(others).toEqual([]);
  expect(signs(hunk?.lines ?? [])).toEqual(["-a", "+A", " b", " c", " d", "-e", "+E"]);
});
