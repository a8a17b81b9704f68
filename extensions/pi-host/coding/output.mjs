// The output of a command while it runs: its end in memory, all of it in a file once it is too much.

import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, truncateTail } from "./truncate.mjs";

/** What is kept in memory is cut to twice the limit, when it has grown to four times that. */
const KEPT = 2 * DEFAULT_MAX_BYTES;

export class CommandOutput {
  #prefix;
  #decoder = new TextDecoder();
  #chunks = [];
  #tail = "";
  #isTorn = false;
  #totalBytes = 0;
  #lineFeeds = 0;
  #lastLineBytes = 0;
  #file;
  #path;

  constructor(prefix) {
    this.#prefix = prefix;
  }

  /** Adds bytes. */
  add(data) {
    const bytes = Buffer.from(data);
    this.#chunks.push(bytes);
    this.#addText(this.#decoder.decode(bytes, { stream: true }));
    if (this.#isTooMuch) this.#keep();
  }

  /** Ends the output. Resolves when the file, if there is one, is written. */
  async end() {
    this.#addText(this.#decoder.decode());
    if (this.#isTooMuch) this.#keep();
    if (!this.#file) return;
    this.#file.end();
    await finished(this.#file);
  }

  get #totalLines() {
    return this.#lineFeeds + (this.#lastLineBytes > 0 ? 1 : 0);
  }

  get #isTooMuch() {
    return this.#totalBytes > DEFAULT_MAX_BYTES || this.#totalLines > DEFAULT_MAX_LINES;
  }

  /** Returns the number of bytes of the last line. */
  get lastLineBytes() {
    return this.#lastLineBytes;
  }

  #addText(text) {
    if (!text) return;
    const end = text.lastIndexOf("\n");
    this.#totalBytes += Buffer.byteLength(text);
    this.#lineFeeds += text.split("\n").length - 1;
    this.#lastLineBytes = (end < 0 ? this.#lastLineBytes : 0) + Buffer.byteLength(text.slice(end + 1));
    this.#tail += text;
    if (this.#tail.length > 2 * KEPT) {
      this.#isTorn = this.#tail.at(-KEPT - 1) !== "\n";
      this.#tail = this.#tail.slice(-KEPT);
    }
  }

  #keep() {
    this.#path ??= join(tmpdir(), `${this.#prefix}-${randomBytes(8).toString("hex")}.log`);
    this.#file ??= createWriteStream(this.#path);
    for (const chunk of this.#chunks) this.#file.write(chunk);
    this.#chunks = [];
  }

  /** Returns the end of the output so far, and where all of it is. */
  snapshot() {
    const begin = this.#isTorn ? this.#tail.indexOf("\n") + 1 : 0;
    const tail = truncateTail(this.#tail.slice(begin));
    const truncated = this.#isTooMuch;
    const byTotal = this.#totalBytes > DEFAULT_MAX_BYTES ? "bytes" : "lines";
    const truncation = {
      ...tail,
      truncated,
      truncatedBy: truncated ? (tail.truncatedBy ?? byTotal) : null,
      totalLines: this.#totalLines,
      totalBytes: this.#totalBytes,
    };
    return { content: tail.content, truncation, fullOutputPath: this.#path };
  }
}
