// The multi-line editor and completion.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as tui from "../../../extensions/pi-host/shims/pi-tui.mjs";
import { editorTheme } from "../../../extensions/pi-host/tui/theme.mjs";

const [UP, DOWN, LEFT, ENTER, ESCAPE, TAB, BACKSPACE, NEW_LINE] = ["\x1b[A", "\x1b[B", "\x1b[D", "\r", "\x1b", "\t", "\x7f", "\x1b[13;2u"];
const screen = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
const editor = (options) => new tui.Editor(screen, editorTheme, options);
const type = (component, ...keys) => keys.forEach((key) => component.handleInput(key));
const trimmed = (lines) => lines.map((line) => tui.stripTerminalSequences(line).trimEnd());
const settled = () => new Promise((resolve) => setTimeout(resolve, 60));

test("text is typed over several lines and sent", () => {
  const field = editor();
  const sent = [];
  field.onSubmit = (text) => sent.push(text);
  type(field, ..."one", NEW_LINE, ..."two\\", ENTER, ..."three");
  assert.deepEqual(field.getLines(), ["one", "two", "three"]);
  assert.deepEqual(field.getCursor(), { line: 2, col: 5 });
  assert.deepEqual(trimmed(field.render(10)), ["──────────", "one", "two", "three", "──────────"]);
  type(field, ENTER);
  assert.deepEqual(sent, ["one\ntwo\nthree"]);
  assert.equal(field.getText(), "");
});

test("lines are joined, killed, yanked and undone", () => {
  const field = editor();
  field.setText("first\nsecond");
  type(field, "\x01", BACKSPACE);
  assert.equal(field.getText(), "firstsecond");
  type(field, "\x0b");
  assert.equal(field.getText(), "first");
  type(field, "\x19", "\x19");
  assert.equal(field.getText(), "firstsecondsecond");
  type(field, "\x1f", "\x1f", "\x1f", "\x1f");
  assert.equal(field.getText(), "first\nsecond");
});

test("history comes back with the up key and the draft with down", () => {
  const field = editor();
  field.addToHistory("older");
  field.addToHistory("newer");
  field.setText("");
  type(field, UP, UP);
  assert.equal(field.getText(), "older");
  type(field, DOWN, DOWN, "x");
  assert.equal(field.getText(), "x");
});

test("long pastes are kept aside under a marker that is deleted as one", () => {
  const field = editor();
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`).join("\n");
  type(field, `\x1b[200~${lines}\x1b[201~`, "!");
  assert.equal(field.getText(), "[paste #1 +12 lines]!");
  assert.equal(field.getExpandedText(), `${lines}!`);
  type(field, LEFT, BACKSPACE);
  assert.equal(field.getText(), "!");
});

test("long text wraps and scrolls with the cursor in sight", () => {
  const field = editor();
  field.focused = true;
  field.setText(Array.from({ length: 20 }, (_, index) => `row ${index}`).join("\n"));
  const lines = field.render(30);
  assert.match(lines[0], /↑ 13 more/);
  assert.ok(lines.some((line) => line.includes(tui.CURSOR_MARKER)));
  field.setText("the quick brown fox jumps");
  assert.deepEqual(trimmed(field.render(12)).slice(1, -1), ["the quick", "brown fox", "jumps"]);
});

test("a subclass can change borders and keys, and reads the text as pi's editor has it", () => {
  class Modal extends tui.Editor {
    renderTopBorder(width) {
      return "=".repeat(width);
    }
    handleInput(data) {
      if (data === "j") this.state.cursorCol = 0;
      else super.handleInput(data);
    }
  }
  const field = new Modal(screen, editorTheme);
  type(field, "a", "b", "j", "c");
  assert.equal(field.getText(), "cab");
  assert.deepEqual(field.state.lines, ["cab"]);
  assert.equal(field.render(4)[0], "====");
});

test("commands and their arguments are completed", async () => {
  const field = editor();
  const sent = [];
  field.onSubmit = (text) => sent.push(text);
  const commands = [
    { name: "deploy", description: "ship it", getArgumentCompletions: (prefix) => [{ value: `${prefix}staging`, label: "staging" }] },
    { name: "help" },
  ];
  field.setAutocompleteProvider(new tui.CombinedAutocompleteProvider(commands, tmpdir()));
  type(field, "/", "d");
  await settled();
  assert.ok(field.isShowingAutocomplete());
  assert.match(field.render(60).join("\n"), /→ deploy +ship it/);
  type(field, TAB);
  assert.equal(field.getText(), "/deploy ");
  type(field, "x");
  await settled();
  type(field, TAB);
  assert.equal(field.getText(), "/deploy xstaging");
  type(field, ESCAPE, ENTER);
  assert.deepEqual(sent, ["/deploy xstaging"]);
});

test("files are completed in paths and after @", async () => {
  const folder = mkdtempSync(join(tmpdir(), "completion-"));
  try {
    mkdirSync(join(folder, "source", "deep"), { recursive: true });
    writeFileSync(join(folder, "source", "deep", "target file.txt"), "");
    writeFileSync(join(folder, "readme.md"), "");
    const provider = new tui.CombinedAutocompleteProvider([], folder);
    const signal = new AbortController().signal;
    const listed = await provider.getSuggestions(["./"], 0, 2, { signal });
    assert.deepEqual(listed.items.map((item) => item.value), ["./source/", "./readme.md"]);
    const found = await provider.getSuggestions(["see @target"], 0, 11, { signal });
    assert.deepEqual(found.items[0].value, '@"source/deep/target file.txt"');
    const applied = provider.applyCompletion(["see @target"], 0, 11, found.items[0], found.prefix);
    assert.equal(applied.lines[0], 'see @"source/deep/target file.txt" ');
    assert.equal(await provider.getSuggestions(["plain"], 0, 5, { signal }), null);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
