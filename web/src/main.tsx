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

async function start(): Promise<void> {
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
