import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// In development the page comes from Vite and the interface from a server at this address.
const server = process.env.FREEHOLD_DEV_SERVER ?? "http://127.0.0.1:4173";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "~": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    sourcemap: false,
    target: "es2022",
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
  },
  server: { host: "127.0.0.1", proxy: { "/api": { target: server, ws: true, changeOrigin: true } } },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test/setup.ts"],
    restoreMocks: true,
    // What takes longer waits for something that will not come; a busy machine is no failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
