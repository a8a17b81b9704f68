// JSON as models write it: with raw control characters and wrong escapes in strings, and unfinished while it arrives.

const ESCAPES = { "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const VALID_ESCAPE = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;

function escapeControl(character) {
  return ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns the text with control characters in strings escaped and wrong escapes taken literally. */
export function repairJson(json) {
  const parts = [];
  let isInString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === '"') isInString = !isInString;
    if (!isInString || character === '"') {
      parts.push(character);
    } else if (character === "\\") {
      // The published parser leaves `\u` without four digits alone; JSON.parse then reports it.
      const escape = VALID_ESCAPE.exec(json.slice(index + 1, index + 6))?.[0] ?? (json[index + 1] === "u" ? "u" : "");
      parts.push(escape ? `\\${escape}` : "\\\\");
      index += escape.length;
    } else {
      parts.push(character < " " ? escapeControl(character) : character);
    }
  }
  return parts.join("");
}

/** Parses JSON; if that fails, its repaired form. */
export function parseJsonWithRepair(json) {
  try {
    return JSON.parse(json);
  } catch (error) {
    const repaired = repairJson(json);
    if (repaired !== json) return JSON.parse(repaired);
    throw error;
  }
}

/** Reads as much of unfinished JSON as there is. */
class PartialReader {
  constructor(text) {
    this.text = text;
    this.position = 0;
  }

  /** Returns a value, or `undefined` if none has begun. Throws if the text is not JSON. */
  value() {
    this.skipSpace();
    const character = this.text[this.position];
    if (character === undefined) return undefined;
    if (character === "{") return this.object();
    if (character === "[") return this.array();
    if (character === '"') return this.string().value;
    const literal = this.literal();
    return literal === undefined ? this.number() : literal;
  }

  skipSpace() {
    while (/\s/.test(this.text[this.position] ?? "")) this.position += 1;
  }

  /** Goes past a character after spaces, if it is there. */
  take(character) {
    this.skipSpace();
    const isThere = this.text[this.position] === character;
    if (isThere) this.position += 1;
    return isThere;
  }

  isAtEnd() {
    this.skipSpace();
    return this.position >= this.text.length;
  }

  object() {
    const members = {};
    this.position += 1;
    try {
      while (!this.take("}")) {
        if (this.isAtEnd()) break;
        const key = this.string();
        if (!key.isComplete) break;
        this.take(":");
        const value = this.value();
        if (value === undefined) break;
        Object.defineProperty(members, key.value, { value, enumerable: true, writable: true, configurable: true });
        this.take(",");
      }
    } catch {
      // What was read before the error is kept.
      this.position = this.text.length;
    }
    return members;
  }

  array() {
    const values = [];
    this.position += 1;
    try {
      while (!this.take("]")) {
        if (this.isAtEnd()) break;
        const value = this.value();
        if (value === undefined) break;
        values.push(value);
        this.take(",");
      }
    } catch {
      this.position = this.text.length;
    }
    return values;
  }

  string() {
    if (this.text[this.position] !== '"') throw new SyntaxError(`A string was expected at ${this.position}`);
    const start = this.position;
    this.position += 1;
    while (this.position < this.text.length && this.text[this.position] !== '"') {
      this.position += this.text[this.position] === "\\" ? 2 : 1;
    }
    const isComplete = this.position < this.text.length;
    this.position = Math.min(this.position + 1, this.text.length);
    const raw = this.text.slice(start, this.position);
    if (isComplete) return { value: JSON.parse(raw), isComplete };
    // An escape at the end may be unfinished.
    const escape = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$/.exec(raw)?.[1] ?? "";
    return { value: parseJsonWithRepair(`${raw.slice(0, raw.length - escape.length)}"`), isComplete };
  }

  literal() {
    const rest = this.text.slice(this.position, this.position + 5);
    for (const word of ["true", "false", "null"]) {
      if (rest.startsWith(word) || (rest.length < word.length && word.startsWith(rest))) {
        this.position += word.length;
        return JSON.parse(word);
      }
    }
    return undefined;
  }

  number() {
    const found = /^-?\d[\d.eE+-]*|^-/.exec(this.text.slice(this.position));
    if (!found) throw new SyntaxError(`A value was expected at ${this.position}`);
    this.position += found[0].length;
    const digits = this.position < this.text.length ? found[0] : found[0].replace(/\.$|[eE][+-]?$|^-$/, "");
    return digits === "" ? undefined : JSON.parse(digits);
  }
}

/** Parses JSON that may be unfinished. Returns an empty object if nothing can be read. */
export function parseStreamingJson(json) {
  if (!json?.trim()) return {};
  try {
    return parseJsonWithRepair(json);
  } catch {
    // Unfinished, or wrong in its structure.
  }
  for (const text of [json, repairJson(json)]) {
    try {
      return new PartialReader(text.trim()).value() ?? {};
    } catch {
      // The repaired form may still be readable.
    }
  }
  return {};
}

/** Returns the arguments of a finished tool call, or what is wrong with them. */
export function parseToolCallArguments(json) {
  if (!json?.trim()) return { arguments: {} };
  try {
    const value = parseJsonWithRepair(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Error("Tool arguments must be a JSON object");
    }
    return { arguments: value };
  } catch (error) {
    return { arguments: {}, argumentsError: `${error.message}\n\nReceived arguments:\n${json}` };
  }
}

/** Reads JSON that arrives in pieces. */
export class StreamingJsonParser {
  #text = "";
  #latest;

  /** Adds a piece and returns what it changed: the whole value, if it is another one. */
  append(piece) {
    this.#text += piece;
    const before = this.#latest;
    const value = this.#text.trim() ? parseStreamingJson(this.#text) : undefined;
    if (JSON.stringify(value) === JSON.stringify(before)) return [];
    this.#latest = value;
    return [{ kind: "set", path: [], value }];
  }

  /** Returns the value so far. */
  snapshot() {
    return this.#latest;
  }
}

/** The arguments of a tool call that is arriving. */
export class ToolCallArgumentsStream {
  #text = "";

  get text() {
    return this.#text;
  }

  /** Adds a piece and returns the arguments so far. */
  append(delta) {
    this.#text += delta;
    return this.#arguments();
  }

  /** Takes the whole text and returns what of it is new, if it goes on where the text so far ends. */
  replace(text) {
    const delta = text.startsWith(this.#text) ? text.slice(this.#text.length) : undefined;
    this.#text = text;
    return { delta, arguments: this.#arguments() };
  }

  /** Returns the finished arguments. */
  finish() {
    return parseToolCallArguments(this.#text);
  }

  #arguments() {
    const value = parseStreamingJson(this.#text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  }
}
