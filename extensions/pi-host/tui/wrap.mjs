// Wrapping of styled text into lines.

import { ActiveStyle } from "./style.mjs";
import { cellsOf, visibleWidth } from "./width.mjs";

const SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"];
let breakable;

/** Returns whether a line may end at the grapheme without a space: ideographs and syllables. */
export function isBreakable(grapheme) {
  if (grapheme.charCodeAt(0) < 0x300 && grapheme.length === 1) return false;
  breakable ??= new RegExp(`[${SCRIPTS.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`, "u");
  return breakable.test(grapheme);
}

/**
 * Returns the lines of the text, each at most `width` columns. Lines end at spaces where they can;
 * the style that is active at a break goes on in the next line. Lines are not padded.
 */
export function wrapTextWithAnsi(text, width) {
  if (!text) return [""];
  const lines = [];
  const style = new ActiveStyle();
  for (const line of text.split(/\r\n|\r|\n/)) {
    const resumed = lines.length > 0 ? style.resume() : "";
    for (const wrapped of wrapLine(resumed + line, width)) lines.push(wrapped);
    style.applyText(line);
  }
  return lines;
}

function wrapLine(text, width) {
  if (visibleWidth(text) <= width) return [text];
  const lines = [];
  const style = new ActiveStyle();
  let line = "";
  let used = 0;
  const finish = (content) => lines.push(content + style.suspend());
  for (const word of wordsOf(text)) {
    if (word.width > width && !word.blank) {
      if (line) finish(line);
      line = style.resume();
      used = 0;
      for (const cell of word.cells) {
        if (cell.escape) {
          style.apply(cell.text);
        } else if (used + cell.width > width) {
          finish(line);
          line = style.resume();
          used = 0;
        }
        line += cell.text;
        used += cell.width;
      }
      continue;
    }
    if (used > 0 && used + word.width > width) {
      finish(line.trimEnd());
      line = style.resume() + (word.blank ? "" : word.text);
      used = word.blank ? 0 : word.width;
    } else {
      line += word.text;
      used += word.width;
    }
    for (const cell of word.cells) if (cell.escape) style.apply(cell.text);
  }
  if (line) lines.push(line);
  // Spaces at the end of a line may stand past the edge.
  return lines.map((wrapped) => wrapped.trimEnd());
}

// Runs of spaces, words, and single breakable graphemes; a sequence belongs to what follows it.
function wordsOf(text) {
  const words = [];
  let open;
  let waiting = [];
  const add = (cells, kind) => {
    if (!open || open.kind !== kind || kind === "breakable") {
      open = { kind, cells: [] };
      words.push(open);
    }
    open.cells.push(...cells);
  };
  for (const cell of cellsOf(text)) {
    if (cell.escape) {
      waiting.push(cell);
      continue;
    }
    waiting.push(cell);
    add(waiting, cell.text === " " ? "space" : isBreakable(cell.text) ? "breakable" : "word");
    waiting = [];
  }
  if (waiting.length > 0) {
    if (open) open.cells.push(...waiting);
    else add(waiting, "word");
  }
  return words.map(({ cells }) => {
    const word = cells.map((cell) => cell.text).join("");
    const columns = cells.reduce((sum, cell) => sum + cell.width, 0);
    return { text: word, cells, width: columns, blank: word.trim() === "" };
  });
}
