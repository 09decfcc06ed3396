import { expect, test } from "vitest";
import { size } from "./size";
import { until } from "./time";

test("sizes are counted in thousands and keep few digits", () => {
  expect([0, 1, 999, 1_000, 1_234_567, 12_345_678, 999_999].map((bytes) => size(bytes))).toEqual([
    "0 bytes",
    "1 byte",
    "999 bytes",
    "1 kB",
    "1.2 MB",
    "12 MB",
    "1 MB",
  ]);
});

test("the time left is told in its largest unit and never as past", () => {
  const now = Date.parse("2026-12-01T10:00:00Z");
  const told = [
    "2026-12-31T10:00:00Z",
    "2026-12-01T13:20:00Z",
    "2026-12-01T10:05:00Z",
    "2026-11-01T10:00:00Z",
  ];
  expect(told.map((instant) => until(instant, now))).toEqual([
    "in 30 days",
    "in 3 hours",
    "in 5 minutes",
    "now",
  ]);
});
