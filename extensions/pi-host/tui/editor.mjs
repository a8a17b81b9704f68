// A field for several lines of text, with history and completion.

import { CURSOR_MARKER } from "./container.mjs";
import { PasteCollector } from "./editing.mjs";
import { EditorBuffer, normalized } from "./editor_buffer.mjs";
import { Completion } from "./editor_completion.mjs";
import { layout, moveToRow, rowOfCursor } from "./editor_layout.mjs";
import { getKeybindings } from "./keybindings.mjs";
import { decodePrintableKey, matchesKey } from "./keys.mjs";
import { visibleWidth } from "./width.mjs";

const HISTORY_LENGTH = 100;
const FEWEST_ROWS = 5;
// Of the screen, before the text scrolls.
const SHARE_OF_ROWS = 0.3;

// In the order in which they are tried.
const ACTIONS = [
  ["tui.editor.deleteToLineEnd", "killToEnd"],
  ["tui.editor.deleteToLineStart", "killToStart"],
  ["tui.editor.deleteWordBackward", "killWordLeft"],
  ["tui.editor.deleteWordForward", "killWordRight"],
  ["tui.editor.deleteCharBackward", "deleteBackward"],
  ["tui.editor.deleteCharForward", "deleteForward"],
  ["tui.editor.yank", "yank"],
  ["tui.editor.yankPop", "yankPop"],
  ["tui.editor.historyPrevious", "historyPrevious"],
  ["tui.editor.historyNext", "historyNext"],
  ["tui.editor.cursorLineStart", "lineStart"],
  ["tui.editor.cursorLineEnd", "lineEnd"],
  ["tui.editor.cursorWordLeft", "wordLeft"],
  ["tui.editor.cursorWordRight", "wordRight"],
  ["tui.input.newLine", "newLine"],
  ["tui.input.submit", "submit"],
  ["tui.editor.cursorUp", "up"],
  ["tui.editor.cursorDown", "down"],
  ["tui.editor.cursorRight", "right"],
  ["tui.editor.cursorLeft", "left"],
  ["tui.editor.pageUp", "pageUp"],
  ["tui.editor.pageDown", "pageDown"],
  ["tui.editor.jumpForward", "jumpForward"],
  ["tui.editor.jumpBackward", "jumpBackward"],
];

/** Edits several lines of text between two borders. */
export class Editor {
  focused = false;
  disableSubmit = false;
  onSubmit;
  onChange;
  #buffer = new EditorBuffer();
  #completion;
  #paste = new PasteCollector();
  #paddingX;
  #width = 80;
  #top = 0;
  #rows = FEWEST_ROWS;
  #wantedColumn;
  #jump;
  #history = [];
  #historyIndex = -1;
  #draft;

  constructor(tui, theme, options = {}) {
    this.tui = tui;
    this.theme = theme;
    this.borderColor = theme.borderColor;
    this.#completion = new Completion(this.#buffer, theme.selectList, (edited) => {
      if (edited) this.#edited();
      this.tui.requestRender();
    });
    this.setPaddingX(options.paddingX ?? 0);
    this.setAutocompleteMaxVisible(options.autocompleteMaxVisible ?? 5);
  }

  /** The text and the cursor as subclasses of extensions know them. */
  get state() {
    const buffer = this.#buffer;
    return {
      get lines() {
        return buffer.lines;
      },
      set lines(lines) {
        buffer.lines = lines;
      },
      get cursorLine() {
        return buffer.line;
      },
      set cursorLine(line) {
        buffer.line = line;
      },
      get cursorCol() {
        return buffer.column;
      },
      set cursorCol(column) {
        buffer.column = column;
      },
    };
  }

  set state({ lines, cursorLine, cursorCol }) {
    Object.assign(this.#buffer, { lines, line: cursorLine, column: cursorCol });
  }

  getPaddingX() {
    return this.#paddingX;
  }

  setPaddingX(padding) {
    this.#paddingX = Number.isFinite(padding) ? Math.max(0, Math.floor(padding)) : 0;
    this.tui?.requestRender?.();
  }

  getAutocompleteMaxVisible() {
    return this.#completion.maxVisible;
  }

  setAutocompleteMaxVisible(maxVisible) {
    this.#completion.maxVisible = Number.isFinite(maxVisible) ? Math.min(20, Math.max(3, Math.floor(maxVisible))) : 5;
  }

  setAutocompleteProvider(provider) {
    this.#completion.close();
    this.#completion.setProvider(provider);
  }

  isShowingAutocomplete() {
    return this.#completion.isOpen;
  }

  getText() {
    return this.#buffer.text();
  }

  getExpandedText() {
    return this.#buffer.expandedText();
  }

  getLines() {
    return [...this.#buffer.lines];
  }

  getCursor() {
    return { line: this.#buffer.line, col: this.#buffer.column };
  }

  setText(text) {
    const next = normalized(text);
    this.#completion.close();
    this.#leaveHistory();
    this.#buffer.last = undefined;
    if (next !== this.getText()) this.#buffer.remember();
    this.#buffer.forgetPastes();
    this.#buffer.replace(next);
    this.#top = 0;
    this.#edited();
  }

  insertTextAtCursor(text) {
    if (!text) return;
    this.#completion.close();
    this.#leaveHistory();
    this.#buffer.last = undefined;
    this.#buffer.remember();
    this.#buffer.insert(normalized(text));
    this.#edited();
  }

  /** Adds a sent text to what the up key brings back. */
  addToHistory(text) {
    const sent = text.trim();
    if (!sent || this.#history[0] === sent) return;
    this.#history.unshift(sent);
    this.#history.length = Math.min(this.#history.length, HISTORY_LENGTH);
  }

  invalidate() {}

  #edited() {
    this.#wantedColumn = undefined;
    this.onChange?.(this.getText());
  }

  #leaveHistory() {
    this.#historyIndex = -1;
    this.#draft = undefined;
  }

  #browse(step) {
    const index = this.#historyIndex + step;
    if (index < -1 || index >= this.#history.length) return;
    if (this.#historyIndex === -1) {
      this.#buffer.remember();
      this.#draft = { lines: [...this.#buffer.lines], line: this.#buffer.line, column: this.#buffer.column };
    }
    this.#historyIndex = index;
    this.#buffer.last = undefined;
    if (index === -1) Object.assign(this.#buffer, this.#draft);
    // Going back, the cursor is where the next up key goes further back.
    else this.#buffer.replace(this.#history[index], step > 0);
    this.#top = 0;
    this.#edited();
  }

  handleInput(data) {
    if (this.#jump && this.#handleJump(data)) return;
    const paste = this.#paste.take(data);
    if (paste) {
      if (paste.pasted) this.#change(() => this.#buffer.paste(paste.pasted));
      if (paste.rest) this.handleInput(paste.rest);
      return;
    }
    const keybindings = getKeybindings();
    // For whoever holds the editor: it means clear or cancel.
    if (keybindings.matches(data, "tui.input.copy")) return;
    if (keybindings.matches(data, "tui.editor.undo")) {
      this.#leaveHistory();
      if (this.#buffer.undo()) this.#edited();
      return;
    }
    if (this.#completion.isOpen && this.#handleCompletion(data, keybindings)) return;
    if (keybindings.matches(data, "tui.input.tab")) {
      if (!this.#completion.isOpen) this.#completion.demanded();
      return;
    }
    const action = this.#actionOf(data, keybindings);
    if (action) this.#perform(action);
    else this.#type(data);
  }

  #actionOf(data, keybindings) {
    if (matchesKey(data, "shift+backspace")) return "deleteBackward";
    if (matchesKey(data, "shift+delete")) return "deleteForward";
    // A line feed alone is what some terminals send for shift and enter; so is escape with a return.
    if (data === "\n" || data === "\x1b\r" || data === "\x1b[13;2~" || (data.length > 1 && data[0] === "\n")) return "newLine";
    return ACTIONS.find(([name]) => keybindings.matches(data, name))?.[1];
  }

  #type(data) {
    const typed = matchesKey(data, "shift+space") ? " " : (decodePrintableKey(data) ?? data);
    if (!(typed.charCodeAt(0) >= 32) || typed.startsWith("\x7f")) return;
    this.#leaveHistory();
    this.#buffer.type(typed);
    this.#edited();
    this.#completion.typed(typed);
  }

  // What follows a jump key is the character to jump to, unless it is a control key.
  #handleJump(data) {
    const forward = this.#jump === "forward";
    this.#jump = undefined;
    const keybindings = getKeybindings();
    if (keybindings.matches(data, "tui.editor.jumpForward") || keybindings.matches(data, "tui.editor.jumpBackward")) return true;
    const character = decodePrintableKey(data) ?? (data.charCodeAt(0) >= 32 ? data : undefined);
    if (character === undefined) return false;
    this.#buffer.jumpTo(character, forward);
    this.#wantedColumn = undefined;
    return true;
  }

  #handleCompletion(data, keybindings) {
    if (keybindings.matches(data, "tui.select.cancel")) {
      this.#completion.close();
    } else if (keybindings.matches(data, "tui.select.up") || keybindings.matches(data, "tui.select.down")) {
      this.#completion.list.handleInput(data);
    } else if (keybindings.matches(data, "tui.input.tab")) {
      this.#completion.apply();
      this.#edited();
    } else if (keybindings.matches(data, "tui.select.confirm")) {
      const command = this.#completion.completesCommand;
      this.#completion.apply();
      // A command is sent at once.
      if (command) return false;
      this.#edited();
    } else {
      return false;
    }
    return true;
  }

  #change(change) {
    this.#completion.close();
    this.#leaveHistory();
    const before = this.getText();
    change();
    if (this.getText() !== before) this.#edited();
    this.#wantedColumn = undefined;
  }

  #move(move) {
    move();
    this.#wantedColumn = undefined;
    if (this.#completion.isOpen) this.#completion.deleted();
  }

  #perform(action) {
    const buffer = this.#buffer;
    switch (action) {
      case "killToEnd":
        return this.#change(() => buffer.kill("lineEnd"));
      case "killToStart":
        return this.#change(() => buffer.kill("lineStart"));
      case "killWordLeft":
        return this.#change(() => buffer.kill("wordLeft"));
      case "killWordRight":
        return this.#change(() => buffer.kill("wordRight"));
      case "deleteBackward":
        return this.#delete(() => buffer.deleteBackward());
      case "deleteForward":
        return this.#delete(() => buffer.deleteForward());
      case "yank":
        return this.#change(() => buffer.yank());
      case "yankPop":
        return this.#change(() => buffer.yankPop());
      case "historyPrevious":
        return this.#browse(1);
      case "historyNext":
        return this.#browse(-1);
      case "lineStart":
        return this.#move(() => buffer.moveToLineStart());
      case "lineEnd":
        return this.#move(() => buffer.moveToLineEnd());
      case "wordLeft":
        return this.#move(() => buffer.moveWordLeft());
      case "wordRight":
        return this.#move(() => buffer.moveWordRight());
      case "left":
        return this.#move(() => buffer.moveLeft());
      case "right":
        return this.#move(() => buffer.moveRight());
      case "newLine":
        return this.#change(() => buffer.newLine());
      case "submit":
        return this.#submit();
      case "up":
        return this.#vertical(-1);
      case "down":
        return this.#vertical(1);
      case "pageUp":
        return this.#page(-1);
      case "pageDown":
        return this.#page(1);
      default:
        this.#jump = action === "jumpForward" ? "forward" : "backward";
    }
  }

  #delete(change) {
    this.#leaveHistory();
    change();
    this.#edited();
    this.#completion.deleted();
  }

  #submit() {
    if (this.disableSubmit) return;
    // A backslash before enter is a new line, for terminals that cannot tell shift and enter.
    if (this.#buffer.beforeCursor().endsWith("\\")) {
      this.#buffer.deleteBackward();
      this.#change(() => this.#buffer.newLine());
      return;
    }
    const text = this.getExpandedText().trim();
    this.#completion.close();
    this.#leaveHistory();
    this.#buffer.clear();
    this.#top = 0;
    this.#edited();
    this.onSubmit?.(text);
  }

  #vertical(step) {
    const buffer = this.#buffer;
    const rows = layout(buffer, this.#width);
    const row = rowOfCursor(rows, buffer);
    const browsing = this.#historyIndex >= 0;
    buffer.last = undefined;
    if (step < 0 && row === 0) {
      if (buffer.isEmpty() || browsing || buffer.column === 0) this.#browse(1);
      else this.#move(() => buffer.moveToLineStart());
    } else if (step > 0 && row === rows.length - 1) {
      if (browsing) this.#browse(-1);
      else this.#move(() => buffer.moveToLineEnd());
    } else {
      this.#wantedColumn = moveToRow(buffer, rows, row + step, this.#wantedColumn);
    }
  }

  #page(step) {
    const rows = layout(this.#buffer, this.#width);
    const target = rowOfCursor(rows, this.#buffer) + step * this.#visibleRows();
    this.#buffer.last = undefined;
    this.#wantedColumn = moveToRow(this.#buffer, rows, Math.max(0, Math.min(rows.length - 1, target)), this.#wantedColumn);
  }

  #visibleRows() {
    return Math.max(FEWEST_ROWS, Math.floor((this.tui?.terminal?.rows ?? 24) * SHARE_OF_ROWS));
  }

  handleMouse(event) {
    if (event.type !== "click" || event.button !== "left") return undefined;
    const rows = layout(this.#buffer, this.#width);
    const row = this.#top + event.y - 1;
    if (event.y >= 1 && event.y <= this.#rows && rows[row]) {
      moveToRow(this.#buffer, rows, row, Math.max(0, event.x - this.#paddingX));
      this.#buffer.last = undefined;
      this.#wantedColumn = undefined;
      this.#leaveHistory();
    }
    return { handled: true, focus: true };
  }

  renderTopBorder(width, hiddenLineCount) {
    return this.borderColor(border("↑", hiddenLineCount, width));
  }

  renderBottomBorder(width, hiddenLineCount) {
    return this.borderColor(border("↓", hiddenLineCount, width));
  }

  render(width) {
    const padding = Math.min(this.#paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const contentWidth = Math.max(1, width - padding * 2);
    // The cursor after the last character may stand in the padding; without it a column is kept free.
    this.#width = Math.max(1, contentWidth - (padding > 0 ? 0 : 1));
    const rows = layout(this.#buffer, this.#width);
    const cursorRow = rowOfCursor(rows, this.#buffer);
    const height = this.#visibleRows();
    this.#top = Math.max(Math.min(this.#top, cursorRow, Math.max(0, rows.length - height)), cursorRow - height + 1, 0);
    const shown = rows.slice(this.#top, this.#top + height);
    this.#rows = shown.length;
    const margin = " ".repeat(padding);
    const lines = [this.renderTopBorder(width, this.#top)];
    shown.forEach((row, index) => {
      const text = this.#rowText(row, this.#top + index === cursorRow);
      const overflow = visibleWidth(text) > contentWidth ? 1 : 0;
      lines.push(margin + text + " ".repeat(Math.max(0, contentWidth - visibleWidth(text))) + margin.slice(overflow));
    });
    lines.push(this.renderBottomBorder(width, rows.length - this.#top - shown.length));
    for (const line of this.#completion.list?.render(contentWidth) ?? []) {
      lines.push(margin + line + " ".repeat(Math.max(0, contentWidth - visibleWidth(line))) + margin);
    }
    return lines;
  }

  #rowText(row, hasCursor) {
    const text = this.#buffer.lines[row.line].slice(row.start, row.end);
    if (!hasCursor) return text;
    const position = Math.min(this.#buffer.column, row.end) - row.start;
    const under = this.#buffer.segments(text).find((segment) => segment.index + segment.text.length > position);
    const marker = this.focused ? CURSOR_MARKER : "";
    return `${text.slice(0, position)}${marker}\x1b[7m${under?.text ?? " "}\x1b[0m${text.slice(position + (under?.text.length ?? 0))}`;
  }
}

// The border says how many rows are out of sight, in the middle if there is room.
function border(arrow, hidden, width) {
  if (hidden <= 0) return "─".repeat(width);
  const label = ` ${arrow} ${hidden} more `;
  const free = width - label.length;
  if (free >= 2) return "─".repeat(Math.floor(free / 2)) + label + "─".repeat(Math.ceil(free / 2));
  return `───${label}`.slice(0, Math.max(0, width - 3)) + "...".slice(0, width);
}
