import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles.css";
import { ApiError } from "./api/client";
import { adoptToken } from "./api/token";
import { startI18n } from "./i18n";
import { makeRouter } from "./routes/router";
import { followSystemTheme } from "./ui/theme";

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Live events say when something is stale; a timer or a change of focus need not.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status >= 400),
    },
  },
});

/** After an upgrade of the server an open page asks for parts that are no more: it is loaded anew, once. */
function reloadWhenOutdated(): void {
  const KEY = "freehold.reloaded";
  const AGAIN_MS = 30_000;
  window.addEventListener("vite:preloadError", () => {
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    if (Date.now() - last < AGAIN_MS) return;
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}

async function start(): Promise<void> {
  reloadWhenOutdated();
  adoptToken(location, history);
  followSystemTheme();
  await startI18n();
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no #root");
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={makeRouter(queryClient)} />
      </QueryClientProvider>
    </StrictMode>,
  );
}

void start();
