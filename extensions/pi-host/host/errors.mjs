// What is thrown, as text.

/** Returns what an error says. Anything can be thrown. */
export function messageOf(thrown) {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  if (typeof thrown === "object" && thrown !== null && typeof thrown.message === "string") return thrown.message;
  try {
    return String(thrown);
  } catch {
    return "an error without a text";
  }
}

/** Returns where an error was thrown, if that is known. */
export function stackOf(thrown) {
  return typeof thrown?.stack === "string" ? thrown.stack : undefined;
}
