// The addresses of the app. Only the board comes with the first load; every other screen when it is opened.
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
} from "@tanstack/react-router";
import { Board } from "~/features/workspace/board";
import { Shell } from "~/features/workspace/shell";
import { Loading } from "~/ui/feedback";
import { NotFound, RouteError } from "./fallbacks";

interface Context {
  queryClient: QueryClient;
}

export const TASK_VIEWS = ["chat", "changes", "task"] as const;
export type TaskView = (typeof TASK_VIEWS)[number];

const root = createRootRouteWithContext<Context>()({ component: Shell, notFoundComponent: NotFound });

const board = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: Board,
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$taskId",
  validateSearch: (search: Record<string, unknown>): { session?: string; view?: TaskView } => ({
    ...(typeof search.session === "string" ? { session: search.session } : {}),
    ...(TASK_VIEWS.includes(search.view as TaskView) ? { view: search.view as TaskView } : {}),
  }),
  component: lazyRouteComponent(() => import("./task"), "TaskRoute"),
});

const archived = createRoute({
  getParentRoute: () => root,
  path: "/archived",
  component: lazyRouteComponent(() => import("~/features/task/archived-list"), "ArchivedList"),
});

const trash = createRoute({
  getParentRoute: () => root,
  path: "/trash",
  component: lazyRouteComponent(() => import("~/features/trash/trash-screen"), "TrashScreen"),
});

const storage = createRoute({
  getParentRoute: () => root,
  path: "/storage",
  component: lazyRouteComponent(() => import("~/features/storage/storage-screen"), "StorageScreen"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("~/features/workspace/settings-screen"), "SettingsScreen"),
});

const unknown = createRoute({
  getParentRoute: () => root,
  path: "$",
  loader: () => {
    throw notFound();
  },
  component: NotFound,
});

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([board, task, archived, trash, storage, settings, unknown]),
    context: { queryClient },
    defaultPreload: "intent",
    defaultPendingComponent: Loading,
    defaultErrorComponent: RouteError,
    defaultNotFoundComponent: NotFound,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
