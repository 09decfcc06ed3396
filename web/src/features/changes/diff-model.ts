// Differences as hunks of lines: what both the unified and the split view draw.

export interface DiffLine {
  kind: "same" | "added" | "deleted";
  /** The line's number before, from 1; none for an added line. */
  before: number | null;
  /** The line's number after, from 1; none for a deleted line. */
  after: number | null;
  text: string;
}

export interface Hunk {
  /** What Git names as the place of the hunk, for example a function; may be empty. */
  place: string;
  lines: DiffLine[];
}

/** One row of the split view: what was there and what came in its place. */
export interface SplitRow {
  before: DiffLine | null;
  after: DiffLine | null;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

/** Reads the hunks of a unified diff; lines before the first hunk are headers and left out. */
export function parsePatch(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  let before = 0;
  let after = 0;
  for (const line of patch.split("\n")) {
    const head = HUNK.exec(line);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      hunks.push({ place: head[3] ?? "", lines: [] });
      continue;
    }
    const lines = hunks.at(-1)?.lines;
    const text = line.slice(1);
    if (!lines) continue;
    if (line.startsWith("+")) lines.push({ kind: "added", before: null, after: after++, text });
    else if (line.startsWith("-")) lines.push({ kind: "deleted", before: before++, after: null, text });
    else if (line.startsWith(" ")) lines.push({ kind: "same", before: before++, after: after++, text });
    // "\ No newline at end of file" and the empty end of the text are no lines.
  }
  return hunks;
}

/** Puts deleted lines beside the added ones that follow them. */
export function splitRows(lines: readonly DiffLine[]): SplitRow[] {
  const rows: SplitRow[] = [];
  let deleted: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(deleted.length, added.length); index++) {
      rows.push({ before: deleted[index] ?? null, after: added[index] ?? null });
    }
    deleted = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "deleted") {
      if (added.length > 0) flush();
      deleted.push(line);
    } else if (line.kind === "added") added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line });
    }
  }
  flush();
  return rows;
}
