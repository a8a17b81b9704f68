// Small changes of texts for requests.

import { createHash } from "node:crypto";

/** Returns a text without halves of characters, which JSON of providers does not allow. */
export function sanitizeSurrogates(text) {
  return text.replace(/\p{Surrogate}/gu, "");
}

/** Returns a short name for a long text. */
export function shortHash(text) {
  return BigInt(`0x${createHash("sha256").update(text).digest("hex").slice(0, 16)}`).toString(36);
}

/** Returns a part of a text that does not keep the rest of it in memory. */
export function ownedSlice(text, start, end = text.length) {
  return Buffer.from(text.slice(start, end), "utf16le").toString("utf16le");
}
