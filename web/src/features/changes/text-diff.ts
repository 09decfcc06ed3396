// The difference of two texts, line by line, for edits that an agent sends as "before" and "after".
import type { DiffLine, Hunk } from "./diff-model";

const CONTEXT = 3;
/** Above this many pairs of lines the middle is shown as replaced as a whole instead of being matched. */
const MOST_PAIRS = 4_000_000;

export function diffTexts(before: string, after: string): Hunk[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail++;
  }
  const kinds = [
    ...Array<DiffLine["kind"]>(head).fill("same"),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...Array<DiffLine["kind"]>(tail).fill("same"),
  ];
  return hunksOf(numbered(kinds, old, now));
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The steps from one list of lines to the other, by their longest common subsequence. */
function middle(old: string[], now: string[]): DiffLine["kind"][] {
  if (old.length * now.length > MOST_PAIRS || old.length === 0 || now.length === 0) {
    return [...old.map(() => "deleted" as const), ...now.map(() => "added" as const)];
  }
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i] === now[j]
          ? at(common, (i + 1) * width + j + 1) + 1
          : Math.max(at(common, (i + 1) * width + j), at(common, i * width + j + 1));
    }
  }
  const kinds: DiffLine["kind"][] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      kinds.push("same");
      i++;
      j++;
    } else if (
      i < old.length &&
      (j === now.length || at(common, (i + 1) * width + j) >= at(common, i * width + j + 1))
    ) {
      kinds.push("deleted");
      i++;
    } else {
      kinds.push("added");
      j++;
    }
  }
  return kinds;
}

function at(numbers: Uint32Array, index: number): number {
  return numbers[index] ?? 0;
}

function numbered(kinds: readonly DiffLine["kind"][], old: string[], now: string[]): DiffLine[] {
  let before = 0;
  let after = 0;
  return kinds.map((kind) => {
    if (kind !== "added") before++;
    if (kind !== "deleted") after++;
    return {
      kind,
      before: kind === "added" ? null : before,
      after: kind === "deleted" ? null : after,
      text: (kind === "deleted" ? old[before - 1] : now[after - 1]) ?? "",
    };
  });
}

/** Keeps the changed lines and a few around them. */
function hunksOf(lines: DiffLine[]): Hunk[] {
  const hunks: Hunk[] = [];
  let end = -1;
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    const from = Math.max(0, index - CONTEXT);
    const to = Math.min(lines.length, index + CONTEXT + 1);
    const open = hunks.at(-1);
    if (open && from <= end) open.lines.push(...lines.slice(end, to));
    else hunks.push({ place: "", lines: lines.slice(from, to) });
    end = to;
  });
  return hunks;
}
