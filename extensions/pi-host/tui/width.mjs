// How many terminal columns text takes.
//
// The rules follow what pi's components assume, because extensions lay out their lines with them:
// a tab is three columns, an emoji two, a combining mark none, and marks that terminals give a cell
// of their own count one.

import { isWide } from "./east_asian.mjs";
import { splitAtEscapes, stripTerminalSequences } from "./escapes.mjs";

/** Columns that a tab takes, wherever it stands. */
const TAB_WIDTH = 3;

const REMEMBERED = 512;
const remembered = new Map();

let tables;

const IGNORED = "\\p{Default_Ignorable_Code_Point}\\p{Control}\\p{Mark}\\p{Surrogate}";
// Spacing marks, and those that the older width tables of terminals give a cell too.
const CELL_MARK =
  "^(?:[\\p{Spacing_Mark}--[\\u1734\\u302E\\u302F]]|[\\u065F\\u0F7F\\u102B\\u102C\\u1031\\u1033-\\u1035\\u1038\\u103A-\\u103E])$";

// Built on first use, because most extensions never measure anything but ASCII; and not written as
// literals, because those are compiled when the module is loaded, which takes ten milliseconds.
function unicode() {
  tables ??= {
    graphemes: new Intl.Segmenter(undefined, { granularity: "grapheme" }),
    words: new Intl.Segmenter(undefined, { granularity: "word" }),
    invisible: new RegExp(`^[${IGNORED}]+$`, "u"),
    unprinted: new RegExp(`^[${IGNORED}\\p{Format}]$`, "u"),
    mark: new RegExp("^\\p{Mark}$", "u"),
    cellMark: new RegExp(CELL_MARK, "v"),
    emoji: new RegExp("^\\p{RGI_Emoji}$", "v"),
  };
  return tables;
}

/** Returns the segmenter into graphemes that all of the package share. */
export function graphemeSegmenter() {
  return unicode().graphemes;
}

/** Returns the segmenter into words that all of the package share. */
export function wordSegmenter() {
  return unicode().words;
}

/** Returns whether the text is printable ASCII only, one column per character. */
export function isPlainAscii(text) {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/** Returns the graphemes of text without escape sequences. */
function graphemesOf(text) {
  if (isPlainAscii(text)) return text.split("");
  return Array.from(unicode().graphemes.segment(text), (part) => part.segment);
}

/** Returns the columns of one grapheme. */
function graphemeWidth(grapheme) {
  if (grapheme.length === 1) {
    const code = grapheme.charCodeAt(0);
    if (code >= 0x20 && code < 0x7f) return 1;
    if (code === 9) return TAB_WIDTH;
    if (code < 0xa0) return 0;
  }
  const { cellMark, invisible, emoji, unprinted } = unicode();
  const characters = Array.from(grapheme);
  if (characters.every((character) => cellMark.test(character))) return characters.length;
  if (invisible.test(grapheme)) return 0;
  if (emoji.test(grapheme)) return 2;
  const base = characters.findIndex((character) => !unprinted.test(character));
  if (base < 0) return 0;
  const first = characters[base].codePointAt(0);
  // A lone half of a flag: terminals draw a wide letter.
  if (first >= 0x1f1e6 && first <= 0x1f1ff) return 2;
  return columnsOf(first) + trailingWidth(characters.slice(base + 1));
}

function columnsOf(codePoint) {
  return isWide(codePoint) ? 2 : 1;
}

// What follows the first character of a grapheme and still gets cells: marks with a cell, consonants
// after a mark (Indic conjuncts), half- and fullwidth forms, and the AM vowels of Thai and Lao.
function trailingWidth(characters) {
  const { cellMark, mark, unprinted } = unicode();
  let width = 0;
  let afterMark = false;
  for (const character of characters) {
    const codePoint = character.codePointAt(0);
    if (cellMark.test(character)) {
      width += 1;
      afterMark = false;
    } else if (mark.test(character)) {
      afterMark = true;
    } else if (!unprinted.test(character)) {
      if (afterMark || (codePoint >= 0xff00 && codePoint <= 0xffef)) width += columnsOf(codePoint);
      else if (codePoint === 0x0e33 || codePoint === 0x0eb3) width += 1;
      afterMark = false;
    }
  }
  return width;
}

/** Returns the columns that the text takes, escape sequences not counted. */
export function visibleWidth(text) {
  if (isPlainAscii(text)) return text.length;
  const known = remembered.get(text);
  if (known !== undefined) return known;
  let width = 0;
  for (const grapheme of graphemesOf(stripTerminalSequences(text))) width += graphemeWidth(grapheme);
  if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value);
  remembered.set(text, width);
  return width;
}

/**
 * Returns the text as cells, in order: `{text, width}` for a grapheme, `{text, width: 0, escape: true}`
 * for an escape sequence.
 */
export function cellsOf(text) {
  const cells = [];
  for (const run of splitAtEscapes(text)) {
    if (run.escape) {
      cells.push({ text: run.text, width: 0, escape: true });
      continue;
    }
    for (const grapheme of graphemesOf(run.text)) {
      cells.push({ text: grapheme, width: graphemeWidth(grapheme), escape: false });
    }
  }
  return cells;
}
