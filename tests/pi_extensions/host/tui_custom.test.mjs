// Dialogs and widgets of extensions on a client's screen.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";

import * as tui from "../../../extensions/pi-host/shims/pi-tui.mjs";
import { FRAMES_PER_SECOND, MAX_LINES, renderWidget, runCustom } from "../../../extensions/pi-host/tui/custom.mjs";

const [UP, DOWN, LEFT, RIGHT, ENTER, ESCAPE] = ["\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\r", "\x1b"];
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A client's screen that keeps the frames. */
class Screen {
  frames = [];
  places = [];
  #closing = new AbortController();
  #input;
  #resize;

  constructor(columns = 40, rows = 10) {
    Object.assign(this, { columns, rows, closed: this.#closing.signal });
  }

  show(lines, place) {
    this.frames.push(lines.map((line) => line.trimEnd()));
    this.places.push(place);
  }

  onInput(callback) {
    this.#input = callback;
    return () => (this.#input = undefined);
  }

  onResize(callback) {
    this.#resize = callback;
  }

  get listening() {
    return this.#input !== undefined;
  }

  /** Sends keys, each after a frame had time to be drawn. */
  async press(...keys) {
    for (const key of keys) {
      this.#input?.(key);
      await wait(1100 / FRAMES_PER_SECOND);
    }
  }

  resize(columns, rows) {
    Object.assign(this, { columns, rows });
    this.#resize?.({ columns, rows });
  }

  close() {
    this.#closing.abort();
  }

  get last() {
    return this.frames.at(-1);
  }
}

/** Opens a dialog and waits for its first frame. */
async function open(factory, options, screen = new Screen()) {
  const result = runCustom(factory, options, screen);
  result.catch(() => {});
  await wait(60);
  return { screen, result };
}

test("a questionnaire is answered with keys", async () => {
  class Questionnaire extends tui.Container {
    answers = [];
    focused = false;

    constructor(questions, done) {
      super();
      this.questions = questions;
      this.done = done;
      this.ask();
    }

    ask() {
      const question = this.questions[this.answers.length];
      this.clear();
      this.addChild(new tui.Text(question.title, 0, 0));
      if (question.options) {
        this.field = new tui.SelectList(question.options.map((value) => ({ value, label: value })), 5, {
          selectedPrefix: String, selectedText: String, description: String, scrollInfo: String, noMatch: String,
        });
        this.field.onSelect = (item) => this.answer(item.value);
        this.field.onCancel = () => this.done(undefined);
      } else {
        this.field = new tui.Input();
        this.field.focused = true;
        this.field.onSubmit = (value) => this.answer(value);
      }
      this.addChild(this.field);
    }

    answer(value) {
      this.answers.push(value);
      if (this.answers.length === this.questions.length) this.done(this.answers);
      else this.ask();
    }

    handleInput(data) {
      this.field.handleInput(data);
    }
  }
  const questions = [{ title: "Colour?", options: ["red", "green"] }, { title: "Name?" }];
  const { screen, result } = await open((_tui, _theme, _keybindings, done) => new Questionnaire(questions, done));
  assert.deepEqual(screen.last, ["Colour?", "→ red", "  green"]);
  await screen.press(DOWN);
  assert.deepEqual(screen.last, ["Colour?", "  red", "→ green"]);
  await screen.press(ENTER, "Ada");
  assert.deepEqual(screen.last, ["Name?", "> Ada"]);
  assert.deepEqual(screen.places.at(-1), { cursor: { row: 1, column: 5 } });
  await screen.press(ENTER);
  assert.deepEqual(await result, ["green", "Ada"]);
  assert.equal(screen.listening, false);
});

test("a list of tasks is ticked off and closed", async () => {
  const tasks = [{ text: "write", done: false }, { text: "test", done: true }];
  const factory = (screenTui, theme, keybindings, done) => {
    let selected = 0;
    return {
      render: (width) => tasks.map((task, index) =>
        tui.truncateToWidth(`${index === selected ? ">" : " "} ${theme.fg("accent", task.done ? "✓" : "○")} ${task.text}`, width),
      ),
      invalidate() {},
      handleInput(data) {
        if (keybindings.matches(data, "tui.select.down")) selected = (selected + 1) % tasks.length;
        else if (tui.matchesKey(data, tui.Key.space)) tasks[selected].done = !tasks[selected].done;
        else if (tui.matchesKey(data, "escape")) done(tasks.filter((task) => task.done).length);
        screenTui.requestRender();
      },
    };
  };
  const { screen, result } = await open(factory);
  assert.deepEqual(screen.last, ["> ○ write", "  ✓ test"]);
  await screen.press(" ", DOWN);
  assert.deepEqual(screen.last, ["  ✓ write", "> ✓ test"]);
  await screen.press(ESCAPE);
  assert.equal(await result, 2);
});

test("a game draws on its own timer and stops when it is disposed", async () => {
  let ticks = 0;
  class Snake {
    head = [2, 1];
    direction = [1, 0];

    constructor(screenTui, done) {
      this.done = done;
      this.timer = setInterval(() => {
        ticks += 1;
        this.head = this.head.map((place, axis) => place + this.direction[axis]);
        screenTui.requestRender();
      }, 40);
    }

    handleInput(data) {
      const directions = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };
      const turn = directions[tui.parseKey(data)];
      if (turn) this.direction = turn;
      else if (data === "q") this.done(this.head);
    }

    render(width) {
      const [column, row] = this.head;
      return Array.from({ length: 5 }, (_, index) => (index === row ? `${".".repeat(column)}@` : "").slice(0, width));
    }

    invalidate() {}

    dispose() {
      clearInterval(this.timer);
    }
  }
  const { screen, result } = await open((screenTui, _theme, _keybindings, done) => new Snake(screenTui, done));
  await screen.press(DOWN);
  await wait(100);
  assert.ok(screen.frames.length >= 3);
  await screen.press("q");
  const [column, row] = await result;
  assert.ok(column > 2 && row > 1);
  const stopped = ticks;
  await wait(100);
  assert.equal(ticks, stopped);
  assert.ok(LEFT && RIGHT && UP);
});

test("frames are at most thirty a second and only sent when something changed", async () => {
  let renders = 0;
  const factory = (screenTui) => {
    const timer = setInterval(() => screenTui.requestRender(), 1);
    return { render: () => [`${Math.floor((renders += 1) / 4)}`], invalidate() {}, dispose: () => clearInterval(timer) };
  };
  const screen = new Screen();
  const result = runCustom(factory, undefined, screen);
  await wait(500);
  screen.close();
  assert.equal(await result, undefined);
  assert.ok(renders <= 18, `${renders} renders in half a second`);
  assert.ok(screen.frames.length < renders);
});

test("closing the screen ends the dialog with undefined and disposes it", async () => {
  let disposed = 0;
  const { screen, result } = await open(() => ({ render: () => ["x"], invalidate() {}, dispose: () => (disposed += 1) }));
  screen.close();
  assert.equal(await result, undefined);
  assert.equal(disposed, 1);
  assert.equal(await runCustom(() => assert.fail("not called"), undefined, screen), undefined);
});

test("only the first done counts, also before the component is there", async () => {
  let disposed = 0;
  const factory = async (_tui, _theme, _keybindings, done) => {
    done("early");
    done("late");
    await wait(5);
    return { render: () => ["x"], invalidate() {}, dispose: () => (disposed += 1) };
  };
  const { screen, result } = await open(factory);
  assert.equal(await result, "early");
  assert.deepEqual(screen.frames, []);
  assert.equal(disposed, 1);
});

test("errors of the factory, of render and of keys end the dialog", async () => {
  const refuse = (what) => () => {
    throw new Error(what);
  };
  const { result: factory } = await open(refuse("factory"));
  await assert.rejects(factory, /factory/);
  const { result: nothing } = await open(() => undefined);
  await assert.rejects(nothing, /render/);
  let disposed = 0;
  const { result: render } = await open(() => ({ render: refuse("render"), invalidate() {}, dispose: () => (disposed += 1) }));
  await assert.rejects(render, /render/);
  assert.equal(disposed, 1);
  for (const handleInput of [refuse("key"), async () => refuse("key")()]) {
    const { screen, result } = await open(() => ({ render: () => [], invalidate() {}, handleInput }));
    await screen.press("x");
    await assert.rejects(result, /key/);
  }
});

test("frames are plain lines that fit the screen", async () => {
  const lines = ["\x1b[31mred\x1b[0m\ttab\r\x07", "漢".repeat(30), ...Array(MAX_LINES).fill("x")];
  const { screen } = await open(() => ({ render: () => lines, invalidate() {} }), undefined, new Screen(9, 5));
  assert.equal(screen.last[0], "red   tab");
  assert.equal(screen.last[1], "漢漢漢漢");
  assert.equal(screen.last.length, MAX_LINES);
  screen.close();
});

test("a client that takes styles gets them", async () => {
  const screen = Object.assign(new Screen(), { styled: true });
  await open(() => ({ render: () => ["\x1b[31mred\x1b[0m"], invalidate() {} }), undefined, screen);
  assert.deepEqual(screen.last, ["\x1b[31mred\x1b[0m"]);
  screen.close();
});

test("a resize renders anew for the new width", async () => {
  const { screen } = await open((screenTui) => ({ render: (width) => [`${width} of ${screenTui.terminal.columns}x${screenTui.terminal.rows}`], invalidate() {} }));
  screen.resize(20, 6);
  await wait(60);
  assert.deepEqual(screen.frames, [["40 of 40x10"], ["20 of 20x6"]]);
  screen.close();
});

test("an overlay is shown at its own width with its place", async () => {
  let handle;
  const options = { overlay: true, overlayOptions: () => ({ width: "50%", anchor: "top-right", margin: 1 }), onHandle: (given) => (handle = given) };
  const { screen } = await open(() => ({ render: (width) => [`w${width}`, "second"], invalidate() {} }), options);
  assert.deepEqual(screen.last, ["w20", "second"]);
  assert.deepEqual(screen.places.at(-1).overlay, { row: 1, column: 19, width: 20 });
  assert.deepEqual(handle.getBounds(), { row: 1, col: 19, width: 20, height: 2 });
  assert.ok(handle.isFocused());
  handle.setHidden(true);
  await wait(60);
  assert.deepEqual(screen.last, []);
  screen.close();
});

test("an overlay over a dialog takes the keys and gives them back", async () => {
  const keys = [];
  const listener = (name) => ({ render: () => [name], invalidate() {}, handleInput: (data) => keys.push(name + data) });
  let overlay;
  const factory = (screenTui) => {
    const base = listener("base");
    base.handleInput = (data) => {
      keys.push(`base${data}`);
      if (data === "o") overlay = screenTui.showOverlay(listener("over"), { width: 4, row: 2, col: 3 });
    };
    return base;
  };
  const { screen } = await open(factory);
  await screen.press("o", "1");
  assert.deepEqual([screen.last[0], screen.last[2]], ["base", "   over"]);
  assert.equal(screen.last.length, 10);
  overlay.hide();
  await screen.press("2");
  assert.deepEqual(keys, ["baseo", "over1", "base2"]);
  assert.deepEqual(screen.last, ["base"]);
  screen.close();
});

test("several keys in one chunk arrive one by one, releases only if wanted", async () => {
  const keys = [];
  const { screen } = await open((screenTui) => {
    screenTui.addInputListener((data) => (data === "x" ? { consume: true } : undefined));
    return { render: () => [""], invalidate() {}, handleInput: (data) => keys.push(data) };
  });
  await screen.press("ax\x1b[B\x1b[97;1:3ub", "\x1b");
  assert.deepEqual(keys, ["a", "\x1b[B", "b", "\x1b"]);
  screen.close();
});

test("what keys trigger belongs to the extension that opened the dialog", async () => {
  const storage = new AsyncLocalStorage();
  let seen;
  const screen = new Screen();
  storage.run("extension", () => runCustom(() => ({ render: () => [""], invalidate() {}, handleInput: () => (seen = storage.getStore()) }), undefined, screen));
  await wait(40);
  await storage.run("wire", () => screen.press("x"));
  assert.equal(seen, "extension");
  screen.close();
});

test("a program cannot take the terminal over", async () => {
  const { result } = await open((screenTui) => screenTui.stop());
  await assert.rejects(result, /no terminal/);
});

test("a widget renders lines and tells when it changed", async () => {
  let changes = 0;
  let component;
  const widget = renderWidget(
    (screenTui, theme, extra) => {
      component = new tui.Text(theme.bold(`count 0 ${extra}`), 0, 0);
      component.add = (count) => {
        component.setText(`count ${count}`);
        screenTui.requestRender();
      };
      return component;
    },
    20,
    () => (changes += 1),
    ["more"],
  );
  assert.deepEqual(widget.lines(), ["count 0 more        "]);
  component.add(1);
  component.add(2);
  await wait(60);
  assert.equal(changes, 1);
  assert.deepEqual(widget.lines(), ["count 2             "]);
  widget.dispose();
  assert.deepEqual(widget.lines(), []);
});

test("a widget that throws says so in a line", () => {
  const broken = { render: () => assert.fail("broken"), invalidate() {} };
  assert.deepEqual(renderWidget(() => broken, 40, () => {}).lines(), ["[widget failed: broken]"]);
  assert.deepEqual(renderWidget(() => undefined, 200, () => {}).lines().length, 1);
});
