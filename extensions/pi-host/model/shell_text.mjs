// Texts of commands and their limits.

export const GREP_MAX_LINE_LENGTH = 500;

/** Returns the size of a text in UTF-8. */
export function utf8ByteLength(text) {
  return Buffer.byteLength(text, "utf8");
}

/** Returns a text without control characters, except for tabs and line feeds. */
export function sanitizeBinaryOutput(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\ufff9-\ufffb]/g, "");
}
