import { useTranslation } from "react-i18next";
import type { Stake } from "~/api/types";

/** Kinds that list files or commits; the others are explained by the server's sentence. */
const COUNTED = ["uncommitted", "untracked", "ignored", "commits", "nested_repository", "unsealed"];

/** The work that exists nowhere else, by repository and kind. */
export function StakeList({ stakes }: { stakes: readonly Stake[] }) {
  const byPath = Map.groupBy(stakes, (stake) => stake.worktree_path);
  return (
    <ul className="flex flex-col gap-2.5">
      {[...byPath].map(([path, own]) => (
        <li key={path} className="flex flex-col gap-1.5">
          {byPath.size > 1 && (
            <code className="font-mono text-[0.92em] [overflow-wrap:anywhere]">{path}</code>
          )}
          {own.map((stake) => (
            <StakeItem key={stake.kind} stake={stake} />
          ))}
        </li>
      ))}
    </ul>
  );
}

function StakeItem({ stake }: { stake: Stake }) {
  const { t } = useTranslation();
  const more = stake.total - stake.items.length;
  return (
    <div>
      <h3 className="font-medium">{t(`cleanup:stake.${stake.kind}`, { count: stake.total })}</h3>
      {!COUNTED.includes(stake.kind) && stake.detail && <p>{stake.detail}</p>}
      {stake.items.length > 0 && (
        <ul
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard
          tabIndex={0}
          aria-label={t(`cleanup:stake.${stake.kind}`, { count: stake.total })}
          className="mt-0.5 max-h-32 overflow-y-auto rounded border border-line bg-surface px-2 py-1 font-mono text-[0.92em] [overflow-wrap:anywhere]"
        >
          {stake.items.map((item) => (
            <li key={item}>{item}</li>
          ))}
          {more > 0 && <li className="text-muted">{t("cleanup:more", { count: more })}</li>}
        </ul>
      )}
    </div>
  );
}
