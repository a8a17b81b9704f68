// Components of pi's own screens that extensions put into theirs.

import { Container, CancellableLoader, Editor, Input, Loader, Spacer, Text, getKeybindings } from "../shims/pi-tui.mjs";
import { theme as plainTheme } from "../tui/theme.mjs";
import { getEditorTheme, keyHint, rawKeyHint } from "./display.mjs";

/** A line across the screen. */
export class DynamicBorder {
  constructor(color = (text) => plainTheme.fg("border", text)) {
    this.color = color;
  }

  invalidate() {}

  render(width) {
    return [this.color("─".repeat(Math.max(1, width)))];
  }
}

/** A sign that something is going on, between two lines. */
export class BorderedLoader extends Container {
  #loader;
  #controller = new AbortController();
  #isCancellable;

  constructor(tui, theme, message, options) {
    super();
    this.#isCancellable = options?.cancellable ?? true;
    const style = (color) => (text) => theme.fg(color, text);
    const Kind = this.#isCancellable ? CancellableLoader : Loader;
    this.#loader = new Kind(tui, style("accent"), style("muted"), message);
    const hint = this.#isCancellable ? [new Spacer(1), new Text(keyHint("tui.select.cancel", "cancel"), 1, 0)] : [];
    const line = () => new DynamicBorder(style("border"));
    for (const part of [line(), this.#loader, ...hint, new Spacer(1), line()]) this.addChild(part);
  }

  /** The signal that fires when the user cancels. */
  get signal() {
    return this.#isCancellable ? this.#loader.signal : this.#controller.signal;
  }

  set onAbort(listener) {
    if (this.#isCancellable) this.#loader.onAbort = listener;
  }

  handleInput(data) {
    if (this.#isCancellable) this.#loader.handleInput(data);
  }

  dispose() {
    if (this.#loader.dispose) this.#loader.dispose();
    else this.#loader.stop?.();
  }
}

const EDITOR_ACTIONS = ["tui.editor.historyPrevious", "tui.editor.historyNext"];

/** The place where prompts are written, with the keys of the application. */
export class CustomEditor extends Editor {
  actionHandlers = new Map();
  onEscape;
  onCtrlD;
  onPasteImage;
  onExtensionShortcut;

  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options);
    this.keybindings = keybindings ?? getKeybindings();
    this.embedWorkingStatus = options?.embedWorkingStatus ?? false;
  }

  setWorkingStatusIndicator(indicator) {
    this.workingStatusIndicator = indicator;
  }

  onAction(action, handler) {
    this.actionHandlers.set(action, handler);
  }

  /** Returns what a key does beyond editing, or undefined. */
  #handlerFor(data) {
    const isKey = (action) => this.keybindings.matches(data, action);
    if (isKey("app.clipboard.pasteImage")) return () => this.onPasteImage?.();
    if (isKey("app.interrupt")) {
      // While completions are shown, the key closes them.
      return this.isShowingAutocomplete() ? undefined : (this.onEscape ?? this.actionHandlers.get("app.interrupt"));
    }
    if (isKey("app.exit")) {
      if (this.getText() !== "") return undefined;
      return this.onCtrlD ?? this.actionHandlers.get("app.exit") ?? (() => {});
    }
    if (EDITOR_ACTIONS.some(isKey)) return undefined;
    const others = [...this.actionHandlers].filter(([action]) => action !== "app.interrupt" && action !== "app.exit");
    return others.find(([action]) => isKey(action))?.[1];
  }

  handleInput(data) {
    if (this.onExtensionShortcut?.(data)) return;
    const handler = this.#handlerFor(data);
    if (handler) handler();
    else super.handleInput(data);
  }
}

/** A question with its parts between two lines. */
class Question extends Container {
  constructor(title, description, body, hints) {
    super();
    const words = description ? [new Spacer(1), new Text(description, 1, 0)] : [];
    const parts = [new DynamicBorder(), new Spacer(1), new Text(title, 1, 0), ...words, new Spacer(1), body, new Spacer(1)];
    for (const part of [...parts, new Text(hints.join("  "), 1, 0), new Spacer(1), new DynamicBorder()]) this.addChild(part);
  }

  /** Cancels the question after a time. */
  expire(timeout, onCancel) {
    if (timeout > 0) this.timer = setTimeout(onCancel, timeout);
  }

  dispose() {
    clearTimeout(this.timer);
  }
}

const SELECT_HINTS = () => [
  rawKeyHint("↑↓", "navigate"),
  keyHint("tui.select.confirm", "select"),
  keyHint("tui.select.cancel", "cancel"),
];

/** Lets the user choose one of several texts. */
export class ExtensionSelectorComponent extends Question {
  #options;
  #selected;
  #list;
  #onSelect;
  #onCancel;
  #onToggle;

  constructor(title, options, onSelect, onCancel, more, selected = 0) {
    const list = new Container();
    super(title, more?.description, list, SELECT_HINTS());
    this.#options = options;
    this.#selected = Math.max(0, selected);
    this.#list = list;
    this.#onSelect = onSelect;
    this.#onCancel = onCancel;
    this.#onToggle = more?.onToggleToolsExpanded;
    if (more?.tui) this.expire(more.timeout, onCancel);
    this.#show();
  }

  #show() {
    this.#list.clear();
    this.#options.forEach((option, index) => {
      this.#list.addChild(new Text(`${index === this.#selected ? "→" : " "} ${option}`, 1, 0));
    });
  }

  #move(step) {
    this.#selected = Math.max(0, Math.min(this.#options.length - 1, this.#selected + step));
    this.#show();
  }

  handleInput(data) {
    const isKey = (action) => getKeybindings().matches(data, action);
    if (isKey("app.tools.expand")) this.#onToggle?.();
    else if (isKey("tui.select.up") || data === "k") this.#move(-1);
    else if (isKey("tui.select.down") || data === "j") this.#move(1);
    else if (isKey("tui.select.cancel")) this.#onCancel();
    else if ((isKey("tui.select.confirm") || data === "\n") && this.#options.length > 0) {
      this.#onSelect(this.#options[this.#selected], this.#selected);
    }
  }
}

/** A question whose answer is written; what is written in gets the focus. */
class WrittenAnswer extends Question {
  #field;

  constructor(title, description, field, hints) {
    super(title, description, field, hints);
    this.#field = field;
  }

  get focused() {
    return this.#field.focused;
  }

  set focused(value) {
    this.#field.focused = value;
  }
}

/** Asks the user for a line of text. */
export class ExtensionInputComponent extends WrittenAnswer {
  #input;
  #onSubmit;
  #onCancel;

  constructor(title, _placeholder, onSubmit, onCancel, more) {
    const input = new Input();
    super(title, more?.description, input, [keyHint("tui.select.confirm", "submit"), keyHint("tui.select.cancel", "cancel")]);
    if (more?.initialValue) input.setValue(more.initialValue);
    this.#input = input;
    this.#onSubmit = onSubmit;
    this.#onCancel = onCancel;
    if (more?.tui) this.expire(more.timeout, onCancel);
  }

  handleInput(data) {
    const isKey = (action) => getKeybindings().matches(data, action);
    if (isKey("tui.select.confirm") || data === "\n") this.#onSubmit(this.#input.getValue());
    else if (isKey("tui.select.cancel")) this.#onCancel();
    else this.#input.handleInput(data);
  }
}

/** Lets the user edit a text. There is no terminal to start another editor in. */
export class ExtensionEditorComponent extends WrittenAnswer {
  #editor;
  #onCancel;

  constructor(tui, _keybindings, title, prefill, onSubmit, onCancel, options) {
    const { description, ...editorOptions } = options ?? {};
    const editor = new Editor(tui, getEditorTheme(), editorOptions);
    const hints = ["tui.select.confirm submit", "tui.input.newLine newline", "tui.select.cancel cancel"];
    super(title, description, editor, hints.map((hint) => keyHint(...hint.split(" "))));
    if (prefill) editor.setText(prefill);
    editor.onSubmit = onSubmit;
    this.#editor = editor;
    this.#onCancel = onCancel;
  }

  handleInput(data) {
    if (getKeybindings().matches(data, "tui.select.cancel")) this.#onCancel();
    else this.#editor.handleInput(data);
  }
}

const yesOrNo = ["Yes", "No"];

/** Lets the user choose a thinking level. */
export class ThinkingSelectorComponent extends ExtensionSelectorComponent {
  constructor(currentLevel, availableLevels, onSelect, onCancel) {
    super("Thinking level", availableLevels, onSelect, onCancel, undefined, availableLevels.indexOf(currentLevel));
  }
  getSelectList() {
    return this;
  }
}

/** Asks the user whether images are shown. */
export class ShowImagesSelectorComponent extends ExtensionSelectorComponent {
  constructor(currentValue, onSelect, onCancel) {
    super("Show images", yesOrNo, (answer) => onSelect(answer === "Yes"), onCancel, undefined, currentValue ? 0 : 1);
  }
  getSelectList() {
    return this;
  }
}

/** Lets the user choose a theme: there is one. */
export class ThemeSelectorComponent extends ExtensionSelectorComponent {
  constructor(currentTheme, onSelect, onCancel) {
    super("Theme", [currentTheme ?? plainTheme.name], onSelect, onCancel);
  }
  getSelectList() {
    return this;
  }
}

/** Lets the user choose one of their messages. */
export class UserMessageSelectorComponent extends ExtensionSelectorComponent {
  constructor(messages, onSelect, onCancel, initialSelectedId) {
    const titles = messages.map(({ text }) => text.replace(/\s+/g, " ").trim());
    const selected = initialSelectedId ? messages.findIndex(({ id }) => id === initialSelectedId) : messages.length - 1;
    super("Messages", titles, (_title, index) => onSelect(messages[index].id), onCancel, undefined, selected);
  }
  getMessageList() {
    return this;
  }
}
