// The `tui` that component factories get: a tree of components, overlays over it, and the focus.
//
// There is no terminal behind it. Whoever made it asks for the frame and passes keys in.

import { CURSOR_MARKER, Container, isFocusable } from "./container.mjs";
import { compositeTuiLine, sliceByColumn } from "./cut.mjs";
import { splitKeys } from "./input_chunks.mjs";
import { isKeyRelease, matchesKey } from "./keys.mjs";
import { overlayPosition, overlaySize } from "./overlays.mjs";
import { visibleWidth } from "./width.mjs";

/** The components on a screen of a client, with overlays and focus. */
export class ScreenTui extends Container {
  mode = "regular";
  fullRedraws = 0;
  onDebug;
  #size;
  #requested;
  #focused = null;
  #listeners = new Set();
  #overlays = [];
  #order = 0;
  #hardwareCursor = false;
  #clearOnShrink = false;

  /** `size()` returns `{columns, rows}` of the moment; `requested()` is called when a frame is wanted. */
  constructor(size, requested) {
    super();
    this.#size = size;
    this.#requested = requested;
    this.terminal = new NoTerminal(size);
  }

  getShowHardwareCursor() {
    return this.#hardwareCursor;
  }

  setShowHardwareCursor(enabled) {
    this.#hardwareCursor = enabled;
  }

  getClearOnShrink() {
    return this.#clearOnShrink;
  }

  setClearOnShrink(enabled) {
    this.#clearOnShrink = enabled;
  }

  requestRender() {
    this.#requested();
  }

  renderNow() {
    this.#requested();
  }

  start() {
    this.#requested();
  }

  /** Refuses: a program that takes the terminal over would write into the protocol. */
  stop() {
    throw new Error("bowline does not serve tui.stop() to extensions: there is no terminal that a program could take over.");
  }

  addInputListener(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  removeInputListener(listener) {
    this.#listeners.delete(listener);
  }

  onTerminalColorSchemeChange() {
    return () => {};
  }

  setTerminalColorSchemeNotifications() {}

  async queryTerminalBackgroundColor() {
    return undefined;
  }

  async queryTerminalColorScheme() {
    return undefined;
  }

  invalidate() {
    super.invalidate();
    for (const overlay of this.#overlays) overlay.component.invalidate?.();
  }

  getFocusedComponent() {
    return this.#focused;
  }

  setFocus(component) {
    if (isFocusable(this.#focused)) this.#focused.focused = false;
    this.#focused = component;
    if (isFocusable(component)) component.focused = true;
  }

  #isVisible(overlay) {
    const { columns, rows } = this.#size();
    return !overlay.hidden && (overlay.options?.visible?.(columns, rows) ?? true);
  }

  #visibleOverlays() {
    return this.#overlays.filter((overlay) => this.#isVisible(overlay)).sort((one, other) => one.order - other.order);
  }

  // The overlay that takes over when another one lets the focus go.
  #topmost(except) {
    return this.#visibleOverlays().findLast((overlay) => overlay !== except && !overlay.options?.nonCapturing);
  }

  #leave(overlay, target) {
    if (this.#focused === overlay.component) {
      this.setFocus(target === undefined ? (this.#topmost(overlay)?.component ?? overlay.before) : target);
    }
    this.requestRender();
  }

  #enter(overlay) {
    overlay.order = this.#order += 1;
    this.setFocus(overlay.component);
    this.requestRender();
  }

  showOverlay(component, options) {
    const overlay = { component, options, hidden: false, before: this.#focused, order: (this.#order += 1) };
    this.#overlays.push(overlay);
    if (!options?.nonCapturing && this.#isVisible(overlay)) this.#enter(overlay);
    else this.requestRender();
    return {
      hide: () => this.#remove(overlay),
      setHidden: (hidden) => {
        if (overlay.hidden === hidden) return;
        overlay.hidden = hidden;
        if (hidden) this.#leave(overlay);
        else if (!options?.nonCapturing && this.#isVisible(overlay)) this.#enter(overlay);
        this.requestRender();
      },
      isHidden: () => overlay.hidden,
      focus: () => {
        if (this.#overlays.includes(overlay) && this.#isVisible(overlay)) this.#enter(overlay);
      },
      unfocus: (unfocusOptions) => this.#leave(overlay, unfocusOptions?.target),
      isFocused: () => this.#focused === component,
      getBounds: () => (this.#isVisible(overlay) ? overlay.bounds : undefined),
    };
  }

  #remove(overlay) {
    const index = this.#overlays.indexOf(overlay);
    if (index < 0) return;
    this.#overlays.splice(index, 1);
    // What would have returned to the removed overlay returns to where that one came from.
    for (const other of this.#overlays) if (other.before === overlay.component) other.before = overlay.before;
    this.#leave(overlay);
  }

  hideOverlay() {
    const last = this.#overlays.at(-1);
    if (last) this.#remove(last);
  }

  hasOverlay() {
    return this.#visibleOverlays().length > 0;
  }

  /** Passes a chunk of input to listeners and the focused component. Returns what handlers returned, if they are promises. */
  input(data) {
    const { keys, rest } = splitKeys(data);
    // A client sends whole keys: what is left open is the escape key, or an odd sequence.
    if (rest) keys.push(rest);
    const pending = [];
    for (const key of keys) {
      const result = this.#key(key);
      if (typeof result?.then === "function") pending.push(result);
    }
    return pending;
  }

  #key(data) {
    let key = data;
    for (const listener of this.#listeners) {
      const result = listener(key);
      if (result?.consume) return undefined;
      if (result?.data !== undefined) key = result.data;
    }
    if (key === "") return undefined;
    if (this.onDebug && matchesKey(key, "shift+ctrl+d")) {
      this.onDebug();
      return undefined;
    }
    const overlay = this.#overlays.find((candidate) => candidate.component === this.#focused);
    if (overlay && !this.#isVisible(overlay)) this.#leave(overlay);
    const target = this.#focused;
    if (!target?.handleInput || (isKeyRelease(key) && !target.wantsKeyRelease)) return undefined;
    const result = target.handleInput(key);
    this.requestRender();
    return result;
  }

  /**
   * Returns the frame: `{lines, cursor, overlay}`. With a single overlay over nothing the lines are that
   * overlay's own and `overlay` says where they belong; otherwise overlays are laid over the lines.
   */
  frame() {
    const { columns, rows } = this.#size();
    const base = super.render(columns);
    const shown = this.#visibleOverlays().map((overlay) => this.#renderOverlay(overlay));
    if (base.length === 0 && shown.length === 1) {
      const [{ lines, row, column, width }] = shown;
      return { ...cursorOf(lines), overlay: { row, column, width } };
    }
    const lines = [...base];
    if (shown.length > 0) {
      const height = Math.max(lines.length, rows, ...shown.map((overlay) => overlay.row + overlay.lines.length));
      while (lines.length < height) lines.push("");
      const top = Math.max(0, height - rows);
      for (const { lines: over, row, column, width } of shown) {
        over.forEach((line, index) => {
          const at = top + row + index;
          if (at in lines) lines[at] = compositeTuiLine(lines[at], fitted(line, width), column, width, columns);
        });
      }
    }
    const overlay = base.length === 0 && shown.length > 0 ? { row: 0, column: 0, width: columns } : undefined;
    return { ...cursorOf(lines), overlay };
  }

  #renderOverlay(overlay) {
    const screen = this.#size();
    const { width, maxHeight } = overlaySize(overlay.options, screen);
    const lines = overlay.component.render(width).slice(0, maxHeight);
    const position = overlayPosition(overlay.options, { width, height: lines.length }, screen);
    overlay.bounds = { row: position.row, col: position.column, width, height: lines.length };
    return { lines, width, ...position };
  }
}

function fitted(line, width) {
  return visibleWidth(line) > width ? sliceByColumn(line, 0, width, true) : line;
}

// The place of the text cursor; its mark is taken out of the lines.
function cursorOf(lines) {
  const row = lines.findLastIndex((line) => line.includes(CURSOR_MARKER));
  if (row < 0) return { lines, cursor: undefined };
  const column = visibleWidth(lines[row].slice(0, lines[row].indexOf(CURSOR_MARKER)));
  return { lines: lines.map((line) => line.replaceAll(CURSOR_MARKER, "")), cursor: { row, column } };
}

/** What extensions ask of the terminal: its size. Everything written to it is dropped. */
class NoTerminal {
  kittyProtocolActive = false;
  #size;

  constructor(size) {
    this.#size = size;
  }

  get columns() {
    return this.#size().columns;
  }

  get rows() {
    return this.#size().rows;
  }

  start() {}
  stop() {}
  async drainInput() {}
  write() {}
  moveBy() {}
  hideCursor() {}
  showCursor() {}
  clearLine() {}
  clearFromCursor() {}
  clearScreen() {}
  setTitle() {}
  setProgress() {}
}
