// How calls and results of the session's tools look in a terminal: as text.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const SUBJECTS = ["command", "pattern", "path"];

function textComponent(text) {
  const { Text } = require("../../shims/pi-tui.mjs");
  return new Text(text, 0, 0);
}

/** Returns the component of a call: the tool and what it works on. */
export function renderCall(name, args, theme) {
  const subject = SUBJECTS.map((key) => args?.[key]).find((value) => typeof value === "string") ?? "";
  return textComponent(`${theme.fg("toolTitle", theme.bold(name))} ${theme.fg("accent", subject)}`);
}

/** Returns the component of a result: its text, or its beginning. */
export function renderResult(result, { expanded } = {}, theme) {
  const lines = result.content.filter((block) => block.type === "text").flatMap((block) => block.text.split("\n"));
  const shown = expanded ? lines : lines.slice(0, 10);
  return textComponent(theme.fg("toolOutput", shown.join("\n")));
}
