// Text, cut text and empty lines.

import { truncateToWidth } from "./cut.mjs";
import { KeptLines } from "./kept_lines.mjs";
import { visibleWidth } from "./width.mjs";
import { wrapTextWithAnsi } from "./wrap.mjs";

/** Returns the line filled up with spaces to the width, and its background. */
export function fillLine(line, width, background) {
  const filled = line + " ".repeat(Math.max(0, width - visibleWidth(line)));
  return background ? background(filled) : filled;
}

/** Shows text, wrapped, with space around it. */
export class Text {
  #rendered = new KeptLines();

  constructor(text = "", paddingX = 1, paddingY = 1, customBgFn) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.customBgFn = customBgFn;
  }

  setText(text) {
    this.text = text;
    this.#rendered.forget();
  }

  setCustomBgFn(customBgFn) {
    this.customBgFn = customBgFn;
    this.#rendered.forget();
  }

  invalidate() {
    this.#rendered.forget();
  }

  render(width) {
    return this.#rendered.of(this.text, width, () => this.#lines(width));
  }

  #lines(width) {
    if (!this.text || this.text.trim() === "") return [];
    // A narrow screen leaves at least one column for the text itself.
    const padding = Math.min(this.paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const margin = " ".repeat(padding);
    const wrapped = wrapTextWithAnsi(this.text.replaceAll("\t", "   "), Math.max(1, width - padding * 2));
    const around = Array(this.paddingY).fill("");
    return [...around, ...wrapped.map((line) => margin + line + margin), ...around].map((line) =>
      fillLine(line, width, this.customBgFn),
    );
  }
}

/** Shows the first line of a text, cut to the width. */
export class TruncatedText {
  constructor(text, paddingX = 0, paddingY = 0) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
  }

  invalidate() {}

  render(width) {
    const margin = " ".repeat(this.paddingX);
    const [first] = this.text.split("\n", 1);
    const shown = truncateToWidth(first, Math.max(1, width - this.paddingX * 2));
    const around = Array(this.paddingY).fill("");
    return [...around, margin + shown + margin, ...around].map((line) => fillLine(line, width));
  }
}

/** Shows empty lines. */
export class Spacer {
  constructor(lines = 1) {
    this.lines = lines;
  }

  setLines(lines) {
    this.lines = lines;
  }

  invalidate() {}

  render() {
    return Array(this.lines).fill("");
  }
}
