// How the lines of an editor are broken to a width, and moving up and down in what is shown.

import { visibleWidth } from "./width.mjs";
import { isBreakable } from "./wrap.mjs";

/**
 * Returns the rows of a line as `{start, end}`, each at most `width` columns: broken after spaces where that
 * works, else anywhere. `segments` move as one; only one that is too wide by itself is broken.
 */
function rowsOf(line, segments, width) {
  if (visibleWidth(line) <= width) return [{ start: 0, end: line.length }];
  const rows = [];
  let start = 0;
  let used = 0;
  // The latest place after a space, and the columns used up to it.
  let breakAt = -1;
  let usedToBreak = 0;
  const end = (position) => {
    rows.push({ start, end: position });
    start = position;
  };
  const pieces = segments.flatMap((segment) => (visibleWidth(segment.text) > width ? splitSegment(segment) : [segment]));
  pieces.forEach((piece, index) => {
    const size = visibleWidth(piece.text);
    if (used + (piece.whole ?? size) > width) {
      if (!piece.whole && breakAt > start && used - usedToBreak + size <= width) {
        end(breakAt);
        used -= usedToBreak;
      } else if (piece.index > start) {
        end(piece.index);
        used = 0;
      }
      breakAt = -1;
    }
    used += size;
    const next = pieces[index + 1];
    if (next && mayBreak(piece.text, next.text)) {
      breakAt = next.index;
      usedToBreak = used;
    }
  });
  end(line.length);
  return rows;
}

function mayBreak(before, after) {
  const space = (text) => /^\s$/.test(text);
  if (space(after)) return false;
  return space(before) || isBreakable(before) || isBreakable(after);
}

// The first piece knows the width of the whole, so that the segment begins on a row of its own.
function splitSegment(segment) {
  const [first, ...others] = [...segment.text].map((text, index) => ({ text, index: segment.index + index }));
  return [{ ...first, whole: visibleWidth(segment.text) }, ...others];
}

/** Returns the rows of all lines as `{line, start, end, last}`; `last` marks the last row of its line. */
export function layout(buffer, width) {
  return buffer.lines.flatMap((text, line) => {
    const rows = rowsOf(text, buffer.segments(text), width);
    return rows.map((row, index) => ({ line, ...row, last: index === rows.length - 1 }));
  });
}

/** Returns the index of the row with the cursor. */
export function rowOfCursor(rows, buffer) {
  const index = rows.findIndex(
    (row) => row.line === buffer.line && buffer.column >= row.start && (row.last || buffer.column < row.end),
  );
  return Math.max(0, index);
}

/**
 * Moves the cursor to another row, to the same column or as near as the row allows. Returns the column
 * to aim at in the next move.
 */
export function moveToRow(buffer, rows, target, wanted) {
  const from = rows[rowOfCursor(rows, buffer)];
  const to = rows[target];
  if (!to) return wanted;
  const column = wanted ?? visibleWidth(buffer.lines[from.line].slice(from.start, buffer.column));
  const segments = buffer.segments(buffer.lines[to.line]).filter((segment) => segment.index >= to.start && segment.index < to.end);
  buffer.line = to.line;
  buffer.column = to.last ? to.end : (segments.at(-1)?.index ?? to.start);
  let reached = 0;
  for (const segment of segments) {
    reached += visibleWidth(segment.text);
    if (column < reached) {
      buffer.column = segment.index;
      break;
    }
  }
  return column;
}
