// Chunks of terminal input, taken apart into single keys and pastes.

import { EventEmitter } from "node:events";

import { PASTE_END, PASTE_START } from "./keys.mjs";

// Complete sequences: mouse reports of the old and the newer form, other CSI, single shifts, strings.
const SEQUENCE =
  /\x1b(?:\[M[^]{3}|\[<\d+;\d+;\d+[Mm]|\[\[[A-E]|\[(?!<|M|\[)[^\x1b]*?[@-~$^]|O[^\x1b]|\][^]*?(?:\x07|\x1b\\)|[P_][^]*?\x1b\\|(?![[\]OP_\x1b])[^])/y;
const BEGINNING = /^\x1b(?:$|[[\]OP_])/;

/**
 * Returns the keys in the text as `{keys, rest}`; `rest` is a sequence that is not complete. A paste is one
 * key, its two marks included.
 */
export function splitKeys(text) {
  const keys = [];
  let position = 0;
  while (position < text.length) {
    if (text.startsWith(PASTE_START, position)) {
      const end = text.indexOf(PASTE_END, position);
      if (end < 0) return { keys, rest: text.slice(position) };
      keys.push(text.slice(position, end + PASTE_END.length));
      position = end + PASTE_END.length;
    } else if (text[position] === "\x1b") {
      SEQUENCE.lastIndex = position;
      const match = SEQUENCE.exec(text);
      if (match) {
        keys.push(match[0]);
        position += match[0].length;
      } else if (text[position + 1] === "\x1b") {
        // Escape twice is a key of its own, unless the second one begins a sequence.
        const double = !/[[\]OP_]/.test(text[position + 2] ?? "");
        keys.push(text.slice(position, position + (double ? 2 : 1)));
        position += double ? 2 : 1;
      } else if (BEGINNING.test(text.slice(position))) {
        return { keys, rest: text.slice(position) };
      }
    } else {
      const character = String.fromCodePoint(text.codePointAt(position));
      keys.push(character);
      position += character.length;
    }
  }
  return { keys, rest: "" };
}

/** Puts sequences together that arrive in several chunks. Emits "data" per key and "paste" per pasted text. */
export class StdinBuffer extends EventEmitter {
  #buffer = "";
  #timer;
  #timeout;
  #escapeTimeout;

  constructor(options = {}) {
    super();
    this.#timeout = options.timeout ?? 50;
    this.#escapeTimeout = options.escapeTimeout ?? 10;
  }

  process(data) {
    clearTimeout(this.#timer);
    // A single byte over 127 is a key with alt, as old terminals send it.
    const text = typeof data === "string" ? data : data.length === 1 && data[0] > 127 ? `\x1b${String.fromCharCode(data[0] - 128)}` : data.toString();
    const { keys, rest } = splitKeys(this.#buffer + text);
    this.#buffer = rest;
    for (const key of keys) this.#emitKey(key);
    if (rest === "" || rest.startsWith(PASTE_START)) return;
    const wait = rest === "\x1b" ? this.#escapeTimeout : this.#timeout;
    this.#timer = setTimeout(() => {
      for (const key of this.flush()) this.#emitKey(key);
    }, wait);
  }

  #emitKey(key) {
    if (key.startsWith(PASTE_START)) this.emit("paste", key.slice(PASTE_START.length, -PASTE_END.length));
    else this.emit("data", key);
  }

  /** Returns what has been waiting for its end, as keys. */
  flush() {
    clearTimeout(this.#timer);
    const rest = this.#buffer;
    this.#buffer = "";
    return rest ? [rest] : [];
  }

  clear() {
    this.flush();
  }

  getBuffer() {
    return this.#buffer;
  }

  destroy() {
    this.clear();
  }
}
