// The lines of a component, kept while neither its text nor the width changes.

/** Lines that were rendered. */
export class KeptLines {
  #text;
  #width;
  #lines;

  forget() {
    this.#lines = undefined;
  }

  /** Returns the lines for a text and a width. `render` makes them if they are others than the last time. */
  of(text, width, render) {
    if (!this.#lines || this.#text !== text || this.#width !== width) {
      this.#lines = render();
      this.#text = text;
      this.#width = width;
    }
    return this.#lines;
  }
}
