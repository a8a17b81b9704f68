// A list to choose from.

import { truncateToWidth } from "./cut.mjs";
import { getKeybindings } from "./keybindings.mjs";
import { visibleWidth } from "./width.mjs";

const LABEL_COLUMN = 32;
const LABEL_GAP = 2;
// Under these widths descriptions are left out.
const WIDTH_FOR_DESCRIPTIONS = 40;
const SHORTEST_DESCRIPTION = 10;

/** Returns the range of a list that is shown around the selected entry, as `[start, end]`. */
export function visibleRange(selected, count, maxVisible) {
  const start = Math.max(0, Math.min(selected - Math.floor(maxVisible / 2), count - maxVisible));
  return [start, Math.min(start + maxVisible, count)];
}

/** Shows items with one selected; arrow keys move, enter confirms, escape cancels. */
export class SelectList {
  #pressed;
  onSelect;
  onCancel;
  onSelectionChange;

  constructor(items, maxVisible, theme, layout = {}) {
    this.items = items;
    this.filteredItems = items;
    this.selectedIndex = 0;
    this.maxVisible = maxVisible;
    this.theme = theme;
    this.layout = layout;
  }

  /** Keeps the items whose value begins with the text. */
  setFilter(filter) {
    const wanted = filter.toLowerCase();
    this.filteredItems = this.items.filter((item) => item.value.toLowerCase().startsWith(wanted));
    this.selectedIndex = 0;
  }

  setSelectedIndex(index) {
    this.selectedIndex = Math.max(0, Math.min(index, this.filteredItems.length - 1));
  }

  getSelectedItem() {
    return this.filteredItems[this.selectedIndex] ?? null;
  }

  invalidate() {}

  #range() {
    return visibleRange(this.selectedIndex, this.filteredItems.length, this.maxVisible);
  }

  handleInput(data) {
    const keybindings = getKeybindings();
    const last = this.filteredItems.length - 1;
    if (keybindings.matches(data, "tui.select.up")) {
      this.#select(this.selectedIndex === 0 ? last : this.selectedIndex - 1);
    } else if (keybindings.matches(data, "tui.select.down")) {
      this.#select(this.selectedIndex === last ? 0 : this.selectedIndex + 1);
    } else if (keybindings.matches(data, "tui.select.confirm")) {
      this.#confirm();
    } else if (keybindings.matches(data, "tui.select.cancel")) {
      this.onCancel?.();
    }
  }

  // With nothing to select the index stays in the list.
  #select(index) {
    this.selectedIndex = Math.max(0, index);
    const item = this.getSelectedItem();
    if (item) this.onSelectionChange?.(item);
  }

  #confirm() {
    const item = this.getSelectedItem();
    if (item) this.onSelect?.(item);
  }

  handleMouse(event) {
    const count = this.filteredItems.length;
    if (count === 0) return undefined;
    if (event.type === "wheel" && event.wheelDelta) {
      const index = Math.max(0, Math.min(count - 1, this.selectedIndex + Math.sign(event.wheelDelta)));
      const moved = index !== this.selectedIndex;
      if (moved) this.#select(index);
      return { handled: true, render: moved };
    }
    if (event.button !== "left" || (event.type !== "press" && event.type !== "click")) return undefined;
    const [start, end] = this.#range();
    const index = start + event.y;
    if (index < start || index >= end) return undefined;
    if (event.type === "press") {
      this.#pressed = index;
      if (index !== this.selectedIndex) this.#select(index);
      return { handled: true, focus: true };
    }
    // The press may have scrolled the list, so the click belongs to what was pressed.
    const clicked = this.#pressed ?? index;
    this.#pressed = undefined;
    if (clicked !== this.selectedIndex) this.#select(clicked);
    this.#confirm();
    return { handled: true };
  }

  render(width) {
    if (this.filteredItems.length === 0) return [this.theme.noMatch("  No matching commands")];
    const [start, end] = this.#range();
    const column = this.#labelColumn();
    const lines = [];
    for (let index = start; index < end; index += 1) {
      const item = this.filteredItems[index];
      if (item) lines.push(this.#line(item, index === this.selectedIndex, width, column));
    }
    if (end - start < this.filteredItems.length) {
      const position = `  (${this.selectedIndex + 1}/${this.filteredItems.length})`;
      lines.push(this.theme.scrollInfo(truncateToWidth(position, width - 2, "")));
    }
    return lines;
  }

  #line(item, selected, width, column) {
    const prefix = selected ? "→ " : "  ";
    const description = item.description?.replace(/[\r\n]+/g, " ").trim();
    if (description && width > WIDTH_FOR_DESCRIPTIONS) {
      const labelColumn = Math.max(1, Math.min(column, width - prefix.length - 4));
      const label = this.#label(item, selected, Math.max(1, labelColumn - LABEL_GAP), labelColumn);
      const gap = " ".repeat(Math.max(1, labelColumn - visibleWidth(label)));
      const room = width - prefix.length - visibleWidth(label) - gap.length - 2;
      if (room > SHORTEST_DESCRIPTION) {
        const shown = gap + truncateToWidth(description, room, "");
        return selected
          ? this.theme.selectedText(prefix + label + shown)
          : prefix + label + this.theme.description(shown);
      }
    }
    const room = width - prefix.length - 2;
    const label = prefix + this.#label(item, selected, room, room);
    return selected ? this.theme.selectedText(label) : label;
  }

  #label(item, isSelected, maxWidth, columnWidth) {
    const text = item.label || item.value;
    const shortened = this.layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected });
    return truncateToWidth(shortened ?? text, maxWidth, "");
  }

  #labelColumn() {
    const { minPrimaryColumnWidth, maxPrimaryColumnWidth } = this.layout;
    const one = minPrimaryColumnWidth ?? maxPrimaryColumnWidth ?? LABEL_COLUMN;
    const other = maxPrimaryColumnWidth ?? minPrimaryColumnWidth ?? LABEL_COLUMN;
    const widest = Math.max(0, ...this.filteredItems.map((item) => visibleWidth(item.label || item.value) + LABEL_GAP));
    return Math.max(1, Math.min(one, other), Math.min(widest, Math.max(1, one, other)));
  }
}
