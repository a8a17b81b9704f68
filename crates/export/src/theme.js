// The theme that all pages share: the reader's choice, or the system's.
"use strict";
const theme = (() => {
  const root = document.documentElement;
  // Applied before the first paint. Storage may be unavailable, as it often is for files.
  const stored = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(key, value); } catch { /* not stored */ } },
  };
  const chosen = stored.get("bowline-theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  function toggle() {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    stored.set("bowline-theme", root.dataset.theme);
  }

  return { toggle };
})();

