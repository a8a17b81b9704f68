// Signs that something is going on.

import { getKeybindings } from "./keybindings.mjs";
import { Text } from "./text.mjs";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL_MILLISECONDS = 80;

/** Shows a message beside a turning indicator. */
export class Loader extends Text {
  #ui;
  #spinnerColor;
  #messageColor;
  #message;
  #frames = FRAMES;
  #interval = INTERVAL_MILLISECONDS;
  #frame = 0;
  #verbatim = false;
  #timer;

  constructor(ui, spinnerColorFn, messageColorFn, message = "Loading...", indicator) {
    super("", 1, 0);
    this.#ui = ui;
    this.#spinnerColor = spinnerColorFn;
    this.#messageColor = messageColorFn;
    this.#message = message;
    this.setIndicator(indicator);
  }

  render(width) {
    return ["", ...super.render(width)];
  }

  start() {
    this.#update();
    this.stop();
    if (this.#frames.length < 2) return;
    this.#timer = setInterval(() => {
      this.#frame = (this.#frame + 1) % this.#frames.length;
      this.#update();
    }, this.#interval);
    // A forgotten loader must not keep the process alive.
    this.#timer.unref?.();
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  setMessage(message) {
    this.#message = message;
    this.#update();
  }

  /** Replaces the frames of the indicator; an empty list shows none. */
  setIndicator(indicator) {
    this.#verbatim = indicator !== undefined;
    this.#frames = indicator?.frames === undefined ? FRAMES : [...indicator.frames];
    this.#interval = indicator?.intervalMs > 0 ? indicator.intervalMs : INTERVAL_MILLISECONDS;
    this.#frame = 0;
    this.start();
  }

  invalidate() {
    super.invalidate();
    this.#update();
  }

  getRenderedIndicator() {
    const frame = this.#frames[this.#frame] ?? "";
    return this.#verbatim ? frame : this.#spinnerColor(frame);
  }

  #update() {
    const indicator = this.getRenderedIndicator();
    this.setText((indicator ? `${indicator} ` : "") + this.#messageColor(this.#message));
    this.#ui?.requestRender?.();
  }
}

/** A loader that the user can cancel; `signal` tells the work behind it. */
export class CancellableLoader extends Loader {
  #controller = new AbortController();
  onAbort;

  get signal() {
    return this.#controller.signal;
  }

  get aborted() {
    return this.#controller.signal.aborted;
  }

  handleInput(data) {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.#controller.abort();
    this.onAbort?.();
  }

  dispose() {
    this.stop();
  }
}
