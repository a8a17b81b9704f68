/** The last lines that a process wrote to stderr. */
import { LineSplitter } from "./lines.js";
const LINES = 50;
const LINE_LENGTH = 2_000;
const READ_LIMIT = 1024 * 1024;
export class Tail {
    #lines = [];
    #splitter;
    #listener;
    /** `listener` is called for each line, at most its first 2,000 characters. */
    constructor(listener) {
        this.#listener = listener;
        this.#splitter = new LineSplitter(READ_LIMIT, () => this.#add(`(a line of more than ${READ_LIMIT} bytes)`));
    }
    push(bytes) {
        for (const line of this.#splitter.push(bytes))
            this.#add(line);
    }
    /** Adds what was written after the last line end. */
    finish() {
        const rest = this.#splitter.rest();
        if (rest !== "")
            this.#add(rest);
    }
    text() {
        return this.#lines.join("\n");
    }
    #add(line) {
        const short = line.slice(0, LINE_LENGTH).trimEnd();
        this.#lines.push(short);
        if (this.#lines.length > LINES)
            this.#lines.shift();
        this.#listener(short);
    }
}
