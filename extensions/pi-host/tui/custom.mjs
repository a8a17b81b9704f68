// Components of extensions on the screen of a client: dialogs that take keys, and widgets.

import { AsyncLocalStorage } from "node:async_hooks";

import { sliceByColumn } from "./cut.mjs";
import { stripTerminalSequences } from "./escapes.mjs";
import { getKeybindings } from "./keybindings.mjs";
import { ScreenTui } from "./screen.mjs";
import { theme } from "./theme.mjs";
import { visibleWidth } from "./width.mjs";

/** The most frames that are sent in a second. */
export const FRAMES_PER_SECOND = 30;
/** The most lines of a frame, and UTF-16 units of a line: a component cannot flood the protocol. */
export const MAX_LINES = 1000;
const MAX_LINE_LENGTH = 4000;

const DEFAULT_SIZE = { columns: 80, rows: 24 };

/** Calls `draw` once per tick after `request()`, and at most FRAMES_PER_SECOND times a second. */
class FrameClock {
  #draw;
  #timer;
  #immediate;
  #last = -Infinity;

  constructor(draw) {
    this.#draw = draw;
  }

  request() {
    if (this.#timer || this.#immediate) return;
    const wait = this.#last + 1000 / FRAMES_PER_SECOND - performance.now();
    const run = () => {
      this.#timer = undefined;
      this.#immediate = undefined;
      this.#last = performance.now();
      this.#draw();
    };
    if (wait > 0) this.#timer = setTimeout(run, wait);
    else this.#immediate = setImmediate(run);
  }

  stop() {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#draw = () => {};
  }
}

// Lines as a client shows them: no control characters, none wider than the screen.
function cleaned(lines, columns, styled) {
  return lines.slice(0, MAX_LINES).map((line) => {
    let text = String(line);
    if (text.length > MAX_LINE_LENGTH) text = text.slice(0, MAX_LINE_LENGTH);
    if (!styled) text = stripTerminalSequences(text);
    text = text.replaceAll("\t", "   ").replace(styled ? /[\u0000-\u0006\u0008-\u001a\u001c-\u001f]/g : /[\u0000-\u001f\u007f]/g, "");
    return visibleWidth(text) > columns ? sliceByColumn(text, 0, columns, true) : text;
  });
}

function sizeOf(source) {
  const { columns, rows } = source ?? {};
  return {
    columns: columns >= 1 ? Math.floor(columns) : DEFAULT_SIZE.columns,
    rows: rows >= 1 ? Math.floor(rows) : DEFAULT_SIZE.rows,
  };
}

function checkedComponent(component) {
  if (typeof component?.render !== "function") throw new Error("The factory of a component must return an object with a render method.");
  return component;
}

/**
 * Shows the component of `factory(tui, theme, keybindings, done)` on the screen until it calls done.
 * Returns a promise of the value passed to done; undefined if the client closes the screen before; it
 * rejects if the component throws.
 *
 * `screen` is `{columns, rows, show(lines, {overlay, cursor}), onInput(callback), onResize(callback), closed}`.
 * Lines are plain text unless `screen.styled` is set; then escape sequences stay in them.
 */
export function runCustom(factory, options, screen) {
  return new Promise((resolve, reject) => {
    if (screen.closed?.aborted) {
      resolve(undefined);
      return;
    }
    new Dialog(factory, options ?? {}, screen, resolve, reject).open();
  });
}

class Dialog {
  #factory;
  #options;
  #screen;
  #resolve;
  #reject;
  #size;
  #clock = new FrameClock(() => this.#draw());
  #tui = new ScreenTui(() => this.#size, () => this.#clock.request());
  #component;
  #ended = false;
  #cleanups = [];
  #shown;
  // Keys arrive outside of any extension; what they trigger belongs to the one that opened the dialog.
  #inExtension = AsyncLocalStorage.snapshot();

  constructor(factory, options, screen, resolve, reject) {
    this.#factory = factory;
    this.#options = options;
    this.#screen = screen;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#size = sizeOf(screen);
  }

  open() {
    const closed = () => this.#inExtension(() => this.#end(() => this.#resolve(undefined)));
    this.#screen.closed?.addEventListener("abort", closed, { once: true });
    this.#cleanups.push(() => this.#screen.closed?.removeEventListener("abort", closed));
    this.#subscribe(this.#screen.onInput, (data) => this.#inExtension(() => this.#input(data)));
    this.#subscribe(this.#screen.onResize, (size) => this.#inExtension(() => this.#resized(size)));
    const done = (value) => this.#end(() => this.#resolve(value));
    // Inside an async function, so that a throw of the factory and its rejection are one case.
    (async () => this.#factory(this.#tui, theme, getKeybindings(), done))().then(
      (component) => this.#guard(() => this.#mount(checkedComponent(component))),
      (error) => this.#fail(error),
    );
  }

  #subscribe(register, callback) {
    const unsubscribe = register?.call(this.#screen, callback);
    if (typeof unsubscribe === "function") this.#cleanups.push(unsubscribe);
  }

  #mount(component) {
    this.#component = component;
    if (this.#ended) {
      this.#dispose();
      return;
    }
    if (this.#options.overlay) {
      const given = this.#options.overlayOptions;
      const wanted = typeof given === "function" ? given() : given;
      const overlayOptions = wanted ?? (component.width ? { width: component.width } : undefined);
      const handle = this.#tui.showOverlay(component, overlayOptions);
      this.#options.onHandle?.(handle);
    } else {
      this.#tui.addChild(component);
      this.#tui.setFocus(component);
    }
    this.#clock.request();
  }

  #draw() {
    if (this.#ended || !this.#component) return;
    this.#guard(() => {
      const { lines, cursor, overlay } = this.#tui.frame();
      const shown = cleaned(lines, overlay?.width ?? this.#size.columns, this.#screen.styled);
      const frame = JSON.stringify([shown, cursor, overlay]);
      if (frame === this.#shown) return;
      this.#shown = frame;
      this.#screen.show(shown, { ...(overlay ? { overlay } : {}), ...(cursor ? { cursor } : {}) });
    });
  }

  #input(data) {
    if (this.#ended || !this.#component) return;
    this.#guard(() => {
      for (const pending of this.#tui.input(String(data))) pending.then(undefined, (error) => this.#fail(error));
    });
  }

  #resized(size) {
    if (this.#ended) return;
    this.#size = sizeOf(size ?? this.#screen);
    this.#guard(() => this.#tui.invalidate());
    this.#clock.request();
  }

  #guard(action) {
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error) {
    this.#end(() => this.#reject(error));
  }

  #end(settle) {
    if (this.#ended) return;
    this.#ended = true;
    this.#clock.stop();
    for (const cleanup of this.#cleanups) cleanup();
    settle();
    this.#dispose();
  }

  // What was asked for is answered by now, so a failure here changes nothing.
  #dispose() {
    try {
      this.#component?.dispose?.();
    } catch {}
  }
}

/**
 * Makes the component of `factory(tui, theme, ...others)` for a widget. Returns `{lines(), dispose()}`:
 * `lines()` renders, `onChange` is called when the component asks for it. A component that throws is
 * replaced by one line that says so.
 *
 * `columns` is a number, a size `{columns, rows}`, or a function that returns either.
 */
export function renderWidget(factory, columns, onChange, others = []) {
  const size = () => {
    const given = typeof columns === "function" ? columns() : columns;
    return sizeOf(typeof given === "number" ? { columns: given } : given);
  };
  const clock = new FrameClock(() => onChange?.());
  const tui = new ScreenTui(size, () => clock.request());
  let failure;
  let component;
  const dispose = () => {
    clock.stop();
    try {
      component?.dispose?.();
    } catch {}
    component = undefined;
  };
  const fail = (error) => {
    failure = `[widget failed: ${error?.message ?? error}]`;
    dispose();
  };
  try {
    component = checkedComponent(factory(tui, theme, ...others));
    tui.addChild(component);
  } catch (error) {
    fail(error);
  }
  const lines = () => {
    const { columns: width } = size();
    if (component && !failure) {
      try {
        return cleaned(tui.frame().lines, width, false);
      } catch (error) {
        fail(error);
      }
    }
    return failure ? cleaned([failure], width, false) : [];
  };
  return { lines, dispose };
}
