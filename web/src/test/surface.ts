export type Surface = "desktop" | "phone";

export const SURFACES: readonly Surface[] = ["desktop", "phone"];

/** Makes the page believe that it is shown on a desktop or on a phone. */
export function showOn(surface: Surface): void {
  window.matchMedia = (query) =>
    ({
      matches: query.includes("max-width") && surface === "phone",
      media: query,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }) as unknown as MediaQueryList;
}
