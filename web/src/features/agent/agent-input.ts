/** The arguments of an agent: one per line, as they are. */
export function argumentsIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The variables of an agent: `NAME=value`, one per line; a line without `=` sets an empty value. */
export function environmentIn(text: string): Record<string, string> {
  const pairs = argumentsIn(text).map((line): [string, string] => {
    const at = line.indexOf("=");
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}
