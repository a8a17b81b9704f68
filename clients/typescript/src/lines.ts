/**
 * Splits a stream of bytes into lines, at LF only: U+2028 and U+2029 are ordinary characters of JSON.
 *
 * Each byte is searched and copied a constant number of times, however long a line is and in however many pieces it comes.
 */
import { Buffer } from "node:buffer";

const LF = 0x0a;

export class LineSplitter {
  /** The pieces of the last line, which is not complete yet. */
  #pieces: Uint8Array[] = [];
  #length = 0;
  #isSkipping = false;
  readonly #limit: number;
  readonly #tooLong: () => void;

  /** A line of more than `limit` bytes is dropped, and `tooLong` is called once for it. */
  constructor(limit: number, tooLong: () => void) {
    this.#limit = limit;
    this.#tooLong = tooLong;
  }

  /** Returns the lines that end in these bytes, without their LF. */
  push(bytes: Uint8Array): string[] {
    const first = bytes.indexOf(LF);
    if (first === -1) {
      this.#keep(bytes);
      return [];
    }
    const last = bytes.lastIndexOf(LF);
    this.#keep(bytes.subarray(0, first));
    // No character but LF has the byte of LF, so the lines in the middle are decoded together.
    const lines = last > first ? decode(bytes.subarray(first + 1, last)).split("\n") : [];
    const start = this.#take();
    if (!this.#isSkipping) lines.unshift(decode(start));
    this.#isSkipping = false;
    this.#keep(bytes.subarray(last + 1));
    return lines;
  }

  /** Returns the last line if it has no LF, and forgets it. */
  rest(): string {
    return decode(this.#take());
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0 || this.#isSkipping) return;
    this.#length += piece.length;
    this.#pieces.push(piece);
    if (this.#length <= this.#limit) return;
    this.#pieces = [];
    this.#length = 0;
    this.#isSkipping = true;
    this.#tooLong();
  }

  #take(): Uint8Array {
    const [only] = this.#pieces;
    const whole = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return whole;
  }
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
