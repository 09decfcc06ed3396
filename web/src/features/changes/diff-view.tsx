// Draws hunks: unified, or split into before and after. Signs stand beside the colours.
import { useTranslation } from "react-i18next";
import { classes } from "~/ui/classes";
import { type DiffLine, type Hunk, splitRows } from "./diff-model";

export type DiffLayout = "unified" | "split";

interface DiffViewProps {
  label: string;
  hunks: readonly Hunk[];
  layout: DiffLayout;
}

const SIGN = { same: " ", added: "+", deleted: "-" } as const;
const TONE = { same: "", added: "bg-add text-add-ink", deleted: "bg-del text-del-ink" } as const;
const NUMBER = "select-none px-2 text-right align-top text-muted tabular-nums";
const CODE = "whitespace-pre pr-3";

export function DiffView({ label, hunks, layout }: DiffViewProps) {
  const { t } = useTranslation();
  if (hunks.length === 0) return <p className="px-3 py-2 text-muted">{t("changes:noLines")}</p>;
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto bg-surface"
    >
      <table
        className={classes(
          "min-w-full border-collapse font-mono text-[0.75rem] leading-[1.5]",
          layout === "split" && "w-full table-fixed",
        )}
      >
        {layout === "split" && (
          <colgroup>
            <col className="w-12" />
            <col />
            <col className="w-12" />
            <col />
          </colgroup>
        )}
        {hunks.map((hunk, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no name but their place
          <tbody key={index}>
            {(index > 0 || hunk.place) && (
              <tr>
                <td colSpan={4} className="border-y border-line bg-sunken px-3 py-0.5 text-muted">
                  {`⋯ ${hunk.place}`}
                </td>
              </tr>
            )}
            {layout === "unified" ? <Unified lines={hunk.lines} /> : <Split lines={hunk.lines} />}
          </tbody>
        ))}
      </table>
    </section>
  );
}

function Unified({ lines }: { lines: readonly DiffLine[] }) {
  return lines.map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
    <tr key={index} className={TONE[line.kind]}>
      <td className={classes(NUMBER, "w-px max-md:hidden")}>{line.before}</td>
      <td className={classes(NUMBER, "w-px")}>{line.after ?? line.before}</td>
      <td className={CODE}>
        <Sign line={line} />
        {line.text}
      </td>
    </tr>
  ));
}

function Split({ lines }: { lines: readonly DiffLine[] }) {
  return splitRows(lines).map((row, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
    <tr key={index}>
      <Half line={row.before} number={row.before?.before ?? null} />
      <Half line={row.after} number={row.after?.after ?? null} />
    </tr>
  ));
}

function Half({ line, number }: { line: DiffLine | null; number: number | null }) {
  const tone = line ? TONE[line.kind] : "bg-sunken";
  return (
    <>
      <td className={classes(NUMBER, tone)}>{number}</td>
      <td
        className={classes(
          "border-r border-line pr-2 align-top whitespace-pre-wrap [overflow-wrap:anywhere]",
          tone,
        )}
      >
        {line && (
          <>
            <Sign line={line} />
            {line.text}
          </>
        )}
      </td>
    </>
  );
}

function Sign({ line }: { line: DiffLine }) {
  return <span className="inline-block w-[2ch] select-none">{SIGN[line.kind]}</span>;
}
