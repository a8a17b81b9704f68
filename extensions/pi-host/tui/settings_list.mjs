// A list of settings whose values can be changed.

import { truncateToWidth } from "./cut.mjs";
import { fuzzyFilter } from "./fuzzy.mjs";
import { Input } from "./input.mjs";
import { getKeybindings } from "./keybindings.mjs";
import { visibleRange } from "./select_list.mjs";
import { visibleWidth } from "./width.mjs";
import { wrapTextWithAnsi } from "./wrap.mjs";

const WIDEST_LABEL = 36;
const SEPARATOR = "  ";
// The search field and the empty line under it.
const SEARCH_ROWS = 2;

/** Shows settings; enter or space changes the selected one, by its values in turn or in a component of its own. */
export class SettingsList {
  #submenu = null;
  #submenuIndex;
  #next;
  #pressed;

  constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
    this.items = items;
    this.filteredItems = items;
    this.selectedIndex = 0;
    this.maxVisible = maxVisible;
    this.theme = theme;
    this.onChange = onChange;
    this.onCancel = onCancel;
    this.searchInput = options.enableSearch ? new Input() : undefined;
  }

  updateValue(id, newValue) {
    const item = this.items.find((candidate) => candidate.id === id);
    if (item) item.currentValue = newValue;
  }

  selectItem(id) {
    const index = this.#shown().findIndex((item) => item.id === id);
    if (index >= 0) this.selectedIndex = index;
  }

  invalidate() {
    this.#submenu?.invalidate?.();
  }

  #shown() {
    return this.searchInput ? this.filteredItems : this.items;
  }

  handleInput(data) {
    if (this.#submenu) {
      this.#submenu.handleInput?.(data);
      return;
    }
    const keybindings = getKeybindings();
    const count = this.#shown().length;
    if (keybindings.matches(data, "tui.select.up")) {
      if (count > 0) this.selectedIndex = (this.selectedIndex + count - 1) % count;
    } else if (keybindings.matches(data, "tui.select.down")) {
      if (count > 0) this.selectedIndex = (this.selectedIndex + 1) % count;
    } else if (keybindings.matches(data, "tui.select.confirm") || (data === " " && !this.searchInput?.getValue())) {
      this.#activate();
    } else if (keybindings.matches(data, "tui.select.cancel")) {
      this.onCancel();
    } else if (this.searchInput) {
      this.searchInput.handleInput(data);
      this.filteredItems = fuzzyFilter(this.items, this.searchInput.getValue(), (item) => item.label);
      this.selectedIndex = 0;
    }
  }

  handleMouse(event) {
    if (this.#submenu) return focused(this.#submenu.handleMouse?.(event));
    if (this.searchInput && event.y < SEARCH_ROWS) {
      return event.y === 0 ? focused(this.searchInput.handleMouse(event)) : undefined;
    }
    const count = this.#shown().length;
    if (count === 0) return undefined;
    if (event.type === "wheel" && event.wheelDelta) {
      const before = this.selectedIndex;
      this.selectedIndex = Math.max(0, Math.min(count - 1, before + Math.sign(event.wheelDelta)));
      return { handled: true, render: this.selectedIndex !== before };
    }
    if (event.button !== "left" || (event.type !== "press" && event.type !== "click")) return undefined;
    const [start, end] = visibleRange(this.selectedIndex, count, this.maxVisible);
    const index = start + event.y - (this.searchInput ? SEARCH_ROWS : 0);
    if (index < start || index >= end) return undefined;
    if (event.type === "press") {
      this.#pressed = index;
      this.selectedIndex = index;
      return { handled: true, focus: true };
    }
    this.selectedIndex = this.#pressed ?? index;
    this.#pressed = undefined;
    this.#activate();
    return { handled: true };
  }

  #activate() {
    const item = this.#shown()[this.selectedIndex];
    if (item?.submenu) {
      this.#submenuIndex = this.selectedIndex;
      // A submenu may be done before its factory has returned it.
      let closed = false;
      const submenu = item.submenu(item.currentValue, (value, options) => {
        closed = true;
        if (value !== undefined) this.#change(item, value);
        this.#next = options?.navigateTo;
        this.#closeSubmenu();
      });
      if (!closed) this.#submenu = submenu;
    } else if (item?.values?.length > 0) {
      this.#change(item, item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
    }
  }

  #change(item, value) {
    item.currentValue = value;
    this.onChange(item.id, value);
  }

  #closeSubmenu() {
    this.#submenu = null;
    const next = this.#next;
    this.#next = undefined;
    if (next) {
      this.selectItem(next);
      this.#activate();
    } else if (this.#submenuIndex !== undefined) {
      this.selectedIndex = this.#submenuIndex;
      this.#submenuIndex = undefined;
    }
  }

  render(width) {
    if (this.#submenu) return this.#submenu.render(width);
    const lines = this.searchInput ? [...this.searchInput.render(width), ""] : [];
    if (this.items.length === 0) {
      lines.push(this.theme.hint("  No settings available"));
      return this.searchInput ? [...lines, ...this.#hint(width)] : lines;
    }
    const items = this.#shown();
    if (items.length === 0) {
      lines.push(truncateToWidth(this.theme.hint("  No matching settings"), width));
      return [...lines, ...this.#hint(width)];
    }
    const [start, end] = visibleRange(this.selectedIndex, items.length, this.maxVisible);
    const labelWidth = Math.min(WIDEST_LABEL, Math.max(...this.items.map((item) => visibleWidth(item.label))));
    for (let index = start; index < end; index += 1) {
      lines.push(this.#line(items[index], index === this.selectedIndex, labelWidth, width));
    }
    if (end - start < items.length) {
      const position = `  (${this.selectedIndex + 1}/${items.length})`;
      lines.push(this.theme.hint(truncateToWidth(position, width - 2, "")));
    }
    const description = items[this.selectedIndex]?.description;
    if (description) {
      lines.push("");
      for (const line of wrapTextWithAnsi(description, width - 4)) lines.push(this.theme.description(`  ${line}`));
    }
    return [...lines, ...this.#hint(width)];
  }

  #line(item, selected, labelWidth, width) {
    const prefix = selected ? this.theme.cursor : "  ";
    const label = item.label + " ".repeat(Math.max(0, labelWidth - visibleWidth(item.label)));
    const room = width - visibleWidth(prefix) - labelWidth - SEPARATOR.length - 2;
    const value = this.theme.value(truncateToWidth(item.currentValue, room, ""), selected);
    return truncateToWidth(prefix + this.theme.label(label, selected) + SEPARATOR + value, width);
  }

  #hint(width) {
    const keys = "Enter/Space to change · Esc to cancel";
    const hint = this.searchInput ? `  Type to search · ${keys}` : `  ${keys}`;
    return ["", truncateToWidth(this.theme.hint(hint), width)];
  }
}

function focused(result) {
  return result ? { ...result, focus: true } : undefined;
}
