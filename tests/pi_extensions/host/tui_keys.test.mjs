// Keys and keybindings.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as tui from "../../../extensions/pi-host/shims/pi-tui.mjs";
import { splitKeys } from "../../../extensions/pi-host/tui/input_chunks.mjs";

const { Key, matchesKey, parseKey } = tui;

afterEach(() => tui.setKittyProtocolActive(false));

test("Key spells keys and modifiers", () => {
  assert.equal(Key.escape, "escape");
  assert.equal(Key.backtick, "`");
  assert.equal(Key.ctrl("c"), "ctrl+c");
  assert.equal(Key.shiftCtrl("p"), "shift+ctrl+p");
  assert.equal(Key.ctrlShiftAlt("x"), "ctrl+shift+alt+x");
});

test("a key is found in every way in which terminals write it", () => {
  const keys = {
    up: ["\x1b[A", "\x1bOA", "\x1b[57419u"],
    enter: ["\r", "\n", "\x1bOM", "\x1b[13u", "\x1b[57414u"],
    escape: ["\x1b", "\x1b[27u"],
    tab: ["\t", "\x1b[9u"],
    "shift+tab": ["\x1b[Z", "\x1b[9;2u"],
    "ctrl+c": ["\x03", "\x1b[99;5u", "\x1b[27;5;99~", "\x1b[1089::99;5u"],
    "alt+left": ["\x1bb", "\x1b[1;3D"],
    "alt+x": ["\x1bx", "\x1b[120;3u"],
    "ctrl+alt+]": ["\x1b\x1d"],
    backspace: ["\x7f", "\x08"],
    delete: ["\x1b[3~"],
    pageUp: ["\x1b[5~"],
    f5: ["\x1b[15~", "\x1b[[E"],
    "shift+enter": ["\x1b[13;2u", "\x1b[27;2;13~"],
    "super+k": ["\x1b[107;9u"],
    a: ["a", "\x1b[97u"],
    "shift+a": ["A", "\x1b[97;2u", "\x1b[65;2u"],
    "?": ["?"],
    5: ["5", "\x1b[57404u"],
  };
  for (const [key, sequences] of Object.entries(keys)) {
    for (const sequence of sequences) {
      assert.ok(matchesKey(sequence, key), `${JSON.stringify(sequence)} is ${key}`);
      assert.ok(!matchesKey(sequence, "ctrl+alt+shift+q"));
    }
  }
  assert.ok(!matchesKey("\x1b[107;5u", "ctrl+c"));
  assert.ok(!matchesKey("漢", "a"));
});

test("parseKey names keys", () => {
  const names = { "\x1b[A": "up", "\x03": "ctrl+c", "\x1b[99;6u": "shift+ctrl+c", "\x1b\r": "alt+enter", x: "x", "\x1bOc": "ctrl+right", é: undefined };
  for (const [data, name] of Object.entries(names)) assert.equal(parseKey(data), name);
  tui.setKittyProtocolActive(true);
  assert.equal(parseKey("\x1b\r"), "shift+enter");
  assert.ok(matchesKey("\n", "shift+enter"));
});

test("releases and repeats are told from presses, and pastes are neither", () => {
  assert.ok(tui.isKeyRelease("\x1b[97;1:3u"));
  assert.ok(tui.isKeyRepeat("\x1b[1;1:2A"));
  assert.ok(!tui.isKeyRelease("\x1b[97u"));
  assert.ok(!tui.isKeyRelease("\x1b[200~90:62:3F:A5\x1b[201~"));
});

test("typed characters are decoded", () => {
  assert.equal(tui.decodeKittyPrintable("\x1b[97u"), "a");
  assert.equal(tui.decodeKittyPrintable("\x1b[97:65;2u"), "A");
  assert.equal(tui.decodeKittyPrintable("\x1b[57400u"), "1");
  assert.equal(tui.decodeKittyPrintable("\x1b[97;5u"), undefined);
});

test("input is taken apart into keys and pastes", () => {
  const split = (text) => splitKeys(text).keys;
  assert.deepEqual(split("ab\x1b[A\x1b[1;5C\x1bx漢"), ["a", "b", "\x1b[A", "\x1b[1;5C", "\x1bx", "漢"]);
  assert.deepEqual(split("\x1b[200~a\x1b[Ab\x1b[201~c"), ["\x1b[200~a\x1b[Ab\x1b[201~", "c"]);
  assert.deepEqual(splitKeys("a\x1b[1;"), { keys: ["a"], rest: "\x1b[1;" });
  assert.deepEqual(splitKeys("\x1b"), { keys: [], rest: "\x1b" });
  assert.deepEqual(split("\x1b\x1b[27u"), ["\x1b", "\x1b[27u"]);
  assert.deepEqual(split("\x1bOP\x1b[<0;5;6M"), ["\x1bOP", "\x1b[<0;5;6M"]);
});

test("a buffer puts sequences together and lets a lone escape go after a moment", async () => {
  const buffer = new tui.StdinBuffer({ escapeTimeout: 5 });
  const seen = [];
  buffer.on("data", (key) => seen.push(key));
  buffer.on("paste", (text) => seen.push({ text }));
  buffer.process("\x1b");
  buffer.process("[A");
  buffer.process("\x1b[200~one ");
  buffer.process("two\x1b[201~");
  buffer.process("\x1b");
  assert.deepEqual(seen, ["\x1b[A", { text: "one two" }]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(seen.at(-1), "\x1b");
});

test("keybindings have pi's defaults and take the user's keys", () => {
  const manager = new tui.KeybindingsManager(tui.TUI_KEYBINDINGS, { "tui.select.up": ["k", "up"], "tui.select.down": "k" });
  assert.ok(manager.matches("k", "tui.select.up"));
  assert.ok(manager.matches("\x1b", "tui.select.cancel"));
  assert.ok(!manager.matches("\x1b[B", "tui.select.down"));
  assert.deepEqual(manager.getKeys("tui.editor.cursorLeft"), ["left", "ctrl+b"]);
  assert.deepEqual(manager.getConflicts(), [{ key: "k", keybindings: ["tui.select.up", "tui.select.down"] }]);
  assert.equal(manager.getResolvedBindings()["tui.input.submit"], "enter");
  assert.deepEqual(manager.getDefinition("tui.input.tab").defaultKeys, "tab");
  assert.ok(tui.getKeybindings().getKeys("app.interrupt").includes("escape"));
});
