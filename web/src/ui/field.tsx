import type { ComponentProps, ReactNode } from "react";
import { useId } from "react";
import { classes } from "./classes";

const CONTROL =
  "w-full rounded-md border border-line-strong bg-surface px-2.5 text-ink placeholder:text-muted disabled:opacity-60 max-md:text-base";

interface FieldProps {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  children: (control: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean;
  }) => ReactNode;
}

/** A control with its label, a hint, and what is wrong with it. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  const noteId = note ? `${id}-note` : undefined;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": noteId, "aria-invalid": error !== undefined })}
      {note && (
        <p id={noteId} role={error ? "alert" : undefined} className={error ? "text-fail" : "text-muted"}>
          {note}
        </p>
      )}
    </div>
  );
}

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input className={classes(CONTROL, "h-8 max-md:h-11", className)} {...rest} />;
}

interface ExactFieldProps {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}

/** A line that counts exactly as it is typed, such as a path or a name: nothing completes or corrects it. */
export function ExactField({ label, hint, error, placeholder, value, onChange }: ExactFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <Input
          {...control}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea className={classes(CONTROL, "resize-none py-2", className)} {...rest} />;
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select className={classes(CONTROL, "h-8 max-md:h-11", className)} {...rest} />;
}

interface CheckboxProps extends ComponentProps<"input"> {
  label: string;
}

export function Checkbox({ label, ...rest }: CheckboxProps) {
  return (
    <label className="inline-flex items-center gap-2 max-md:min-h-11">
      <input type="checkbox" className="size-4 accent-accent" {...rest} />
      {label}
    </label>
  );
}
