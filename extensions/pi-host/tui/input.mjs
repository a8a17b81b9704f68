// A field for one line of text.

import { CURSOR_MARKER } from "./container.mjs";
import { sliceByColumn, truncateToWidth } from "./cut.mjs";
import { graphemeAt, graphemeBefore, KillRing, PasteCollector, withCursor, wordAfter, wordBefore } from "./editing.mjs";
import { getKeybindings } from "./keybindings.mjs";
import { decodeKittyPrintable } from "./keys.mjs";
import { graphemeSegmenter, visibleWidth } from "./width.mjs";

// In the order in which they are tried: some keys are bound to more than one action.
const ACTIONS = [
  ["tui.select.cancel", "escape"],
  ["tui.editor.undo", "undo"],
  ["tui.input.submit", "submit"],
  ["tui.editor.deleteCharBackward", "deleteBackward"],
  ["tui.editor.deleteCharForward", "deleteForward"],
  ["tui.editor.deleteWordBackward", "deleteWordBackward"],
  ["tui.editor.deleteWordForward", "deleteWordForward"],
  ["tui.editor.deleteToLineStart", "deleteToStart"],
  ["tui.editor.deleteToLineEnd", "deleteToEnd"],
  ["tui.editor.yank", "yank"],
  ["tui.editor.yankPop", "yankPop"],
  ["tui.editor.cursorLeft", "left"],
  ["tui.editor.cursorRight", "right"],
  ["tui.editor.cursorLineStart", "start"],
  ["tui.editor.cursorLineEnd", "end"],
  ["tui.editor.cursorWordLeft", "wordLeft"],
  ["tui.editor.cursorWordRight", "wordRight"],
];

/** A single line of text with a cursor; scrolls sideways when it is longer than its width. */
export class Input {
  focused = false;
  onSubmit;
  onEscape;
  value = "";
  cursor = 0;
  #prompt;
  #placeholder;
  #placeholderStyle;
  #firstColumn = 0;
  #paste = new PasteCollector();
  #killed = new KillRing();
  #earlier = [];
  #lastAction;

  constructor(options = {}) {
    this.#prompt = options.prompt ?? "> ";
    this.#placeholder = options.placeholder ?? "";
    this.#placeholderStyle = options.placeholderStyle ?? ((text) => text);
  }

  getValue() {
    return this.value;
  }

  setValue(value) {
    this.value = value;
    this.cursor = Math.min(this.cursor, value.length);
  }

  invalidate() {}

  handleInput(data) {
    const paste = this.#paste.take(data);
    if (paste) {
      if (paste.pasted !== undefined) this.#pasteText(paste.pasted);
      if (paste.rest) this.handleInput(paste.rest);
      return;
    }
    const keybindings = getKeybindings();
    const action = data === "\n" ? "submit" : ACTIONS.find(([name]) => keybindings.matches(data, name))?.[1];
    if (action) {
      this.#perform(action);
      return;
    }
    const typed = decodeKittyPrintable(data) ?? data;
    if (!/[\u0000-\u001f\u007f-\u009f]/.test(typed)) this.#type(typed);
  }

  #perform(action) {
    const last = this.#lastAction;
    const { value, cursor } = this;
    this.#lastAction = undefined;
    switch (action) {
      case "escape":
        this.#lastAction = last;
        this.onEscape?.();
        break;
      case "submit":
        this.#lastAction = last;
        this.onSubmit?.(value);
        break;
      case "undo":
        Object.assign(this, this.#earlier.pop());
        break;
      case "deleteBackward":
        this.#remove(cursor - graphemeBefore(value, cursor), cursor);
        break;
      case "deleteForward":
        this.#remove(cursor, cursor + graphemeAt(value, cursor));
        break;
      case "deleteWordBackward":
        this.#kill(wordBefore(value, cursor), cursor, true, last);
        break;
      case "deleteWordForward":
        this.#kill(cursor, wordAfter(value, cursor), false, last);
        break;
      case "deleteToStart":
        this.#kill(0, cursor, true, last);
        break;
      case "deleteToEnd":
        this.#kill(cursor, value.length, false, last);
        break;
      case "yank":
        this.#yank(last);
        break;
      case "yankPop":
        this.#yankPop(last);
        break;
      case "left":
        this.cursor -= graphemeBefore(value, cursor);
        break;
      case "right":
        this.cursor += graphemeAt(value, cursor);
        break;
      case "start":
        this.cursor = 0;
        break;
      case "end":
        this.cursor = value.length;
        break;
      case "wordLeft":
        this.cursor = wordBefore(value, cursor);
        if (this.cursor === cursor) this.#lastAction = last;
        break;
      case "wordRight":
        this.cursor = wordAfter(value, cursor);
        if (this.cursor === cursor) this.#lastAction = last;
        break;
    }
  }

  #remember() {
    this.#earlier.push({ value: this.value, cursor: this.cursor });
  }

  #insert(text) {
    this.value = this.value.slice(0, this.cursor) + text + this.value.slice(this.cursor);
    this.cursor += text.length;
  }

  // Letters in a row are undone together; a space begins the next step.
  #type(text) {
    if (/\s/.test(text) || this.#lastAction !== "type") this.#remember();
    this.#lastAction = "type";
    this.#insert(text);
  }

  #pasteText(text) {
    this.#lastAction = undefined;
    this.#remember();
    this.#insert(text.replace(/[\r\n]/g, "").replaceAll("\t", "    "));
  }

  #remove(start, end) {
    if (start === end) return;
    this.#remember();
    this.value = this.value.slice(0, start) + this.value.slice(end);
    this.cursor = start;
  }

  #kill(start, end, before, last) {
    if (start === end) {
      this.#lastAction = last;
      return;
    }
    this.#killed.add(this.value.slice(start, end), { before, append: last === "kill" });
    this.#remove(start, end);
    this.#lastAction = "kill";
  }

  #yank(last) {
    if (this.#killed.size === 0) {
      this.#lastAction = last;
      return;
    }
    this.#remember();
    this.#insert(this.#killed.latest());
    this.#lastAction = "yank";
  }

  #yankPop(last) {
    if (last !== "yank" || this.#killed.size < 2) {
      this.#lastAction = last;
      return;
    }
    this.#remember();
    const start = this.cursor - this.#killed.latest().length;
    this.value = this.value.slice(0, start) + this.value.slice(this.cursor);
    this.cursor = start;
    this.#killed.rotate();
    this.#insert(this.#killed.latest());
    this.#lastAction = "yank";
  }

  handleMouse(event) {
    if (event.type !== "press" || event.button !== "left" || event.y !== 0) return undefined;
    const wanted = this.#firstColumn + Math.max(0, event.x - visibleWidth(this.#prompt));
    let column = 0;
    this.cursor = this.value.length;
    for (const { segment, index } of graphemeSegmenter().segment(this.value)) {
      column += visibleWidth(segment);
      if (wanted < column) {
        this.cursor = index;
        break;
      }
    }
    this.#lastAction = undefined;
    return { handled: true, focus: true };
  }

  render(width) {
    const room = width - visibleWidth(this.#prompt);
    if (room <= 0) return [truncateToWidth(this.#prompt, width, "")];
    const marker = this.focused ? CURSOR_MARKER : "";
    const line = this.value === "" && this.#placeholder ? this.#placeholderLine(room, marker) : this.#textLine(room, marker);
    return [this.#prompt + line + " ".repeat(Math.max(0, room - visibleWidth(line)))];
  }

  #placeholderLine(room, marker) {
    const text = truncateToWidth(this.#placeholder, room, "");
    const length = graphemeAt(text, 0);
    const [first, rest] = [text.slice(0, length) || " ", text.slice(length)];
    return `${marker}\x1b[7m${this.#placeholderStyle(first)}\x1b[27m${this.#placeholderStyle(rest)}`;
  }

  #textLine(room, marker) {
    const total = visibleWidth(this.value);
    this.#firstColumn = 0;
    if (total < room) return withCursor(this.value, this.cursor, marker);
    // The cursor after the last character needs a column of its own.
    const shown = this.cursor === this.value.length ? room - 1 : room;
    if (shown <= 0) return withCursor("", 0, marker);
    const cursorColumn = visibleWidth(this.value.slice(0, this.cursor));
    const half = Math.floor(shown / 2);
    if (cursorColumn > total - half) this.#firstColumn = Math.max(0, total - shown);
    else this.#firstColumn = Math.max(0, cursorColumn - half);
    const text = sliceByColumn(this.value, this.#firstColumn, shown, true);
    const before = sliceByColumn(this.value, this.#firstColumn, cursorColumn - this.#firstColumn, true);
    return withCursor(text, before.length, marker);
  }
}
