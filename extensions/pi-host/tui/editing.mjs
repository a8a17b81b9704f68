// What single-line and multi-line fields share: moving by graphemes and words, deleted text that can be
// put back, pasted text that arrives in pieces.

import { PASTE_END, PASTE_START } from "./keys.mjs";
import { graphemeSegmenter, wordSegmenter } from "./width.mjs";

const PUNCTUATION = /[(){}[\]<>.,;:'"!?+\-=*/\\|&%^$#@~`]/;
const AROUND_PUNCTUATION = new RegExp(`(?<=${PUNCTUATION.source})|(?=${PUNCTUATION.source})`);

/** Returns the length of the grapheme that ends at the position. */
export function graphemeBefore(text, position) {
  let length = 0;
  for (const { segment } of graphemeSegmenter().segment(text.slice(0, position))) length = segment.length;
  return length;
}

/** Returns the length of the grapheme that begins at the position. */
export function graphemeAt(text, position) {
  const [first] = graphemeSegmenter().segment(text.slice(position));
  return first?.segment.length ?? 0;
}

// Words, runs of punctuation, and white space, with punctuation inside words as a boundary.
function partsOf(text) {
  const parts = [];
  const add = (part, kind) => {
    const last = parts.at(-1);
    if (last?.kind === kind && kind !== "word") last.text += part;
    else parts.push({ text: part, kind });
  };
  for (const { segment, isWordLike } of wordSegmenter().segment(text)) {
    if (/\s/.test(segment)) add(segment, "space");
    else if (!isWordLike) add(segment, "punctuation");
    else for (const part of segment.split(AROUND_PUNCTUATION)) add(part, PUNCTUATION.test(part) ? "punctuation" : "word");
  }
  return parts;
}

/** Returns the position one word before. */
export function wordBefore(text, position) {
  const parts = partsOf(text.slice(0, position));
  let moved = position;
  if (parts.at(-1)?.kind === "space") moved -= parts.pop().text.length;
  return moved - (parts.at(-1)?.text.length ?? 0);
}

/** Returns the position one word after. */
export function wordAfter(text, position) {
  const parts = partsOf(text.slice(position));
  let moved = position;
  if (parts[0]?.kind === "space") moved += parts.shift().text.length;
  return moved + (parts[0]?.text.length ?? 0);
}

/** Keeps deleted text, the latest last. Deletions in a row become one entry. */
export class KillRing {
  #entries = [];

  add(text, { before, append }) {
    if (!text) return;
    const last = append ? (this.#entries.pop() ?? "") : "";
    this.#entries.push(before ? text + last : last + text);
  }

  latest() {
    return this.#entries.at(-1) ?? "";
  }

  /** Makes the entry before the latest one. */
  rotate() {
    if (this.#entries.length > 1) this.#entries.unshift(this.#entries.pop());
  }

  get size() {
    return this.#entries.length;
  }
}

/** Collects text that a terminal pastes, between its two marks, over any number of chunks. */
export class PasteCollector {
  #collected;

  /**
   * Takes a chunk of input and returns undefined if it belongs to no paste, else `{pasted, rest}`: the
   * text once it is complete, and what came after it.
   */
  take(data) {
    if (data.includes(PASTE_START)) this.#collected = data.replace(PASTE_START, "");
    else if (this.#collected !== undefined) this.#collected += data;
    else return undefined;
    const end = this.#collected.indexOf(PASTE_END);
    if (end < 0) return { pasted: undefined, rest: "" };
    const pasted = this.#collected.slice(0, end);
    const rest = this.#collected.slice(end + PASTE_END.length);
    this.#collected = undefined;
    return { pasted, rest };
  }
}

/** Returns the text with the grapheme at the position shown as the cursor, and the marker before it if wanted. */
export function withCursor(text, position, marker, end = "\x1b[27m") {
  const length = graphemeAt(text, position);
  const under = length > 0 ? text.slice(position, position + length) : " ";
  return `${text.slice(0, position)}${marker}\x1b[7m${under}${end}${text.slice(position + length)}`;
}
