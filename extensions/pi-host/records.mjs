// The records on stdin and stdout: one JSON object per line. The streams are taken away from everything else in the process,
// so that nothing but records reaches stdout and nobody else reads stdin.

import fs from "node:fs";
import net from "node:net";

/** The longest line of the protocol, in bytes. */
const LONGEST_LINE = 64 * 1024 * 1024;

const LINE_FEED = 10;
const CHUNK = 64 * 1024;
/** How long a blocked read waits before it looks again, in milliseconds. */
const POLL_MS = 0.5;

// Kept from before anything can replace them.
const { readSync, writeSync } = fs;

const sleeper = new Int32Array(new SharedArrayBuffer(4));
const sleep = (milliseconds) => Atomics.wait(sleeper, 0, 0, milliseconds);

/**
 * Moves the streams of the protocol to other descriptors: descriptor 0 reads nothing then, and 1 is the log, if that can be
 * opened again. Returns the descriptors to use, and whether 1 is the log.
 */
export function claimStreams() {
  const opened = [];
  const folder = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  try {
    if (process.platform === "win32") throw new Error("there are no paths of descriptors");
    const open = (path, flags) => {
      const descriptor = fs.openSync(path, flags);
      opened.push(descriptor);
      return descriptor;
    };
    const input = open(`${folder}/0`, "r");
    const output = open(`${folder}/1`, "a");
    // Made certain before anything is closed.
    const log = canAppend(`${folder}/2`) ? `${folder}/2` : "/dev/null";
    fs.closeSync(fs.openSync("/dev/null", "r"));
    // The lowest free descriptor is used for the next file.
    fs.closeSync(0);
    fs.openSync("/dev/null", "r");
    fs.closeSync(1);
    fs.openSync(log, "a");
    return { input, output, isOutputLogged: log !== "/dev/null" };
  } catch {
    // Sockets cannot be opened again.
    for (const descriptor of opened) fs.closeSync(descriptor);
    return { input: 0, output: 1, isOutputLogged: false };
  }
}

function canAppend(path) {
  try {
    fs.closeSync(fs.openSync(path, "a"));
    return true;
  } catch {
    return false;
  }
}

/** Returns a value as JSON. What has no JSON (circles, big integers) becomes text or is left out. */
export function toJson(value) {
  try {
    return JSON.stringify(value);
  } catch {
    const above = [];
    return JSON.stringify(value, function (_key, member) {
      if (typeof member === "bigint") return String(member);
      if (typeof member !== "object" || member === null) return member;
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (above.includes(member)) return undefined;
      above.push(member);
      return member;
    });
  }
}

/** The records that are read and written. */
export class Records {
  #input;
  #output;
  #parts = [];
  #size = 0;
  #skipping = false;
  #queue = [];
  #onRecord = () => {};
  #onEnd = () => {};
  #onInvalid = () => {};
  #scheduled = false;
  #ended = false;

  constructor({ input, output }) {
    this.#input = input;
    this.#output = output;
  }

  /** Writes a record. Returns false if it is too long, which it is not written then. */
  send(record) {
    const line = Buffer.from(`${toJson(record)}\n`);
    if (line.length > LONGEST_LINE) return false;
    let written = 0;
    while (written < line.length) {
      try {
        written += writeSync(this.#output, line, written);
      } catch (error) {
        if (error.code !== "EAGAIN") {
          // Nobody reads any more.
          this.#end();
          return true;
        }
        sleep(POLL_MS);
      }
    }
    return true;
  }

  /** Begins to read: `onRecord` gets each record in order, `onInvalid` what is none, `onEnd` is called once at the end. */
  listen({ onRecord, onInvalid, onEnd }) {
    this.#onRecord = onRecord;
    this.#onInvalid = onInvalid;
    this.#onEnd = onEnd;
    const stream = process.versions.bun
      ? fs.createReadStream("", { fd: this.#input, autoClose: false, highWaterMark: CHUNK })
      : new net.Socket({ fd: this.#input, readable: true, writable: false });
    stream.on("data", (bytes) => {
      this.#take(bytes);
      this.#deliver();
    });
    stream.on("error", () => this.#end());
    stream.on("end", () => this.#end());
  }

  /**
   * Reads, without letting anything else run, until a record is accepted, and returns it. Other records come later in
   * their order. Returns undefined when the time is over or the input has ended.
   */
  readUntil(accept, milliseconds) {
    const deadline = Date.now() + milliseconds;
    const buffer = Buffer.allocUnsafe(CHUNK);
    let seen = 0;
    for (;;) {
      for (; seen < this.#queue.length; seen += 1) {
        if (!accept(this.#queue[seen])) continue;
        const [found] = this.#queue.splice(seen, 1);
        this.#schedule();
        return found;
      }
      if (this.#ended || Date.now() > deadline) break;
      try {
        const length = readSync(this.#input, buffer);
        if (length === 0) break;
        this.#take(Buffer.from(buffer.subarray(0, length)));
      } catch (error) {
        if (error.code !== "EAGAIN") break;
        sleep(POLL_MS);
      }
    }
    this.#schedule();
    return undefined;
  }

  #take(bytes) {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      this.#line(bytes.subarray(start, end));
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  #keep(part) {
    if (this.#skipping) return;
    this.#size += part.length;
    if (this.#size > LONGEST_LINE) {
      this.#skipping = true;
      this.#parts = [];
      this.#onInvalid(`a line is longer than ${LONGEST_LINE} bytes`);
      return;
    }
    this.#parts.push(part);
  }

  #line(last) {
    this.#keep(last);
    const parts = this.#parts;
    const skipped = this.#skipping;
    this.#parts = [];
    this.#size = 0;
    this.#skipping = false;
    if (skipped) return;
    const text = (parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString("utf8");
    if (text.trim() === "") return;
    let record;
    try {
      record = JSON.parse(text);
    } catch (error) {
      this.#onInvalid(`a line is not JSON: ${error.message}`);
      return;
    }
    if (typeof record === "object" && record !== null) this.#queue.push(record);
  }

  #schedule() {
    if (this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver() {
    while (this.#queue.length > 0) this.#onRecord(this.#queue.shift());
  }

  #end() {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
  }
}
