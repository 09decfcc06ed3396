import type { ToolDiff } from "~/api/types";
import { DiffView } from "~/features/changes/diff-view";
import { diffTexts } from "~/features/changes/text-diff";

/** The edits of a tool call, each with its path. */
export function ToolDiffs({ diffs }: { diffs: readonly ToolDiff[] }) {
  return diffs.map((diff) => (
    <figure key={diff.path} className="overflow-hidden rounded border border-line">
      <figcaption className="truncate bg-sunken px-2.5 py-1 font-mono text-[0.92em]" title={diff.path}>
        {diff.path}
      </figcaption>
      <DiffView label={diff.path} hunks={diffTexts(diff.old_text ?? "", diff.new_text)} layout="unified" />
    </figure>
  ));
}
