import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes";

type Variant = "primary" | "secondary" | "ghost" | "danger";

const VARIANTS: Record<Variant, string> = {
  primary: "bg-accent text-accent-ink border-transparent hover:bg-accent-hover",
  secondary: "bg-raised text-ink border-line hover:border-line-strong",
  ghost: "bg-transparent text-ink border-transparent hover:bg-sunken",
  danger: "bg-raised text-fail border-fail hover:bg-fail-soft",
};

const SHAPE =
  "inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none transition-colors disabled:opacity-55 disabled:cursor-default";

export interface ButtonProps extends ComponentProps<"button"> {
  variant?: Variant;
  icon?: ReactNode;
}

export function Button({ variant = "secondary", icon, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={classes(
        SHAPE,
        "h-8 px-3 max-md:h-auto max-md:min-h-11 max-md:px-4",
        VARIANTS[variant],
        className,
      )}
      {...rest}
    >
      {icon}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, "children"> {
  label: string;
  icon: ReactNode;
}

/** A button that shows only an icon; its label is read aloud and shown when pointed at. */
export function IconButton({ label, icon, variant = "ghost", className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(SHAPE, "size-8 shrink-0 max-md:size-11", VARIANTS[variant], className)}
      {...rest}
    >
      {icon}
    </button>
  );
}
