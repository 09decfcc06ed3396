// Sets the chosen theme before the first paint; a separate file, because inline scripts are not allowed.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("freehold.theme");
  } catch {
    // Storage is blocked: the system's theme is used.
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
