// Where overlays lie on the screen.

const VERTICAL = { "top-left": 0, "top-center": 0, "top-right": 0, "bottom-left": 1, "bottom-center": 1, "bottom-right": 1 };
const HORIZONTAL = { "top-left": 0, "left-center": 0, "bottom-left": 0, "top-right": 1, "right-center": 1, "bottom-right": 1 };
const WIDEST_BY_DEFAULT = 80;

function percentage(value) {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)%$/.exec(value) : null;
  return match ? Number(match[1]) / 100 : undefined;
}

function size(value, whole) {
  if (typeof value === "number") return value;
  const part = percentage(value);
  return part === undefined ? undefined : Math.floor(whole * part);
}

function margins(margin) {
  const side = (value) => Math.max(0, value ?? 0);
  if (typeof margin === "number") return { top: side(margin), right: side(margin), bottom: side(margin), left: side(margin) };
  return { top: side(margin?.top), right: side(margin?.right), bottom: side(margin?.bottom), left: side(margin?.left) };
}

// A share of the free space: 0 at the start, 1 at the end, a half by default.
function place(wanted, share, start, free) {
  if (typeof wanted === "number") return wanted;
  return start + Math.floor(free * (percentage(wanted) ?? share));
}

/** Returns the width of the overlay in columns and its greatest height in rows, if it has one. */
export function overlaySize(options = {}, screen) {
  const margin = margins(options.margin);
  const widest = Math.max(1, screen.columns - margin.left - margin.right);
  const highest = Math.max(1, screen.rows - margin.top - margin.bottom);
  const wanted = Math.max(size(options.width, screen.columns) ?? Math.min(WIDEST_BY_DEFAULT, widest), options.minWidth ?? 0);
  const maxHeight = size(options.maxHeight, screen.rows);
  return {
    width: Math.max(1, Math.min(wanted, widest)),
    maxHeight: maxHeight === undefined ? undefined : Math.max(1, Math.min(maxHeight, highest)),
  };
}

/** Returns the row and column of an overlay of this size. */
export function overlayPosition(options = {}, { width, height }, screen) {
  const margin = margins(options.margin);
  const anchor = options.anchor ?? "center";
  const freeRows = Math.max(1, screen.rows - margin.top - margin.bottom) - height;
  const freeColumns = Math.max(1, screen.columns - margin.left - margin.right) - width;
  // With an unreadable place given, the middle is taken, not the anchor.
  const vertical = options.row === undefined ? (VERTICAL[anchor] ?? 0.5) : 0.5;
  const horizontal = options.col === undefined ? (HORIZONTAL[anchor] ?? 0.5) : 0.5;
  const inRows = percentage(options.row) === undefined ? freeRows : Math.max(0, freeRows);
  const inColumns = percentage(options.col) === undefined ? freeColumns : Math.max(0, freeColumns);
  const row = place(options.row, vertical, margin.top, inRows) + (options.offsetY ?? 0);
  const column = place(options.col, horizontal, margin.left, inColumns) + (options.offsetX ?? 0);
  return {
    row: Math.max(margin.top, Math.min(row, screen.rows - margin.bottom - height)),
    column: Math.max(margin.left, Math.min(column, screen.columns - margin.right - width)),
  };
}
