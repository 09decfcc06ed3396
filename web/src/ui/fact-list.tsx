import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** Short facts under one another, each with a sign. */
export function FactList({ children }: { children: ReactNode }) {
  return <ul className="flex flex-col gap-1.5">{children}</ul>;
}

export function FactLine({ icon: Icon, children }: { icon: LucideIcon; children: ReactNode }) {
  return (
    <li className="flex items-start gap-2">
      <Icon size={15} className="mt-0.5 shrink-0 text-muted" aria-hidden />
      <span className="min-w-0 [overflow-wrap:anywhere]">{children}</span>
    </li>
  );
}

/** A path, a branch or a commit in running text. */
export function Path({ children }: { children: string }) {
  return <code className="font-mono text-[0.95em] text-muted">{children}</code>;
}
