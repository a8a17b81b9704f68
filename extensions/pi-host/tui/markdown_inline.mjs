// Markdown inside a paragraph: emphasis, code, links, breaks.

/** An address in brackets or not, and maybe a title. */
const LINK_TARGET =
  /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\([^)]*\)))?\s*\)/;

const ESCAPED = /^\\([!-/:-@[-`{-~])/;
const CODE = /^(`+)(?!`)([^]*?[^`])\1(?!`)/;
const AUTOLINK = /^<((?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*)|(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+))>/;
const ADDRESS = /^(?:https?:\/\/|www\.)[^\s<]+/i;
const HTML = /^<(?:\/?[a-zA-Z][^<>]*|!--[^]*?--)>/;
const BREAK = /^(?: {2,}|\\)\n[ \t]*/;
const TEXT = /^[^\\`<[\]!*_~\n hw]+|^[hw](?!ttps?:\/\/|ww\.)[^\\`<[\]!*_~\n ]*|^ +(?!\n)/i;

/**
 * Returns the parts of the text: `{type: "text" | "code" | "html" | "break" | "escape", text}`,
 * `{type: "link", address, parts, text}`, `{type: "strong" | "emphasis" | "strike", parts}`.
 */
export function parseInline(text, definitions = new Map()) {
  return new Inline(text, definitions).parts;
}

class Inline {
  constructor(text, definitions) {
    this.definitions = definitions;
    this.parts = this.#emphasize(this.#scan(text));
  }

  // Plain parts and runs of `*`, `_` and `~` that may turn into emphasis.
  #scan(text) {
    const parts = [];
    let position = 0;
    while (position < text.length) {
      const rest = text.slice(position);
      const before = text[position - 1];
      const [part, length] = this.#next(rest, before) ?? [{ type: "text", text: rest[0] }, 1];
      const last = parts.at(-1);
      if (part.type === "text" && last?.type === "text") last.text += part.text;
      else parts.push(part);
      position += length;
    }
    return parts;
  }

  #next(rest, before) {
    let match = BREAK.exec(rest);
    if (match) return [{ type: "break", text: "\n" }, match[0].length];
    match = TEXT.exec(rest);
    if (match) return [{ type: "text", text: match[0] }, match[0].length];
    match = ESCAPED.exec(rest);
    if (match) return [{ type: "escape", text: match[1], source: match[0] }, 2];
    match = CODE.exec(rest);
    if (match) return [{ type: "code", text: codeText(match[2]) }, match[0].length];
    match = AUTOLINK.exec(rest);
    if (match) return [link(match[1], match[1].includes("@") && !match[1].includes(":") ? `mailto:${match[1]}` : match[1]), match[0].length];
    match = HTML.exec(rest);
    if (match) return [{ type: "html", text: match[0] }, match[0].length];
    match = ADDRESS.exec(rest);
    if (match && !/\w/.test(before ?? "")) {
      const address = trimmedAddress(match[0]);
      return [link(address, /^www\./i.test(address) ? `http://${address}` : address), address.length];
    }
    if (rest[0] === "[" || rest.startsWith("![")) return this.#link(rest);
    match = /^(\*+|_+|~+)/.exec(rest);
    if (match) return [delimiter(match[0], before, rest[match[0].length]), match[0].length];
    match = /^\n[ \t]*/.exec(rest);
    return match ? [{ type: "text", text: "\n" }, match[0].length] : undefined;
  }

  #link(rest) {
    const image = rest[0] === "!";
    const start = image ? 2 : 1;
    const end = closingBracket(rest, start);
    if (end < 0) return undefined;
    const label = rest.slice(start, end);
    const after = rest.slice(end + 1);
    const direct = LINK_TARGET.exec(after);
    const reference = direct ? null : /^\[([^\]]*)\]/.exec(after);
    const defined = () => this.definitions.get((reference?.[1] || label).toLowerCase());
    const address = direct ? (direct[1] ?? direct[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1") : defined();
    if (address === undefined) return undefined;
    const length = end + 1 + (direct ?? reference ?? [""])[0].length;
    // A screen of text shows what stands for the image.
    if (image) return [{ type: "text", text: label }, length];
    return [{ type: "link", address, text: label, parts: parseInline(label, this.definitions) }, length];
  }

  // Pairs closing runs with the nearest opening run of the same character.
  #emphasize(parts) {
    for (let closing = 0; closing < parts.length; closing += 1) {
      const closer = parts[closing];
      if (closer.type !== "delimiter" || !closer.closes) continue;
      const opening = findOpening(parts, closing);
      if (opening < 0) continue;
      const opener = parts[opening];
      const strike = closer.text[0] === "~";
      const length = strike ? 2 : Math.min(2, opener.text.length, closer.text.length);
      const type = strike ? "strike" : length === 2 ? "strong" : "emphasis";
      const inner = plain(parts.slice(opening + 1, closing));
      opener.text = opener.text.slice(length);
      closer.text = closer.text.slice(length);
      const replaced = [...(opener.text ? [opener] : []), { type, parts: inner }, ...(closer.text ? [closer] : [])];
      parts.splice(opening, closing - opening + 1, ...replaced);
      // What is left of the closer comes next: it may close more.
      closing = opening + (opener.text ? 1 : 0);
    }
    return plain(parts);
  }
}

function findOpening(parts, closing) {
  const closer = parts[closing];
  const character = closer.text[0];
  for (let index = closing - 1; index >= 0; index -= 1) {
    const opener = parts[index];
    if (opener.type !== "delimiter" || !opener.opens || opener.text[0] !== character) continue;
    if (character === "~") {
      if (opener.text.length === 2 && closer.text.length === 2) return index;
      continue;
    }
    // "a**b*c" is not a pair: of runs that could go both ways the sum must not be a multiple of three.
    const both = opener.closes || closer.opens;
    const odd = (opener.size + closer.size) % 3 === 0 && (opener.size % 3 !== 0 || closer.size % 3 !== 0);
    if (!both || !odd) return index;
  }
  return -1;
}

// Runs that found no partner are text.
function plain(parts) {
  const result = [];
  for (const part of parts) {
    const text = part.type === "delimiter" ? { type: "text", text: part.text } : part;
    const last = result.at(-1);
    if (text.type === "text" && last?.type === "text") last.text += text.text;
    else if (text.type !== "text" || text.text) result.push(text.type === "text" ? { ...text } : text);
  }
  return result;
}

let marks;

// Not a literal: that would be compiled whenever the module is loaded.
function isMark(character) {
  marks ??= new RegExp("[\\p{P}\\p{S}]", "u");
  return marks.test(character);
}

function delimiter(text, before = " ", after = " ") {
  const space = (character) => /\s/.test(character);
  const left = !space(after) && (!isMark(after) || space(before) || isMark(before));
  const right = !space(before) && (!isMark(before) || space(after) || isMark(after));
  // Underscores inside words are part of names.
  const word = text[0] === "_";
  return {
    type: "delimiter",
    text,
    size: text.length,
    opens: left && (!word || !right || isMark(before)),
    closes: right && (!word || !left || isMark(after)),
  };
}

function codeText(text) {
  const line = text.replaceAll("\n", " ");
  return /^ .* $/.test(line) && line.trim() !== "" ? line.slice(1, -1) : line;
}

function link(text, address) {
  return { type: "link", address, text, parts: [{ type: "text", text }] };
}

// A full stop or an unpaired bracket after an address belongs to the sentence.
function trimmedAddress(address) {
  let trimmed = address.replace(/[?!.,:*_~'"]+$/, "");
  while (trimmed.endsWith(")") && trimmed.split(")").length > trimmed.split("(").length) trimmed = trimmed.slice(0, -1);
  return trimmed;
}

function closingBracket(text, start) {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    if (text[index] === "\\") index += 1;
    else if (text[index] === "[") depth += 1;
    else if (text[index] === "]") {
      if (depth === 0) return index;
      depth -= 1;
    }
  }
  return -1;
}
