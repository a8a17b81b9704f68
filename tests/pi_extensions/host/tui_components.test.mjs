// Components of pi-tui by themselves.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as tui from "../../../extensions/pi-host/shims/pi-tui.mjs";
import { markdownTheme, selectListTheme, settingsListTheme } from "../../../extensions/pi-host/tui/theme.mjs";

const [UP, DOWN, ENTER, ESCAPE, BACKSPACE] = ["\x1b[A", "\x1b[B", "\r", "\x1b", "\x7f"];
const trimmed = (lines) => lines.map((line) => tui.stripTerminalSequences(line).trimEnd());
const type = (component, ...keys) => keys.forEach((key) => component.handleInput(key));

test("text is wrapped, padded and filled", () => {
  assert.deepEqual(new tui.Text("one two", 1, 1).render(7), ["       ", " one   ", " two   ", "       "]);
  assert.deepEqual(new tui.Text("x", 0, 0, (line) => `<${line}>`).render(3), ["<x  >"]);
  assert.deepEqual(new tui.Text(" ").render(5), []);
  assert.deepEqual(trimmed(new tui.TruncatedText("one two three\nfour").render(10)), ["one two..."]);
  assert.deepEqual(new tui.Spacer(2).render(5), ["", ""]);
});

test("containers and boxes stack their children", () => {
  const container = new tui.Container();
  const box = new tui.Box(1, 1, (line) => `|${line}|`);
  box.addChild(new tui.Text("in", 0, 0));
  container.addChild(new tui.Text("top", 0, 0));
  container.addChild(box);
  assert.deepEqual(container.render(4), ["top ", "|    |", "| in |", "|    |"]);
  container.removeChild(box);
  assert.equal(container.render(4).length, 1);
});

test("classes can be extended, as packages do", () => {
  class Panel extends tui.Container {
    render(width) {
      return ["-".repeat(width), ...super.render(width)];
    }
  }
  const panel = new Panel();
  panel.addChild(new tui.Text("x", 0, 0));
  assert.deepEqual(panel.render(3), ["---", "x  "]);
  for (const name of ["Text", "Box", "Input", "SelectList", "Editor", "Loader", "Markdown", "SettingsList"]) {
    class Own extends tui[name] {}
    assert.ok(Own.prototype instanceof tui[name]);
  }
});

test("stacks share out columns", () => {
  const column = (text) => new tui.Text(text, 0, 0);
  const row = new tui.HStack([{ component: column("left"), basis: 6, shrink: 0 }, { component: column("right"), basis: 0, grow: 1 }], { gap: 1 });
  assert.deepEqual(trimmed(row.render(20)), ["left   right"]);
  const stack = new tui.VStack([{ component: column("a\nb\nc"), maxSize: 2 }, column("d")], { gap: 1 });
  assert.deepEqual(trimmed(stack.render(5)), ["a", "b", "", "d"]);
  assert.deepEqual(trimmed(new tui.ScrollView(column("x\ny")).render(5)), ["x", "y"]);
});

test("a list selects, wraps around, scrolls and filters", () => {
  const items = ["one", "two", "three", "four"].map((value) => ({ value, label: value.toUpperCase(), description: `about ${value}` }));
  const list = new tui.SelectList(items, 2, selectListTheme);
  const events = [];
  list.onSelect = (item) => events.push(`select ${item.value}`);
  list.onCancel = () => events.push("cancel");
  list.onSelectionChange = (item) => events.push(item.value);
  assert.deepEqual(list.render(30), ["→ ONE", "  TWO", "  (1/4)"]);
  assert.match(list.render(80)[0], /^→ ONE {29}about one$/);
  type(list, UP, DOWN, DOWN, ENTER, ESCAPE);
  assert.deepEqual(events, ["four", "one", "two", "select two", "cancel"]);
  list.setFilter("t");
  assert.deepEqual(list.render(30), ["→ TWO", "  THREE"]);
  list.setFilter("none");
  assert.equal(list.getSelectedItem(), null);
});

test("settings change in turn, by a submenu, and are searched", () => {
  const changes = [];
  const items = [
    { id: "theme", label: "Theme", currentValue: "dark", values: ["dark", "light"], description: "Colours" },
    {
      id: "model",
      label: "Model",
      currentValue: "small",
      submenu: (value, done) => ({ render: () => [`was ${value}`], handleInput: (data) => done(data === ENTER ? "big" : undefined), invalidate() {} }),
    },
  ];
  const list = new tui.SettingsList(items, 5, settingsListTheme, (id, value) => changes.push([id, value]), () => changes.push("cancel"), { enableSearch: true });
  assert.deepEqual(trimmed(list.render(60)).slice(2, 6), ["→ Theme  dark", "  Model  small", "", "  Colours"]);
  type(list, ENTER, " ", DOWN, ENTER);
  assert.deepEqual(list.render(40), ["was small"]);
  type(list, ENTER, "t", "h");
  assert.deepEqual(trimmed(list.render(60))[2], "→ Theme  dark");
  type(list, ESCAPE);
  assert.deepEqual(changes, [["theme", "light"], ["theme", "dark"], ["model", "big"], "cancel"]);
});

test("an input edits, pastes, kills, yanks and undoes", () => {
  const input = new tui.Input();
  const sent = [];
  input.onSubmit = (value) => sent.push(value);
  type(input, ..."hello world", "\x17", "\x1b[200~big\nworld\x1b[201~", "\x01", "\x1b[C", BACKSPACE, "J");
  assert.equal(input.getValue(), "Jello bigworld");
  type(input, "\x05", "\x19", "\x1f", ENTER);
  assert.deepEqual(sent, ["Jello bigworld"]);
  input.setValue("a👍🏽");
  type(input, "\x05", BACKSPACE);
  assert.equal(input.getValue(), "a");
});

test("an input shows its cursor and scrolls sideways", () => {
  const input = new tui.Input({ placeholder: "name" });
  input.focused = true;
  assert.deepEqual(input.render(10), [`> ${tui.CURSOR_MARKER}\x1b[7mn\x1b[27mame    `]);
  type(input, ..."0123456789");
  assert.deepEqual(input.render(8), [`> 56789${tui.CURSOR_MARKER}\x1b[7m \x1b[27m`]);
});

test("a loader turns and can be cancelled", async () => {
  let renders = 0;
  const loader = new tui.CancellableLoader({ requestRender: () => (renders += 1) }, String, String, "working", { frames: ["a", "b"], intervalMs: 5 });
  assert.deepEqual(trimmed(loader.render(20)), ["", " a working"]);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.ok(renders >= 2);
  type(loader, "x");
  assert.ok(!loader.aborted);
  type(loader, ESCAPE);
  assert.ok(loader.signal.aborted);
  loader.dispose();
});

test("an image is a line of text", () => {
  const png = Buffer.alloc(24);
  png.writeUInt32BE(0x89504e47, 0);
  png.writeUInt32BE(640, 16);
  png.writeUInt32BE(480, 20);
  const image = new tui.Image(png.toString("base64"), "image/png", { fallbackColor: String }, { filename: "a.png" });
  assert.deepEqual(image.render(60), ["[Image: a.png [image/png] 640x480]"]);
  assert.equal(tui.getImageDimensions("", "image/gif"), null);
});

const markdown = (text, width = 60) => trimmed(new tui.Markdown(text, 0, 0, markdownTheme).render(width));

test("markdown blocks are laid out", () => {
  assert.deepEqual(markdown("# Title\ntext\n\n## Two\n### Three"), ["Title", "", "text", "", "Two", "", "### Three"]);
  assert.deepEqual(markdown("- a\n- b\n  - c\n\n1. x\n2. y"), ["- a", "- b", "    - c", "", "1. x", "2. y"]);
  assert.deepEqual(markdown("- [x] done\n- [ ] open"), ["- [x] done", "- [ ] open"]);
  assert.deepEqual(markdown("```js\nlet a;\n```"), ["```js", "  let a;", "```"]);
  assert.deepEqual(markdown("> said\n> twice\n\n---"), ["│ said", "│ twice", "", "─".repeat(60)]);
  assert.deepEqual(markdown("one two three", 8), ["one two", "three"]);
});

test("markdown tables fit the width", () => {
  const table = "| a | b |\n|---|---|\n| 1 | long text here |";
  assert.deepEqual(markdown(table), ["┌───┬────────────────┐", "│ a │ b              │", "├───┼────────────────┤", "│ 1 │ long text here │", "└───┴────────────────┘"]);
  for (const line of markdown(table, 16)) assert.ok(tui.visibleWidth(line) <= 16);
});

test("markdown inline styles go through the theme", () => {
  const marked = Object.fromEntries(Object.keys(markdownTheme).map((name) => [name, (text) => `${name}(${text})`]));
  const line = (text) => new tui.Markdown(text, 0, 0, { ...marked, highlightCode: undefined }).render(200)[0].trimEnd();
  assert.equal(line("**b** *i* ~~s~~ `c` snake_case_x 2*3"), "bold(b) italic(i) strikethrough(s) code(c) snake_case_x 2*3");
  assert.equal(line("***both***"), "italic(bold(both))");
  assert.equal(line("[text](http://a.b) http://c.d."), "link(underline(text))linkUrl( (http://a.b)) link(underline(http://c.d)).");
  assert.equal(line("\\*not\\* and **open"), "*not* and **open");
});
