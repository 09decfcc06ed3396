import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeAll } from "vitest";
import { startI18n } from "~/i18n";
import { showOn } from "./surface";

// How long a test looks for what the page will show; a busy machine is no failure.
configure({ asyncUtilTimeout: 10_000 });

beforeAll(async () => {
  showOn("desktop");
  await startI18n();
});

afterEach(cleanup);

// What jsdom lacks and the primitives ask for.
Element.prototype.hasPointerCapture ??= () => false;
Element.prototype.setPointerCapture ??= () => undefined;
Element.prototype.releasePointerCapture ??= () => undefined;
window.scrollTo = () => undefined;
Element.prototype.scrollIntoView ??= () => undefined;
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
