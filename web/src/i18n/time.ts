import i18next from "i18next";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** How long ago an instant was, in few words. */
export function ago(instant: string, now: number = Date.now()): string {
  const format = new Intl.RelativeTimeFormat(i18next.language.replace("-pseudo", ""), {
    style: "narrow",
    numeric: "auto",
  });
  const passed = now - Date.parse(instant);
  for (const [unit, length] of UNITS) {
    if (passed >= length) return format.format(-Math.floor(passed / length), unit);
  }
  return format.format(0, "second");
}

/** How long it is until an instant, in few words; "now" once it has passed. */
export function until(instant: string, now: number = Date.now()): string {
  const format = new Intl.RelativeTimeFormat(i18next.language.replace("-pseudo", ""), { numeric: "auto" });
  const left = Date.parse(instant) - now;
  for (const [unit, length] of UNITS) {
    if (left >= length) return format.format(Math.round(left / length), unit);
  }
  return format.format(0, "second");
}

/** The instant in full, in the reader's own time. */
export function moment(instant: string): string {
  const format = new Intl.DateTimeFormat(i18next.language.replace("-pseudo", ""), {
    dateStyle: "medium",
    timeStyle: "short",
  });
  return format.format(new Date(instant));
}

/** The day of an instant, in the reader's own time. */
export function day(instant: string): string {
  const format = new Intl.DateTimeFormat(i18next.language.replace("-pseudo", ""), { dateStyle: "long" });
  return format.format(new Date(instant));
}
