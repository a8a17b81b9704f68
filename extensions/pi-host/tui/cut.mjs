// Cutting styled text by columns: truncation, ranges, and one line laid over another.

import { parseLink } from "./escapes.mjs";
import { ActiveStyle, RESET_STYLE } from "./style.mjs";
import { cellsOf, isPlainAscii, visibleWidth } from "./width.mjs";

/**
 * Returns the text cut to `maxWidth` columns, the ellipsis included, and padded to it if `pad` is set.
 * A cut text ends all styles, so that nothing runs on into what follows.
 */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  if (maxWidth <= 0) return "";
  const width = visibleWidth(text);
  if (width <= maxWidth) return pad ? text + " ".repeat(maxWidth - width) : text;
  let kept = { text: "", width: 0 };
  let mark = { text: ellipsis, width: visibleWidth(ellipsis) };
  if (mark.width >= maxWidth) {
    mark = prefixOf(ellipsis, maxWidth);
    if (mark.width === 0) return pad ? " ".repeat(maxWidth) : "";
  } else {
    kept = prefixOf(text, maxWidth - mark.width);
  }
  const cut = kept.text + openLinkClosed(kept.text) + RESET_STYLE + (mark.text ? mark.text + RESET_STYLE : "");
  return pad ? cut + " ".repeat(Math.max(0, maxWidth - kept.width - mark.width)) : cut;
}

// The longest beginning that fits, without sequences after its last grapheme.
function prefixOf(text, maxWidth) {
  if (isPlainAscii(text)) {
    const kept = text.slice(0, maxWidth);
    return { text: kept, width: kept.length };
  }
  let kept = "";
  let width = 0;
  let waiting = "";
  for (const cell of cellsOf(text)) {
    if (cell.escape) {
      waiting += cell.text;
      continue;
    }
    if (width + cell.width > maxWidth) break;
    kept += waiting + cell.text;
    waiting = "";
    width += cell.width;
  }
  return { text: kept, width };
}

function openLinkClosed(text) {
  if (!text.includes("\x1b]8;")) return "";
  const style = new ActiveStyle();
  style.applyText(text);
  return style.closeLink();
}

/**
 * Returns `length` columns of the line from column `startColumn` on. A wide character that begins inside
 * and ends outside is kept, unless `strict` is set.
 */
export function sliceByColumn(line, startColumn, length, strict = false) {
  return sliceWithWidth(line, startColumn, length, strict).text;
}

/** Returns what sliceByColumn does, as `{text, width}`. */
function sliceWithWidth(line, startColumn, length, strict = false) {
  if (length <= 0) return { text: "", width: 0 };
  const endColumn = startColumn + length;
  let text = "";
  let width = 0;
  let column = 0;
  let before = "";
  for (const cell of cellsOf(line)) {
    if (column >= endColumn) break;
    if (cell.escape) {
      // Styles set before the range apply in it; they are written only if something follows.
      if (text === "") before += cell.text;
      else text += cell.text;
      continue;
    }
    if (column >= startColumn && (!strict || column + cell.width <= endColumn)) {
      text += before + cell.text;
      before = "";
      width += cell.width;
    }
    column += cell.width;
  }
  return { text, width };
}

/** Returns the address of the link at the column, or undefined. */
export function getOsc8LinkAtColumn(line, column) {
  let address;
  let reached = 0;
  for (const cell of cellsOf(line)) {
    if (cell.escape) {
      const link = parseLink(cell.text);
      if (link) address = link.address || undefined;
      continue;
    }
    if (column >= reached && column < reached + cell.width) return address;
    reached += cell.width;
  }
  return undefined;
}

const BOUNDARY = "\x1b[0m\x1b]8;;\x07";

/**
 * Returns the base line with the overlay line laid over it from `startColumn` on, `overlayWidth` wide,
 * in `totalWidth` columns all together.
 */
export function compositeTuiLine(baseLine, overlayLine, startColumn, overlayWidth, totalWidth) {
  const endColumn = startColumn + overlayWidth;
  const before = leftPart(baseLine, startColumn);
  const overlay = sliceWithWidth(overlayLine, 0, overlayWidth, true);
  const after = rightPart(baseLine, endColumn, totalWidth - endColumn);
  const line =
    before.text +
    " ".repeat(Math.max(0, startColumn - before.width)) +
    BOUNDARY +
    overlay.text +
    " ".repeat(Math.max(0, overlayWidth - overlay.width)) +
    BOUNDARY +
    after.text +
    " ".repeat(Math.max(0, totalWidth - endColumn - after.width));
  return visibleWidth(line) <= totalWidth ? line : sliceByColumn(line, 0, totalWidth, true);
}

function leftPart(line, endColumn) {
  return endColumn > 0 ? prefixOf(line, endColumn) : { text: "", width: 0 };
}

// What follows the overlay, with the style that the covered part of the line had set.
function rightPart(line, startColumn, length) {
  if (length <= 0) return { text: "", width: 0 };
  const style = new ActiveStyle();
  const endColumn = startColumn + length;
  let text = "";
  let width = 0;
  let column = 0;
  let begun = false;
  for (const cell of cellsOf(line)) {
    if (column >= endColumn) break;
    if (cell.escape) {
      style.apply(cell.text);
      if (begun) text += cell.text;
      continue;
    }
    if (column >= startColumn && column + cell.width <= endColumn) {
      if (!begun) text += style.resume();
      begun = true;
      text += cell.text;
      width += cell.width;
    }
    column += cell.width;
  }
  return { text, width };
}
