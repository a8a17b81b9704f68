// Rows and columns of components.

import { Container } from "./container.mjs";
import { compositeTuiLine } from "./cut.mjs";
import { visibleWidth } from "./width.mjs";

const UNLIMITED = Number.MAX_SAFE_INTEGER;

function whole(value, otherwise) {
  return value === undefined || !Number.isFinite(value) ? otherwise : Math.max(0, Math.floor(value));
}

/** Components with sizes along one axis. */
class Stack extends Container {
  entries = [];

  constructor(children = [], options = {}) {
    super();
    this.gap = whole(options.gap, 0);
    this.align = options.align ?? "stretch";
    for (const child of children) {
      if (typeof child.render === "function") this.addChild(child);
      else this.addChild(child.component, child);
    }
  }

  addChild(component, options = {}) {
    super.addChild(component);
    const minimum = whole(options.minSize, 0);
    this.entries.push({
      component,
      basis: options.basis === "auto" ? undefined : options.basis,
      grow: whole(options.grow, 0),
      shrink: whole(options.shrink, 1),
      minimum,
      maximum: Math.max(minimum, whole(options.maxSize, UNLIMITED)),
      visible: options.visible,
    });
  }

  removeChild(component) {
    super.removeChild(component);
    const index = this.entries.findIndex((entry) => entry.component === component);
    if (index >= 0) this.entries.splice(index, 1);
  }

  clear() {
    super.clear();
    this.entries.length = 0;
  }

  /** Returns the entries that are shown at this width. */
  shownEntries(width) {
    return this.entries.filter((entry) => entry.visible?.({ width, height: UNLIMITED }) ?? true);
  }
}

function ownSize(entry, natural) {
  return Math.min(entry.maximum, Math.max(entry.minimum, whole(entry.basis, natural)));
}

// Grows or shrinks the sizes until they fill the room, in proportion to the entries' weights.
function fit(sizes, entries, room) {
  let missing = room - sizes.reduce((sum, size) => sum + size, 0);
  const growing = missing > 0;
  const weight = (index) => (growing ? entries[index].grow : entries[index].shrink * Math.max(1, sizes[index]));
  const capacity = (index) => (growing ? entries[index].maximum - sizes[index] : sizes[index] - entries[index].minimum);
  missing = Math.abs(missing);
  while (missing > 0) {
    const able = sizes.map((_, index) => index).filter((index) => weight(index) > 0 && capacity(index) > 0);
    if (able.length === 0) return;
    const total = able.reduce((sum, index) => sum + weight(index), 0);
    for (const index of able) {
      const share = Math.max(1, Math.floor((missing * weight(index)) / total));
      const change = Math.min(missing, share, capacity(index));
      sizes[index] += growing ? change : -change;
      missing -= change;
    }
  }
}

/** Components side by side. */
export class HStack extends Stack {
  render(width) {
    const columns = Math.max(1, width);
    const entries = this.shownEntries(columns);
    const sizes = entries.map((entry) =>
      ownSize(entry, Math.max(0, ...entry.component.render(columns).map((line) => visibleWidth(line)))),
    );
    fit(sizes, entries, Math.max(0, columns - Math.max(0, entries.length - 1) * this.gap));
    const parts = entries.map((entry, index) => (sizes[index] > 0 ? entry.component.render(sizes[index]) : []));
    const height = Math.max(0, ...parts.map((lines) => lines.length));
    const result = Array(height).fill("");
    let column = 0;
    parts.forEach((lines, index) => {
      const free = height - lines.length;
      const top = this.align === "center" ? Math.floor(free / 2) : this.align === "end" ? free : 0;
      lines.forEach((line, row) => {
        result[top + row] = compositeTuiLine(result[top + row], line, column, sizes[index], columns);
      });
      column += sizes[index] + this.gap;
    });
    return result;
  }
}

/** Components one under another, with gaps and fixed heights. */
export class VStack extends Stack {
  render(width) {
    const columns = Math.max(1, width);
    return this.shownEntries(columns).flatMap((entry, index) => {
      const lines = entry.component.render(columns);
      const height = ownSize(entry, lines.length);
      const gap = index > 0 ? Array(this.gap).fill("") : [];
      return [...gap, ...lines.slice(0, height), ...Array(Math.max(0, height - lines.length)).fill("")];
    });
  }
}
