// How things look: themes, hints about keys, code and differences. Without colours: clients show lines as they are.

import { getKeybindings } from "../tui/keybindings.mjs";
import { Text } from "../tui/text.mjs";
import { editorTheme, markdownTheme, selectListTheme, settingsListTheme, theme } from "../tui/theme.mjs";

export const getMarkdownTheme = () => ({ ...markdownTheme });
export const getSelectListTheme = () => ({ ...selectListTheme });
export const getSettingsListTheme = () => ({ ...settingsListTheme });
export const getEditorTheme = () => ({ ...editorTheme });

/** Does nothing: there is one theme. */
export function initTheme() {}

/** Returns the lines of code. Clients colour code themselves. */
export function highlightCode(code) {
  return code.split("\n");
}

const LANGUAGES = {
  typescript: "ts tsx",
  javascript: "js jsx mjs cjs",
  python: "py",
  ruby: "rb",
  rust: "rs",
  kotlin: "kt",
  c: "c h",
  cpp: "cpp cc cxx hpp",
  csharp: "cs",
  bash: "sh bash zsh",
  powershell: "ps1",
  html: "html htm",
  yaml: "yaml yml",
  markdown: "md markdown",
  clojure: "clj",
  elixir: "ex exs",
  erlang: "erl",
  haskell: "hs",
  ocaml: "ml",
  protobuf: "proto",
  hcl: "tf hcl",
};
/** Languages whose files end in their names. */
const NAMED =
  "go java swift php fish sql css scss sass less json toml xml dockerfile makefile cmake lua perl r scala vim graphql".split(" ");
const byEnding = new Map([
  ...Object.entries(LANGUAGES).flatMap(([language, endings]) => endings.split(" ").map((ending) => [ending, language])),
  ...NAMED.map((name) => [name, name]),
]);

/** Returns the language of a file, by its name. */
export function getLanguageFromPath(filePath) {
  return byEnding.get(filePath.split(".").at(-1).toLowerCase());
}

/** Returns keys as people read them. */
function readable(keys) {
  return process.platform === "darwin" ? keys.replace(/\balt\b/gi, "option") : keys;
}

/** Returns the keys of an action. */
export function keyText(keybinding) {
  return readable(getKeybindings().getKeys(keybinding).join("/"));
}

/** Returns a hint that the keys of an action do something. */
export function keyHint(keybinding, description) {
  return `${theme.fg("dim", keyText(keybinding))}${theme.fg("muted", ` ${description}`)}`;
}

/** Returns a hint that a key does something. */
export function rawKeyHint(key, description) {
  return `${theme.fg("dim", readable(key))}${theme.fg("muted", ` ${description}`)}`;
}

const DIFF_COLORS = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };

/** Returns a diff with line numbers, as `edit` makes it, for a terminal. */
export function renderDiff(diffText) {
  const rows = diffText.split("\n").map((line) => {
    const parts = /^([-+\s])(\s*\d*)\s(.*)$/.exec(line);
    if (!parts) return theme.fg("toolDiffContext", line);
    const [, mark, number, text] = parts;
    const sign = mark in DIFF_COLORS ? mark : " ";
    return theme.fg(DIFF_COLORS[mark] ?? "toolDiffContext", `${sign}${number} ${text.replaceAll("\t", "   ")}`);
  });
  return rows.join("\n");
}

/** Returns the last lines of a text as a terminal of this width shows it, and how many were left out. */
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0) {
  const lines = text ? new Text(text, paddingX, 0).render(width) : [];
  const skippedCount = Math.max(0, lines.length - maxVisualLines);
  return { visualLines: lines.slice(skippedCount), skippedCount };
}

/** Returns the lines that a call of `read` asks for, to be put behind a path: `:5-9`. */
export function formatReadLineRange(offset, limit) {
  const isAbsent = (value) => value === undefined || value === null;
  const numberOf = (value) => (Number.isSafeInteger(Number(value)) && String(value).trim() !== "" ? Number(value) : undefined);
  if (isAbsent(offset) && isAbsent(limit)) return "";
  const start = isAbsent(offset) ? 1 : numberOf(offset);
  if (start === undefined) return "";
  if (isAbsent(limit)) return `:${start}`;
  const count = numberOf(limit);
  return count === undefined ? "" : `:${start}-${start + count - 1}`;
}
