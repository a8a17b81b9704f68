// The style that a run of escape sequences leaves active: needed wherever a line is broken or cut.

import { closeLink, openLink, parseLink, splitAtEscapes } from "./escapes.mjs";

const RESET = "\x1b[0m";

// SGR numbers that switch an attribute on, in the order in which they are written back.
const ATTRIBUTES = [1, 2, 3, 4, 5, 7, 8, 9];
const SWITCHED_OFF_BY = new Map([
  [21, [1]],
  [22, [1, 2]],
  [23, [3]],
  [24, [4]],
  [25, [5]],
  [27, [7]],
  [28, [8]],
  [29, [9]],
]);

/** Follows attributes, colours and links through a text. */
export class ActiveStyle {
  #attributes = new Set();
  #foreground = "";
  #background = "";
  #link;

  /** Takes one escape sequence into account. */
  apply(sequence) {
    const link = parseLink(sequence);
    if (link) {
      this.#link = link.address ? link : undefined;
      return;
    }
    const parameters = /^\x1b\[([\d;]*)m$/.exec(sequence)?.[1];
    if (parameters !== undefined) this.#applyNumbers(parameters.split(";"));
  }

  /** Takes all escape sequences of the text into account. */
  applyText(text) {
    if (!text.includes("\x1b")) return;
    for (const run of splitAtEscapes(text)) if (run.escape) this.apply(run.text);
  }

  #applyNumbers(numbers) {
    for (let index = 0; index < numbers.length; index += 1) {
      const number = Number(numbers[index] || "0");
      if (number === 38 || number === 48) {
        const length = numbers[index + 1] === "5" ? 3 : numbers[index + 1] === "2" ? 5 : 0;
        if (length > 0 && index + length <= numbers.length) {
          this.#setColour(number === 38, numbers.slice(index, index + length).join(";"));
          index += length - 1;
        }
      } else {
        this.#applyNumber(number);
      }
    }
  }

  #applyNumber(number) {
    if (number === 0) {
      this.#attributes.clear();
      this.#foreground = "";
      this.#background = "";
    } else if (ATTRIBUTES.includes(number)) {
      this.#attributes.add(number);
    } else if (SWITCHED_OFF_BY.has(number)) {
      for (const attribute of SWITCHED_OFF_BY.get(number)) this.#attributes.delete(attribute);
    } else if ((number >= 30 && number <= 37) || (number >= 90 && number <= 97)) {
      this.#setColour(true, String(number));
    } else if ((number >= 40 && number <= 47) || (number >= 100 && number <= 107)) {
      this.#setColour(false, String(number));
    } else if (number === 39) {
      this.#foreground = "";
    } else if (number === 49) {
      this.#background = "";
    }
  }

  #setColour(foreground, code) {
    if (foreground) this.#foreground = code;
    else this.#background = code;
  }

  /** Returns the sequences that bring the style back at the start of a line. */
  resume() {
    const codes = ATTRIBUTES.filter((attribute) => this.#attributes.has(attribute)).map(String);
    if (this.#foreground) codes.push(this.#foreground);
    if (this.#background) codes.push(this.#background);
    const style = codes.length > 0 ? `\x1b[${codes.join(";")}m` : "";
    return this.#link ? style + openLink(this.#link) : style;
  }

  /** Returns what has to be switched off at the end of a line: underline and links would run on into padding. */
  suspend() {
    return (this.#attributes.has(4) ? "\x1b[24m" : "") + (this.#link ? closeLink(this.#link) : "");
  }

  /** Returns the sequence that closes the open link, or an empty text. */
  closeLink() {
    return this.#link ? closeLink(this.#link) : "";
  }
}

/** The sequence that ends all attributes and colours. */
export const RESET_STYLE = RESET;
