// Dialogs: a panel in the middle on the desktop, a sheet from below on the phone.
import { X } from "lucide-react";
import { AlertDialog as RadixAlert, Dialog as RadixDialog } from "radix-ui";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./button";
import { classes } from "./classes";

const OVERLAY = "overlay-in fixed inset-0 z-40 bg-black/45";
const PANEL = "fixed z-50 flex flex-col bg-raised text-ink border border-line shadow-overlay";
const CENTRED =
  "panel-in left-1/2 top-1/2 -translate-x-1/2 -translate-y-1/2 w-[min(34rem,calc(100vw-1.5rem))] max-h-[calc(100dvh-1.5rem)] rounded-lg";
const FULL_SHEET =
  "md:panel-in md:left-1/2 md:top-[10vh] md:-translate-x-1/2 md:w-[min(42rem,calc(100vw-3rem))] md:max-h-[80vh] md:rounded-lg max-md:sheet-in max-md:inset-0 max-md:border-0 max-md:pb-[env(safe-area-inset-bottom)] max-md:pt-[env(safe-area-inset-top)]";
const LOW_SHEET =
  "sheet-in inset-x-0 bottom-0 max-h-[85dvh] rounded-t-xl border-x-0 border-b-0 pb-[max(0.5rem,env(safe-area-inset-bottom))]";

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: string;
  children: ReactNode;
  footer?: ReactNode;
}

/** A dialog to work in; full height on the phone. */
export function Dialog({ open, onOpenChange, title, description, children, footer }: DialogProps) {
  const { t } = useTranslation();
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={OVERLAY} />
        <RadixDialog.Content
          className={classes(PANEL, FULL_SHEET)}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <header className="flex items-center gap-2 border-b border-line py-1.5 pl-4 pr-1.5">
            <RadixDialog.Title className="grow text-[1.05em] font-semibold">{title}</RadixDialog.Title>
            <RadixDialog.Close asChild>
              <IconButton label={t("common:close")} icon={<X size={16} aria-hidden />} />
            </RadixDialog.Close>
          </header>
          {description && (
            <RadixDialog.Description className="px-4 pt-3 text-muted">{description}</RadixDialog.Description>
          )}
          <div className="min-h-0 grow overflow-y-auto p-4">{children}</div>
          {footer && (
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-2.5">
              {footer}
            </footer>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

interface ActionsSheetProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  children: ReactNode;
}

/** A list of actions that comes up from below, within reach of the thumb. */
export function ActionsSheet({ open, onOpenChange, title, children }: ActionsSheetProps) {
  return (
    <RadixDialog.Root open={open} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={OVERLAY} />
        <RadixDialog.Content className={classes(PANEL, LOW_SHEET)} aria-describedby={undefined}>
          <RadixDialog.Title className="truncate px-4 pt-4 pb-2 font-semibold">{title}</RadixDialog.Title>
          <div className="flex flex-col overflow-y-auto pb-2">{children}</div>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

interface SheetActionProps {
  icon: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function SheetAction({ icon, danger, disabled, onSelect, children }: SheetActionProps) {
  return (
    <button
      type="button"
      disabled={disabled}
      onClick={onSelect}
      className={classes(
        "flex min-h-12 items-center gap-3 px-4 text-left hover:bg-sunken disabled:opacity-55",
        danger && "text-fail",
      )}
    >
      {icon}
      {children}
    </button>
  );
}

interface AlertProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  children: ReactNode;
  /** The way out that changes nothing; it has the focus when the dialog opens. */
  keepLabel: string;
  confirm: ReactNode;
}

/** A question before something that cannot be taken back. */
export function AlertDialog({ open, onOpenChange, title, children, keepLabel, confirm }: AlertProps) {
  return (
    <RadixAlert.Root open={open} onOpenChange={onOpenChange}>
      <RadixAlert.Portal>
        <RadixAlert.Overlay className={OVERLAY} />
        <RadixAlert.Content className={classes(PANEL, CENTRED)}>
          <RadixAlert.Title className="px-4 pt-4 text-[1.1em] font-semibold [overflow-wrap:anywhere]">
            {title}
          </RadixAlert.Title>
          <RadixAlert.Description asChild>
            <div className="min-h-0 grow overflow-y-auto px-4 py-3">{children}</div>
          </RadixAlert.Description>
          <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">
            <RadixAlert.Cancel className="inline-flex h-8 items-center justify-center rounded-md border border-transparent bg-accent px-3 font-medium text-accent-ink hover:bg-accent-hover max-md:h-11 max-md:grow max-md:px-4">
              {keepLabel}
            </RadixAlert.Cancel>
            {confirm}
          </footer>
        </RadixAlert.Content>
      </RadixAlert.Portal>
    </RadixAlert.Root>
  );
}
