import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from "react";
import { useRemembered } from "./remembered";

interface SplitPaneProps {
  /** Under which the width is remembered. */
  name: string;
  label: string;
  first: ReactNode;
  second: ReactNode;
}

const LEAST = 30;
const MOST = 75;
const STEP = 3;

/** Two areas side by side with a border that can be dragged, or moved by the arrow keys. */
export function SplitPane({ name, label, first, second }: SplitPaneProps) {
  const [share, setShare] = useRemembered(`split.${name}`, 56);
  const frame = useRef<HTMLDivElement>(null);
  const change = (next: number) => setShare(Math.round(Math.min(MOST, Math.max(LEAST, next))));

  const drag = (event: PointerEvent<HTMLElement>) => {
    const box = frame.current?.getBoundingClientRect();
    if (box && event.currentTarget.hasPointerCapture(event.pointerId)) {
      change(((event.clientX - box.left) / box.width) * 100);
    }
  };
  const nudge = (event: KeyboardEvent) => {
    if (event.key === "ArrowLeft") change(share - STEP);
    if (event.key === "ArrowRight") change(share + STEP);
  };

  return (
    <div ref={frame} className="flex min-h-0 grow">
      <div className="min-w-0 shrink-0" style={{ width: `${share}%` }}>
        {first}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is a widget, not a rule */}
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={share}
        aria-valuemin={LEAST}
        aria-valuemax={MOST}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={nudge}
        className="w-1.5 shrink-0 cursor-col-resize touch-none border-l border-line bg-canvas hover:bg-accent-soft"
      />
      <div className="min-w-0 grow basis-0">{second}</div>
    </div>
  );
}
