import type { ReactNode } from "react";

interface ScreenProps {
  title: string;
  lead?: string;
  children: ReactNode;
}

/** A screen that is read from top to bottom. */
export function Screen({ title, lead, children }: ScreenProps) {
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4 md:py-6">
        <header className="flex flex-col gap-1">
          <h1 className="text-[1.3em] font-semibold">{title}</h1>
          {lead && <p className="text-muted">{lead}</p>}
        </header>
        {children}
      </div>
    </div>
  );
}
