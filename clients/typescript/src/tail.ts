/** The last lines that a process wrote to stderr. */
import { LineSplitter } from "./lines.js";

const LINES = 50;
const LINE_LENGTH = 2_000;
const READ_LIMIT = 1024 * 1024;

export class Tail {
  readonly #lines: string[] = [];
  readonly #splitter: LineSplitter;
  readonly #listener: (line: string) => void;

  /** `listener` is called for each line, at most its first 2,000 characters. */
  constructor(listener: (line: string) => void) {
    this.#listener = listener;
    this.#splitter = new LineSplitter(READ_LIMIT, () => this.#add(`(a line of more than ${READ_LIMIT} bytes)`));
  }

  push(bytes: Uint8Array): void {
    for (const line of this.#splitter.push(bytes)) this.#add(line);
  }

  /** Adds what was written after the last line end. */
  finish(): void {
    const rest = this.#splitter.rest();
    if (rest !== "") this.#add(rest);
  }

  text(): string {
    return this.#lines.join("\n");
  }

  #add(line: string): void {
    const short = line.slice(0, LINE_LENGTH).trimEnd();
    this.#lines.push(short);
    if (this.#lines.length > LINES) this.#lines.shift();
    this.#listener(short);
  }
}
