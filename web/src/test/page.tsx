// Draws a part of the app as it is drawn in the page: with queries, an address, and a server that answers
// what the test says and remembers what it was asked.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { render } from "@testing-library/react";
import axe from "axe-core";
import type { ReactNode } from "react";
import { expect, vi } from "vitest";

type Answers = Record<string, unknown | ((body: unknown) => unknown)>;

/** An answer that is not a success. */
export class Refusal {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}

/** Answers requests by "METHOD /path"; returns what was asked, in order. */
export function serve(answers: Answers): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    const line = `${request.method} ${pathname.replace("/api/v1", "")}${search}`;
    asked.push(line);
    const answer = answers[line];
    if (answer === undefined) throw new Error(`the test has no answer to ${line}`);
    const body = typeof answer === "function" ? await answer(await request.text()) : answer;
    const { status, content } =
      body instanceof Refusal ? { status: body.status, content: body.body } : { status: 200, content: body };
    return new Response(JSON.stringify(content), { status, headers: { "content-type": "application/json" } });
  });
  return asked;
}

/** Draws `content` at the address `/here`, and `beside` it at every address; `path()` tells where the page is. */
export async function draw(content: ReactNode, beside?: ReactNode) {
  const root = createRootRoute({
    component: () => (
      <>
        <Outlet />
        {beside}
      </>
    ),
  });
  const here = createRoute({
    getParentRoute: () => root,
    path: "/here",
    component: () => <main>{content}</main>,
  });
  const elsewhere = createRoute({ getParentRoute: () => root, path: "$", component: () => null });
  const home = createRoute({ getParentRoute: () => root, path: "/", component: () => null });
  const router = createRouter({
    routeTree: root.addChildren([here, home, elsewhere]),
    history: createMemoryHistory({ initialEntries: ["/here"] }),
  });
  await router.load();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const view = render(
    <QueryClientProvider client={client}>
      {/* The routes of a test are not those of the app. */}
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  return { ...view, client, path: () => router.state.location.pathname };
}

/** Fails on what axe finds wrong; colours need a real browser and are checked there. */
export async function expectAccessible(element: Element = document.body): Promise<void> {
  const { violations } = await axe.run(element, {
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map((violation) => `${violation.id}: ${violation.nodes[0]?.html}`)).toEqual([]);
}
