// The part of YAML that people write in front matter: maps, lists, texts of every kind, numbers, booleans and null.
// There are no anchors, tags and several documents.

/** Says what is wrong with a text, and in which line. */
class YamlError extends Error {
  constructor(message, number) {
    super(`${message} (line ${number})`);
    this.name = "YAMLParseError";
  }
}

const ESCAPES = { n: "\n", t: "\t", r: "\r", 0: "\0", b: "\b", f: "\f", a: "\x07", e: "\x1b", v: "\v", " ": " ", _: "\u00a0" };
const INTEGER = /^[-+]?\d+$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
// A key, with or without quotes, up to its colon.
const KEY =
  /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'[\]{},&*!|>%@`-][^#]*?|-[^\s#][^#]*?|[^\s"'[\]{},&*!|>%@`][^:]*?)\s*:(?=\s|$)/;

/** Returns the value of a text without quotes. */
function plain(text) {
  if (text === "" || text === "~" || /^null$/i.test(text)) return null;
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  if (INTEGER.test(text) || FLOAT.test(text)) return Number(text);
  if (/^0x[\da-f]+$/i.test(text) || /^0o[0-7]+$/.test(text)) return Number(text);
  if (/^[-+]?\.inf$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return /^\.nan$/i.test(text) ? NaN : text;
}

function unescape(text) {
  return text.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|\n\s*|(.))/g, (whole, x, u, long, letter) => {
    const code = x ?? u ?? long;
    if (code) return String.fromCodePoint(Number.parseInt(code, 16));
    return letter === undefined ? "" : (ESCAPES[letter] ?? letter);
  });
}

/** Reads values that are written in one line, and those in brackets, which may go on in the next. */
class Flow {
  #at = 0;

  constructor(text, number) {
    this.text = text;
    this.number = number;
  }

  /** Returns the value that the whole text is. */
  whole() {
    const value = this.#value("");
    this.#skip();
    const rest = this.text.slice(this.#at);
    if (rest) throw new YamlError(`Unexpected text after a value: ${rest}`, this.number);
    return value;
  }

  #skip() {
    const rest = /^(?:\s+#.*|\s)*/.exec(this.text.slice(this.#at))[0];
    this.#at += rest.length;
    if (this.#at === 0 && this.text.startsWith("#")) this.#at = this.text.length;
  }

  #value(closers) {
    this.#skip();
    const first = this.text[this.#at];
    if (first === '"' || first === "'") return this.#quoted();
    if (first === "[") return this.#list();
    if (first === "{") return this.#map();
    return plain(this.#plainText(closers));
  }

  #plainText(closers) {
    const start = this.#at;
    while (this.#at < this.text.length) {
      const letter = this.text[this.#at];
      if (closers.includes(letter)) break;
      const next = this.text[this.#at + 1];
      if (letter === ":" && (closers ? next === undefined || /[\s,\]}]/.test(next) : false)) break;
      if (letter === "#" && this.#at > start && /\s/.test(this.text[this.#at - 1])) break;
      this.#at += 1;
    }
    return this.text.slice(start, this.#at).trim().replace(/\s*\n\s*/g, " ");
  }

  #quoted() {
    const pattern = this.text[this.#at] === '"' ? /^"((?:[^"\\]|\\[\s\S])*)"/ : /^'((?:[^']|'')*)'/;
    const found = pattern.exec(this.text.slice(this.#at));
    if (!found) throw new YamlError("A quoted text has no end", this.number);
    const isDouble = this.text[this.#at] === '"';
    this.#at += found[0].length;
    const folded = found[1].replace(/[ \t]*\n[ \t]*/g, " ");
    return isDouble ? unescape(folded) : folded.replaceAll("''", "'");
  }

  #expect(closer) {
    this.#skip();
    if (this.text[this.#at] === ",") {
      this.#at += 1;
      this.#skip();
    } else if (this.text[this.#at] !== closer) {
      throw new YamlError(`'${closer}' is missing`, this.number);
    }
    return this.text[this.#at] !== closer;
  }

  #list() {
    const list = [];
    this.#at += 1;
    this.#skip();
    for (let more = this.text[this.#at] !== "]"; more; more = this.#expect("]")) list.push(this.#value(",]"));
    this.#at += 1;
    return list;
  }

  #map() {
    const map = {};
    this.#at += 1;
    this.#skip();
    for (let more = this.text[this.#at] !== "}"; more; more = this.#expect("}")) {
      const key = String(this.#value(",}") ?? "");
      this.#skip();
      if (this.text[this.#at] === ":") {
        this.#at += 1;
        define(map, key, this.#value(",}"));
      } else {
        define(map, key, null);
      }
    }
    this.#at += 1;
    return map;
  }
}

/** Sets a field, also one with a name that has a meaning to JavaScript. */
function define(map, key, value) {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}

const isBlank = (text) => /^\s*(?:#.*)?$/.test(text);
const indentOf = (text) => /^ */.exec(text)[0].length;

/** Tells whether the brackets and quotes of a value in brackets are closed. */
function isClosed(text) {
  let depth = 0;
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/g, "");
  for (const letter of bare) {
    if (letter === "[" || letter === "{") depth += 1;
    else if (letter === "]" || letter === "}") depth -= 1;
  }
  return depth <= 0 && !/["']/.test(/^["']/.test(text) ? bare : "");
}

/** Reads the lines of a document. */
class Document {
  #at = 0;

  constructor(text) {
    this.lines = text.replace(/\r\n?/g, "\n").split("\n");
  }

  whole() {
    this.#skipBlank();
    if (this.lines[this.#at]?.trim() === "---") this.#at += 1;
    const value = this.#block(0);
    this.#skipBlank();
    if (this.#at < this.lines.length && !/^\.\.\.|^---/.test(this.lines[this.#at])) this.#fail("Unexpected indentation or text");
    return value;
  }

  #fail(message) {
    throw new YamlError(message, this.#at + 1);
  }

  #skipBlank() {
    while (this.#at < this.lines.length && isBlank(this.lines[this.#at])) this.#at += 1;
  }

  /** Returns what the lines that are indented at least so far say. */
  #block(least) {
    this.#skipBlank();
    const first = this.lines[this.#at];
    if (first === undefined || indentOf(first) < least || /^(?:\.\.\.|---)\s*$/.test(first)) return null;
    const indent = indentOf(first);
    if (first.includes("\t") && first.trimStart().length < first.slice(indent).length) this.#fail("Tabs cannot indent");
    const text = first.slice(indent);
    if (/^-(?:\s|$)/.test(text)) return this.#list(indent);
    if (KEY.test(text)) return this.#map(indent);
    this.#at += 1;
    return this.#inline(text, indent - 1);
  }

  #list(indent) {
    const list = [];
    for (; this.#isAt(indent) && /^-(?:\s|$)/.test(this.lines[this.#at].slice(indent)); this.#skipBlank()) {
      const line = this.lines[this.#at];
      const rest = line.slice(indent + 1);
      if (isBlank(rest)) {
        this.#at += 1;
        list.push(this.#block(indent + 1));
      } else if (KEY.test(rest.trimStart()) || /^\s*-\s/.test(rest)) {
        // What follows the dash is a block of its own, as if it stood alone in the line.
        this.lines[this.#at] = `${" ".repeat(indent + 1)}${rest}`;
        list.push(this.#block(indent + 1));
      } else {
        this.#at += 1;
        list.push(this.#inline(rest.trim(), indent));
      }
    }
    return list;
  }

  #map(indent) {
    const map = {};
    for (; this.#isAt(indent); this.#skipBlank()) {
      const text = this.lines[this.#at].slice(indent);
      const found = KEY.exec(text);
      if (!found) this.#fail("A key and a colon were expected");
      const key = /^["']/.test(found[1]) ? new Flow(found[1], this.#at + 1).whole() : found[1];
      if (Object.hasOwn(map, key)) this.#fail(`The key ${key} is there twice`);
      const rest = text.slice(found[0].length).trim();
      this.#at += 1;
      define(map, key, isBlank(rest) ? this.#nested(indent) : this.#inline(rest, indent));
    }
    return map;
  }

  /** Returns the block below a key. A list may be as far left as the key. */
  #nested(indent) {
    this.#skipBlank();
    const next = this.lines[this.#at];
    const isList = next !== undefined && indentOf(next) === indent && /^-(?:\s|$)/.test(next.slice(indent));
    return isList ? this.#list(indent) : this.#block(indent + 1);
  }

  #isAt(indent) {
    this.#skipBlank();
    const line = this.lines[this.#at];
    if (line === undefined || /^(?:\.\.\.|---)\s*$/.test(line) || indentOf(line) < indent) return false;
    if (indentOf(line) > indent) this.#fail("Unexpected indentation");
    return true;
  }

  /** Returns the value that begins in a line behind a key or a dash, and may go on in lines that are indented further. */
  #inline(text, indent) {
    const number = this.#at;
    const header = /^([|>])([-+]?)(\d?)([-+]?)\s*(?:#.*)?$/.exec(text);
    if (header) return this.#scalar(header[1], header[2] || header[4], Number(header[3]), indent);
    if (/^[&*!%@`]/.test(text)) throw new YamlError(`Values that begin with ${text[0]} are not supported`, number);
    let whole = text;
    if (/^["'[{]/.test(text)) {
      while (!isClosed(whole) && this.#at < this.lines.length) {
        whole += `\n${this.lines[this.#at]}`;
        this.#at += 1;
      }
      return new Flow(whole, number).whole();
    }
    whole = whole.replace(/\s+#.*$/, "");
    if (/:(?:\s|$)/.test(whole)) throw new YamlError("A text with a colon and a space needs quotes", number);
    return plain(whole + this.#continuation(indent));
  }

  /** Returns the further lines of a text without quotes, folded. */
  #continuation(indent) {
    let folded = "";
    let blank = 0;
    for (; this.#at < this.lines.length; this.#at += 1) {
      const line = this.lines[this.#at];
      if (line.trim() === "") blank += 1;
      else if (indentOf(line) <= indent || isBlank(line)) break;
      else {
        if (/:(?:\s|$)/.test(line)) this.#fail("A text with a colon and a space needs quotes");
        folded += (blank > 0 ? "\n".repeat(blank) : " ") + line.trim().replace(/\s+#.*$/, "");
        blank = 0;
      }
    }
    return folded;
  }

  /** Returns a text that is written in lines of its own. */
  #scalar(style, chomp, given, parent) {
    const rows = [];
    let indent = given ? Math.max(parent, 0) + given : 0;
    for (; this.#at < this.lines.length; this.#at += 1) {
      const line = this.lines[this.#at];
      if (line.trim() === "" && (!indent || indentOf(line) < indent)) {
        rows.push("");
        continue;
      }
      if (!indent) indent = Math.max(indentOf(line), parent + 1);
      if (indentOf(line) < indent) break;
      rows.push(line.slice(indent));
    }
    let trailing = 0;
    while (rows.at(-1) === "") {
      rows.pop();
      trailing += 1;
    }
    const text = style === "|" ? rows.join("\n") : fold(rows);
    if (chomp === "-" || (rows.length === 0 && chomp !== "+")) return text;
    return text + "\n".repeat(chomp === "+" ? trailing + (rows.length > 0 ? 1 : 0) : 1);
  }
}

/** Joins lines by spaces; empty lines and lines that are indented further keep their line feeds. */
function fold(rows) {
  let text = "";
  for (const [index, row] of rows.entries()) {
    if (index === 0) {
      text = row;
      continue;
    }
    const isLoose = /^\s/.test(row) || /^\s/.test(rows[index - 1]);
    if (row === "") text += "\n";
    else if (isLoose) text += `\n${row}`;
    else if (rows[index - 1] === "") text += row;
    else text += ` ${row}`;
  }
  return text;
}

/** Returns what a text in YAML says. Throws if it cannot be read. */
export function parseYaml(text) {
  return new Document(text).whole();
}
