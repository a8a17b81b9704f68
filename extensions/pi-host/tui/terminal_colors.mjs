// Answers of terminals about their colours.

function channel(digits) {
  if (!/^[0-9a-f]+$/i.test(digits ?? "")) return undefined;
  return Math.round((parseInt(digits, 16) / (16 ** digits.length - 1)) * 255);
}

/** Returns the background colour `{r, g, b}` in a terminal's answer to OSC 11, or undefined. */
export function parseOsc11BackgroundColor(data) {
  const value = /^\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)$/i.exec(data)?.[1].trim();
  if (value === undefined) return undefined;
  const hex = /^#([0-9a-f]{6}|[0-9a-f]{12})$/i.exec(value)?.[1];
  if (value.startsWith("#") && !hex) return undefined;
  const digits = hex ? hex.length / 3 : 0;
  const parts = hex ? [hex.slice(0, digits), hex.slice(digits, 2 * digits), hex.slice(2 * digits)] : value.replace(/^rgba?:/i, "").split("/");
  const [r, g, b] = parts.map(channel);
  return r !== undefined && g !== undefined && b !== undefined ? { r, g, b } : undefined;
}

/** Returns "dark" or "light" from a terminal's report of its colour scheme, or undefined. */
export function parseTerminalColorSchemeReport(data) {
  const scheme = /^(?:\x1b\[\?997;([12])n)+$/.exec(data)?.[1];
  return scheme && (scheme === "2" ? "light" : "dark");
}
