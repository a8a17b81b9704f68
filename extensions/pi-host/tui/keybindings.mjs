// Actions and the keys that trigger them.

import { matchesKey } from "./keys.mjs";

// Names and keys are pi's: users configure them by these names.
const TUI_KEYS = {
  "tui.editor.cursorUp": "up",
  "tui.editor.cursorDown": "down",
  "tui.editor.historyPrevious": [],
  "tui.editor.historyNext": [],
  "tui.editor.cursorLeft": ["left", "ctrl+b"],
  "tui.editor.cursorRight": ["right", "ctrl+f"],
  "tui.editor.cursorWordLeft": ["alt+left", "ctrl+left", "alt+b"],
  "tui.editor.cursorWordRight": ["alt+right", "ctrl+right", "alt+f"],
  "tui.editor.cursorLineStart": ["home", "ctrl+home", "ctrl+a"],
  "tui.editor.cursorLineEnd": ["end", "ctrl+end", "ctrl+e"],
  "tui.editor.jumpForward": "ctrl+]",
  "tui.editor.jumpBackward": "ctrl+alt+]",
  "tui.editor.pageUp": ["pageUp", "ctrl+pageUp"],
  "tui.editor.pageDown": ["pageDown", "ctrl+pageDown"],
  "tui.editor.deleteCharBackward": "backspace",
  "tui.editor.deleteCharForward": ["delete", "ctrl+d"],
  "tui.editor.deleteWordBackward": ["ctrl+w", "alt+backspace"],
  "tui.editor.deleteWordForward": ["alt+d", "alt+delete"],
  "tui.editor.deleteToLineStart": "ctrl+u",
  "tui.editor.deleteToLineEnd": "ctrl+k",
  "tui.editor.yank": "ctrl+y",
  "tui.editor.yankPop": "alt+y",
  "tui.editor.undo": "ctrl+-",
  "tui.input.newLine": ["shift+enter", "ctrl+j"],
  "tui.input.submit": "enter",
  "tui.input.tab": "tab",
  "tui.input.copy": "ctrl+c",
  "tui.select.up": "up",
  "tui.select.down": "down",
  "tui.select.pageUp": "pageUp",
  "tui.select.pageDown": "pageDown",
  "tui.select.confirm": "enter",
  "tui.select.cancel": ["escape", "ctrl+c"],
  "tui.altScreen.pageUp": "pageUp",
  "tui.altScreen.pageDown": "pageDown",
  "tui.altScreen.halfPageUp": [],
  "tui.altScreen.halfPageDown": [],
  "tui.altScreen.lineUp": [],
  "tui.altScreen.lineDown": [],
  "tui.altScreen.previousPrompt": ["ctrl+shift+up", "ctrl+up"],
  "tui.altScreen.nextPrompt": ["ctrl+shift+down", "ctrl+down"],
  "tui.altScreen.search": "ctrl+shift+f",
  "tui.altScreen.searchNext": ["enter", "ctrl+g"],
  "tui.altScreen.searchPrevious": ["shift+enter", "ctrl+shift+g"],
  "tui.altScreen.searchClose": "escape",
  "tui.altScreen.top": "home",
  "tui.altScreen.bottom": "end",
};

const APP_KEYS = {
  "app.interrupt": "escape",
  "app.clear": "ctrl+c",
  "app.exit": "ctrl+d",
  "app.suspend": "ctrl+z",
  "app.thinking.cycle": "shift+tab",
  "app.thinking.save": "ctrl+s",
  "app.model.cycleForward": "ctrl+p",
  "app.model.cycleBackward": "shift+ctrl+p",
  "app.model.select": "ctrl+l",
  "app.tools.expand": "ctrl+o",
  "app.thinking.toggle": "ctrl+t",
  "app.session.toggleNamedFilter": "ctrl+n",
  "app.editor.external": "ctrl+g",
  "app.message.copy": "ctrl+x",
  "app.message.followUp": "alt+enter",
  "app.message.dequeue": "alt+up",
  "app.clipboard.pasteImage": "ctrl+v",
  "app.session.new": [],
  "app.session.tree": [],
  "app.session.fork": [],
  "app.session.resume": [],
  "app.tree.foldOrUp": ["ctrl+left", "alt+left"],
  "app.tree.unfoldOrDown": ["ctrl+right", "alt+right"],
  "app.tree.editLabel": "shift+l",
  "app.tree.toggleLabelTimestamp": "shift+t",
  "app.session.togglePath": "ctrl+p",
  "app.session.toggleSort": "ctrl+s",
  "app.session.rename": "ctrl+r",
  "app.session.delete": "ctrl+d",
  "app.session.deleteNoninvasive": "ctrl+backspace",
  "app.models.save": "ctrl+s",
  "app.models.enableAll": "ctrl+a",
  "app.models.clearAll": "ctrl+x",
  "app.models.toggleProvider": "ctrl+p",
  "app.models.reorderUp": "alt+up",
  "app.models.reorderDown": "alt+down",
  "app.tree.filter.default": "ctrl+d",
  "app.tree.filter.noTools": "ctrl+t",
  "app.tree.filter.userOnly": "ctrl+u",
  "app.tree.filter.labeledOnly": "ctrl+l",
  "app.tree.filter.all": "ctrl+a",
  "app.tree.filter.cycleForward": "ctrl+o",
  "app.tree.filter.cycleBackward": "shift+ctrl+o",
};

// "tui.editor.cursorWordLeft" → "Cursor word left": a description that cannot disagree with the name.
function describe(name) {
  const words = name.slice(name.lastIndexOf(".") + 1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0].toUpperCase() + words.slice(1);
}

function definitions(keys) {
  return Object.fromEntries(
    Object.entries(keys).map(([name, defaultKeys]) => [name, { defaultKeys, description: describe(name) }]),
  );
}

/** The actions of the components, with their keys. */
export const TUI_KEYBINDINGS = definitions(TUI_KEYS);

/** The actions of the components and of the agent's screens. */
const APP_KEYBINDINGS = { ...TUI_KEYBINDINGS, ...definitions(APP_KEYS) };

function listOf(keys) {
  if (keys === undefined) return [];
  return [...new Set(Array.isArray(keys) ? keys : [keys])];
}

/** Tells which action a key triggers, with the user's own keys over the default ones. */
export class KeybindingsManager {
  #definitions;
  #userBindings;
  #keys = new Map();

  constructor(keybindings, userBindings = {}) {
    this.#definitions = keybindings;
    this.setUserBindings(userBindings);
  }

  /** Returns whether the input is a key of the action. */
  matches(data, keybinding) {
    const keys = this.#keys.get(keybinding);
    return keys !== undefined && keys.some((key) => matchesKey(data, key));
  }

  /** Returns the keys of the action. */
  getKeys(keybinding) {
    return [...(this.#keys.get(keybinding) ?? [])];
  }

  /** Returns the action's default keys and description. */
  getDefinition(keybinding) {
    return this.#definitions[keybinding];
  }

  /** Returns the keys that the user gave to several actions. */
  getConflicts() {
    const claims = new Map();
    for (const [keybinding, keys] of Object.entries(this.#userBindings)) {
      if (!(keybinding in this.#definitions)) continue;
      for (const key of listOf(keys)) claims.set(key, [...(claims.get(key) ?? []), keybinding]);
    }
    return [...claims].filter(([, names]) => names.length > 1).map(([key, keybindings]) => ({ key, keybindings }));
  }

  /** Replaces the user's keys. */
  setUserBindings(userBindings) {
    this.#userBindings = userBindings;
    this.#keys.clear();
    for (const [name, { defaultKeys }] of Object.entries(this.#definitions)) {
      this.#keys.set(name, listOf(userBindings[name] === undefined ? defaultKeys : userBindings[name]));
    }
  }

  /** Returns the user's keys. */
  getUserBindings() {
    return { ...this.#userBindings };
  }

  /** Returns the keys of every action, a single one without a list around it. */
  getResolvedBindings() {
    return Object.fromEntries([...this.#keys].map(([name, keys]) => [name, keys.length === 1 ? keys[0] : [...keys]]));
  }
}

let current;

/** Returns the keybindings that components use. */
export function getKeybindings() {
  current ??= new KeybindingsManager(APP_KEYBINDINGS);
  return current;
}

/** Replaces the keybindings that components use. */
export function setKeybindings(keybindings) {
  current = keybindings;
}
