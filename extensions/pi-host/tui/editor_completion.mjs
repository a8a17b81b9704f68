// Completion while typing: when to ask the provider, and the list of what it suggests.

import { SelectList } from "./select_list.mjs";

const COMMAND_LIST = { minPrimaryColumnWidth: 12, maxPrimaryColumnWidth: 32 };
const TRIGGERS = ["@", "#"];
// Files are searched on disk: not for every letter of fast typing.
const SEARCH_DELAY_MILLISECONDS = 20;

function quoted(character) {
  return character.replace(/[\\^$.*+?()[\]{}|-]/g, "\\$&");
}

/** Asks a provider for completions at the cursor of a buffer and keeps the list that is shown. */
export class Completion {
  provider;
  maxVisible = 5;
  list;
  #buffer;
  #theme;
  #changed;
  #prefix = "";
  #forced = false;
  #request;
  #timer;
  #pattern;

  /** `changed(edited)` is called when the list or the text (`edited`) is another one. */
  constructor(buffer, theme, changed) {
    this.#buffer = buffer;
    this.#theme = theme;
    this.#changed = changed;
    this.setProvider(undefined);
  }

  setProvider(provider) {
    this.provider = provider;
    const more = (provider?.triggerCharacters ?? []).filter((character) => character.length === 1 && /[^\s/]/.test(character));
    this.#pattern = new RegExp(`(?:^|\\s)(?:@"[^"]*|[${[...TRIGGERS, ...more].map(quoted).join("")}]\\S*)$`, "u");
  }

  get isOpen() {
    return this.list !== undefined;
  }

  #isCommand(text) {
    return this.#buffer.line === 0 && text.trimStart().startsWith("/");
  }

  /** Looks whether a typed character begins or changes a completion. */
  typed(character) {
    const before = this.#buffer.beforeCursor();
    if (this.isOpen) this.#ask({ force: this.#forced });
    else if (character === "/" ? this.#isCommand(before) && before.trim() === "/" : this.#wants(before, character)) this.#ask({});
  }

  #wants(before, character) {
    const last = before.at(-1) ?? "";
    if (!/[\w.\-@#]|[^\x00-\x7f]/.test(character) && !this.provider?.triggerCharacters?.includes(last)) return false;
    return this.#isCommand(before) || this.#pattern.test(before);
  }

  /** Looks whether there is still something to complete after a deletion. */
  deleted() {
    const before = this.#buffer.beforeCursor();
    if (this.isOpen) this.#ask({ force: this.#forced });
    else if (this.#isCommand(before) || this.#pattern.test(before)) this.#ask({});
  }

  /** Asks because the user wants a completion now. */
  demanded() {
    const before = this.#buffer.beforeCursor();
    const command = this.#isCommand(before) && !before.trimStart().includes(" ");
    this.#ask({ force: !command, now: true });
  }

  #ask({ force = false, now = false }) {
    if (!this.provider) return;
    const { lines, line, column } = this.#buffer;
    if (force && this.provider.shouldTriggerFileCompletion?.(lines, line, column) === false) return;
    this.#abort();
    const delay = !now && !force && this.#pattern.test(this.#buffer.beforeCursor()) ? SEARCH_DELAY_MILLISECONDS : 0;
    if (delay > 0) this.#timer = setTimeout(() => this.#run(force, now), delay);
    else this.#run(force, now);
  }

  async #run(force, now) {
    const request = new AbortController();
    this.#request = request;
    const { lines, line, column } = this.#buffer;
    const text = this.#buffer.text();
    let suggestions;
    try {
      suggestions = await this.provider.getSuggestions(lines, line, column, { signal: request.signal, force });
    } catch {
      // A provider that fails has nothing to suggest.
    }
    const current = this.#buffer.text() === text && this.#buffer.line === line && this.#buffer.column === column;
    if (request.signal.aborted || !current) return;
    this.#request = undefined;
    if (!(suggestions?.items?.length > 0)) this.close();
    else if (force && now && suggestions.items.length === 1) {
      this.#prefix = suggestions.prefix;
      this.apply(suggestions.items[0]);
      this.#changed(true);
      return;
    } else this.#open(suggestions, force);
    this.#changed(false);
  }

  #open({ items, prefix }, force) {
    this.#prefix = prefix;
    this.#forced = force;
    this.list = new SelectList(items, this.maxVisible, this.#theme, prefix.startsWith("/") ? COMMAND_LIST : undefined);
    const exact = items.findIndex((item) => item.value === prefix);
    const begins = items.findIndex((item) => prefix !== "" && item.value.startsWith(prefix));
    this.list.setSelectedIndex(Math.max(0, exact >= 0 ? exact : begins));
    this.list.onSelect = (item) => {
      this.apply(item);
      this.#changed(true);
    };
  }

  /** Returns whether what is being completed is the name of a command. */
  get completesCommand() {
    return this.#prefix.startsWith("/");
  }

  /** Puts the item, by default the selected one, into the text and closes the list. */
  apply(item = this.list?.getSelectedItem()) {
    if (!item) return;
    const buffer = this.#buffer;
    buffer.remember();
    buffer.last = undefined;
    const result = this.provider.applyCompletion(buffer.lines, buffer.line, buffer.column, item, this.#prefix);
    buffer.lines = result.lines;
    buffer.line = result.cursorLine;
    buffer.column = result.cursorCol;
    this.close();
  }

  #abort() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#request = undefined;
  }

  close() {
    this.#abort();
    this.list = undefined;
    this.#prefix = "";
  }
}
