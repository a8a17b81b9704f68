// Which keys a chunk of terminal input stands for.
//
// Terminals write the same key in several ways: plain bytes, the sequences of old terminals, xterm's
// modifyOtherKeys, and the Kitty protocol. Some bytes stand for more than one key (0x08 is backspace
// and ctrl+h). So input is read once into the set of all its keys, and a key matches if it is in it.

import { SYMBOL_KEYS } from "./key_names.mjs";

export { Key } from "./key_names.mjs";

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;
const SUPER = 8;
const LOCKS = 64 + 128;

let kittyActive = false;

/** Sets whether the terminal speaks the Kitty protocol; a few plain sequences then mean other keys. */
export function setKittyProtocolActive(active) {
  kittyActive = active;
}

/** Returns whether the terminal speaks the Kitty protocol. */
export function isKittyProtocolActive() {
  return kittyActive;
}

// Keys that the plain sequences of terminals name: [key, modifiers].
let legacy;

function legacySequences() {
  if (legacy) return legacy;
  legacy = new Map();
  const add = (sequences, key, modifiers = 0) => {
    for (const sequence of sequences) legacy.set(`\x1b${sequence}`, [key, modifiers]);
  };
  const arrows = { up: "A", down: "B", right: "C", left: "D", clear: "E", end: "F", home: "H" };
  for (const [key, letter] of Object.entries(arrows)) add([`[${letter}`, `O${letter}`], key);
  for (const [key, letter] of Object.entries({ up: "a", down: "b", right: "c", left: "d", clear: "e" })) {
    add([`[${letter}`], key, SHIFT);
    add([`O${letter}`], key, CTRL);
  }
  const numbers = { insert: [2], delete: [3], pageUp: [5], pageDown: [6], home: [7, 1], end: [8, 4] };
  for (const [key, codes] of Object.entries(numbers)) {
    add(codes.map((code) => `[${code}~`), key);
    add([`[${codes[0]}$`], key, SHIFT);
    add([`[${codes[0]}^`], key, CTRL);
  }
  add(["[[5~"], "pageUp");
  add(["[[6~"], "pageDown");
  ["P", "Q", "R", "S"].forEach((letter, index) => add([`O${letter}`], `f${index + 1}`));
  ["A", "B", "C", "D", "E"].forEach((letter, index) => add([`[[${letter}`], `f${index + 1}`));
  [11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24].forEach((code, index) => add([`[${code}~`], `f${index + 1}`));
  add(["[Z"], "tab", SHIFT);
  add(["OM"], "enter");
  for (const [letter, key] of [["b", "left"], ["f", "right"], ["p", "up"], ["n", "down"]]) add([letter], key, ALT);
  return legacy;
}

const NAMED_CODES = new Map([
  [27, "escape"], [9, "tab"], [13, "enter"], [57414, "enter"], [32, "space"], [127, "backspace"],
  [57417, "left"], [57418, "right"], [57419, "up"], [57420, "down"], [57421, "pageUp"], [57422, "pageDown"],
  [57423, "home"], [57424, "end"], [57425, "insert"], [57426, "delete"],
]);

// Numbers and operators of the number pad, from 57399 on; 57414 is its enter key.
const PAD = "0123456789./*-+\n=,";
const PAD_START = 57399;

function padCode(code) {
  const character = PAD[code - PAD_START];
  return character === undefined || character === "\n" ? code : character.charCodeAt(0);
}

const TILDE_KEYS = { 2: "insert", 3: "delete", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end" };
const LETTER_KEYS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end" };

/**
 * Returns what a sequence of the Kitty protocol or of modifyOtherKeys says, or undefined:
 * `{key}` for a named key or `{code, shifted, base}` for a character, and `modifiers`, `protocol`.
 */
function readSequence(data) {
  if (!data.startsWith("\x1b[")) return undefined;
  let match = /^\x1b\[(\d+)(?::(\d*))?(?::(\d+))?(?:;(\d+))?(?::(\d+))?u$/.exec(data);
  if (match) {
    const [, code, shifted, base, modifiers] = match.map((part) => (part ? Number(part) : undefined));
    return { protocol: "kitty", code, shifted, base, modifiers: (modifiers ?? 1) - 1 };
  }
  match = /^\x1b\[1;(\d+)(?::\d+)?([ABCDHF])$/.exec(data);
  if (match) return { protocol: "kitty", key: LETTER_KEYS[match[2]], modifiers: Number(match[1]) - 1 };
  match = /^\x1b\[(\d)(?:;(\d+))?(?::\d+)?~$/.exec(data);
  if (match && TILDE_KEYS[match[1]]) {
    return { protocol: "kitty", key: TILDE_KEYS[match[1]], modifiers: Number(match[2] ?? 1) - 1 };
  }
  match = /^\x1b\[27;(\d+);(\d+)~$/.exec(data);
  if (match) return { protocol: "other", code: Number(match[2]), modifiers: Number(match[1]) - 1 };
  return undefined;
}

function isLetter(code) {
  return code >= 97 && code <= 122;
}

function isDigit(code) {
  return code >= 48 && code <= 57;
}

function isSymbol(code) {
  return code > 32 && code < 127 && SYMBOL_KEYS.has(String.fromCharCode(code));
}

// With shift a terminal may report "A" or "a".
function unshifted(code, modifiers) {
  return modifiers & SHIFT && code >= 65 && code <= 90 ? code + 32 : code;
}

function keyOfCode(code) {
  return NAMED_CODES.get(code) ?? (isLetter(code) || isDigit(code) || isSymbol(code) ? String.fromCharCode(code) : undefined);
}

// The set of keys of recent input, as "<modifiers> <key in lower case>".
const recent = new Map();
const RECENT = 64;

function keysOf(data) {
  const known = recent.get(data);
  if (known && known.kittyActive === kittyActive) return known.keys;
  const keys = new Set();
  const add = (key, modifiers) => {
    if (key !== undefined) keys.add(`${modifiers} ${key.toLowerCase()}`);
  };
  addPlain(data, add);
  const sequence = readSequence(data);
  if (sequence) addSequence(sequence, add);
  if (recent.size >= RECENT) recent.delete(recent.keys().next().value);
  recent.set(data, { keys, kittyActive });
  return keys;
}

function addSequence(sequence, add) {
  const modifiers = sequence.modifiers & ~LOCKS;
  if (sequence.key) {
    add(sequence.key, modifiers);
    return;
  }
  if (sequence.protocol === "other") {
    const key = keyOfCode(unshifted(sequence.code, modifiers));
    const printable = key?.length === 1;
    // Without a modifier plain keys are never sent this way, and a number-pad code never is.
    if (sequence.code < PAD_START && (modifiers !== 0 || !(printable || key === "tab" || key === "enter"))) {
      add(key, sequence.modifiers);
    }
    return;
  }
  const code = unshifted(padCode(sequence.code), modifiers);
  add(keyOfCode(code), modifiers);
  // On other layouts the key of the standard layout counts too, so that ctrl+с (Cyrillic) is ctrl+c. A
  // Latin letter or symbol is what it says: remapped layouts move those.
  if (sequence.base !== undefined && !isLetter(code) && !isSymbol(code)) add(keyOfCode(sequence.base), modifiers);
}

function addPlain(data, add) {
  const named = data.length > 1 ? legacySequences().get(data) : undefined;
  if (named) add(...named);
  if (data.length === 1) addCharacter(data, 0, add);
  if (data.length === 2 && data[0] === "\x1b") addEscaped(data[1], add);
}

function addCharacter(character, modifiers, add) {
  const code = character.charCodeAt(0);
  if (isLetter(code) || isDigit(code) || isSymbol(code)) add(character, 0);
  else if (code >= 65 && code <= 90) add(character, SHIFT);
  addControl(code, CTRL, add);
  if (code === 27) add("escape", 0);
  else if (code === 32) add("space", 0);
  else if (code === 9) add("tab", 0);
  else if (code === 13) add("enter", 0);
  else if (code === 10) add("enter", kittyActive ? SHIFT : 0);
  else if (code === 0 && !kittyActive) add("space", CTRL);
  else if (code === 127) add("backspace", 0);
  else if (code === 8) add("backspace", backspaceByteIsCtrl() ? CTRL : 0);
}

function addControl(code, modifiers, add) {
  if (code >= 1 && code <= 26) add(String.fromCharCode(code + 96), modifiers);
  else if (code >= 27 && code <= 29) add(String.fromCharCode(code + 64), modifiers);
  else if (code === 31) {
    add("_", modifiers);
    add("-", modifiers);
  }
}

function addEscaped(character, add) {
  const code = character.charCodeAt(0);
  if (code === 127 || code === 8) add("backspace", ALT);
  if (code === 13) add("enter", kittyActive ? SHIFT : ALT);
  if (kittyActive) return;
  if (code === 32) add("space", ALT);
  if (character === "B") add("left", ALT);
  if (character === "F") add("right", ALT);
  if (isLetter(code) || isDigit(code) || isSymbol(code)) add(character, ALT);
  addControl(code, CTRL | ALT, add);
}

// Windows Terminal sends 0x08 for ctrl+backspace, others for backspace itself.
function backspaceByteIsCtrl() {
  const { WT_SESSION, SSH_CONNECTION, SSH_CLIENT, SSH_TTY } = process.env;
  return Boolean(WT_SESSION) && !SSH_CONNECTION && !SSH_CLIENT && !SSH_TTY;
}

const MODIFIER_BITS = { shift: SHIFT, alt: ALT, ctrl: CTRL, super: SUPER };
const SYNONYMS = { esc: "escape", return: "enter" };

// Key identifiers come from a small, fixed set of bindings.
const identifiers = new Map();

function canonical(identifier) {
  let known = identifiers.get(identifier);
  if (known === undefined) {
    const parts = String(identifier).toLowerCase().split("+");
    const key = parts.at(-1);
    let modifiers = 0;
    for (const part of parts) modifiers |= MODIFIER_BITS[part] ?? 0;
    // "+" itself cannot be written as an identifier: its parts are empty.
    known = key ? `${modifiers} ${SYNONYMS[key] ?? key}` : null;
    identifiers.set(identifier, known);
  }
  return known;
}

/** Returns whether the input is the key, e.g. "ctrl+c", "shift+tab", "escape". */
export function matchesKey(data, keyId) {
  const key = canonical(keyId);
  return key !== null && keysOf(data).has(key);
}

/** Returns the name of the key that the input is, or undefined. */
export function parseKey(data) {
  const sequence = readSequence(data);
  if (sequence) return nameOfSequence(sequence);
  if (kittyActive && (data === "\x1b\r" || data === "\n")) return "shift+enter";
  const named = data.length > 1 ? legacySequences().get(data) : undefined;
  if (named) return withModifiers(named[0], named[1]);
  if (data.length === 1) return nameOfCharacter(data);
  if (data.length === 2 && data[0] === "\x1b") return nameOfEscaped(data[1]);
  return undefined;
}

function nameOfSequence(sequence) {
  if (sequence.key) return withModifiers(sequence.key, sequence.modifiers);
  const code = unshifted(padCode(sequence.code), sequence.modifiers);
  const certain = isLetter(code) || isDigit(code) || isSymbol(code);
  const key = keyOfCode(certain ? code : (sequence.base ?? code));
  return key && withModifiers(key, sequence.modifiers);
}

function withModifiers(key, modifiers) {
  const held = modifiers & ~LOCKS;
  if (held & ~(SHIFT | ALT | CTRL | SUPER)) return undefined;
  const names = [];
  if (held & SHIFT) names.push("shift");
  if (held & CTRL) names.push("ctrl");
  if (held & ALT) names.push("alt");
  if (held & SUPER) names.push("super");
  return [...names, key].join("+");
}

function nameOfCharacter(character) {
  const code = character.charCodeAt(0);
  if (code === 0) return "ctrl+space";
  if (code === 8) return backspaceByteIsCtrl() ? "ctrl+backspace" : "backspace";
  if (code === 9) return "tab";
  if (code === 10 || code === 13) return "enter";
  if (code === 27) return "escape";
  if (code <= 26) return `ctrl+${String.fromCharCode(code + 96)}`;
  if (code === 28 || code === 29) return `ctrl+${String.fromCharCode(code + 64)}`;
  if (code === 31) return "ctrl+-";
  if (code === 32) return "space";
  if (code === 127) return "backspace";
  return code < 127 && code > 32 ? character : undefined;
}

function nameOfEscaped(character) {
  const code = character.charCodeAt(0);
  if (code >= 27 && code <= 29) return `ctrl+alt+${String.fromCharCode(code + 64)}`;
  if (code === 31) return "ctrl+alt+-";
  if (code === 127 || code === 8) return "alt+backspace";
  if (kittyActive) return undefined;
  if (code === 13) return "alt+enter";
  if (code === 32) return "alt+space";
  if (character === "B") return "alt+left";
  if (character === "F") return "alt+right";
  if (code >= 1 && code <= 26) return `ctrl+alt+${String.fromCharCode(code + 96)}`;
  return isLetter(code) || isDigit(code) || isSymbol(code) ? `alt+${character}` : undefined;
}

/** The sequences around pasted text. */
export const PASTE_START = "\x1b[200~";
export const PASTE_END = "\x1b[201~";

// Pasted text may hold anything, so it is never taken for a key event.
function isEvent(data, event) {
  return !data.includes(PASTE_START) && new RegExp(`:${event}[u~ABCDHF]`).test(data);
}

/** Returns whether the input says that a key was released. */
export function isKeyRelease(data) {
  return isEvent(data, 3);
}

/** Returns whether the input says that a held key repeats. */
export function isKeyRepeat(data) {
  return isEvent(data, 2);
}

/** Returns the character that a sequence of the Kitty protocol types, or undefined. */
export function decodeKittyPrintable(data) {
  const sequence = readSequence(data);
  if (sequence?.protocol !== "kitty" || sequence.code === undefined) return undefined;
  const shifted = sequence.modifiers & SHIFT ? sequence.shifted : undefined;
  return typedCharacter(shifted ?? sequence.code, sequence.modifiers);
}

/** Returns the character that a sequence of either protocol types, or undefined. */
export function decodePrintableKey(data) {
  const sequence = readSequence(data);
  if (sequence?.protocol === "other") return typedCharacter(sequence.code, sequence.modifiers, false);
  return decodeKittyPrintable(data);
}

function typedCharacter(code, modifiers, pad = true) {
  if (modifiers & ~(SHIFT | LOCKS)) return undefined;
  const character = pad ? padCode(code) : code;
  const functional = pad && character >= 57417 && character <= 57426;
  if (character < 32 || character > 0x10ffff || functional) return undefined;
  return String.fromCodePoint(character);
}
