import i18next from "i18next";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** A number of bytes in few digits, counted in thousands. */
export function size(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  const format = new Intl.NumberFormat(i18next.language.replace("-pseudo", ""), {
    style: "unit",
    unit: UNITS[unit] ?? "byte",
    unitDisplay: unit === 0 ? "long" : "short",
    maximumFractionDigits: unit > 0 && value < 10 ? 1 : 0,
  });
  return format.format(value);
}
