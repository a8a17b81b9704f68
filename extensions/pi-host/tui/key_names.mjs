// Names of keys, and `Key`, which spells them.

const SPECIAL = [
  "escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear",
  "home", "end", "pageUp", "pageDown", "up", "down", "left", "right",
  "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
];

const SYMBOLS = {
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\",
  semicolon: ";", quote: "'", comma: ",", period: ".", slash: "/", exclamation: "!", at: "@",
  hash: "#", dollar: "$", percent: "%", caret: "^", ampersand: "&", asterisk: "*", leftparen: "(",
  rightparen: ")", underscore: "_", plus: "+", pipe: "|", tilde: "~", leftbrace: "{",
  rightbrace: "}", colon: ":", lessthan: "<", greaterthan: ">", question: "?",
};

const COMBINATIONS = [
  ["ctrl"], ["shift"], ["alt"], ["super"],
  ["ctrl", "shift"], ["shift", "ctrl"], ["ctrl", "alt"], ["alt", "ctrl"], ["shift", "alt"], ["alt", "shift"],
  ["ctrl", "super"], ["super", "ctrl"], ["shift", "super"], ["super", "shift"], ["alt", "super"],
  ["super", "alt"], ["ctrl", "shift", "alt"], ["ctrl", "shift", "super"],
];

/** The symbol characters that are keys. */
export const SYMBOL_KEYS = new Set(Object.values(SYMBOLS));

/** Names of keys (`Key.escape`, `Key.comma`) and builders for those with modifiers (`Key.ctrlShift("p")`). */
export const Key = { ...Object.fromEntries(SPECIAL.map((name) => [name, name])), ...SYMBOLS };
for (const modifiers of COMBINATIONS) {
  const [first, ...others] = modifiers;
  const name = first + others.map((modifier) => modifier[0].toUpperCase() + modifier.slice(1)).join("");
  const prefix = modifiers.join("+");
  Key[name] = (key) => `${prefix}+${key}`;
}
