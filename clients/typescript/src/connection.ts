/** A child process that speaks JSON lines: starts it, reads and writes records, and knows how it ended. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import { BinaryNotFound, BowlineError, type ProcessEnd, messageOf } from "./errors.js";
import { LineSplitter } from "./lines.js";
import { Tail } from "./tail.js";

/** A record, before anything but its type is known. */
export interface RawRecord {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A line of stdout that is no record. */
export interface Garbage {
  /** The line, at most its first 500 characters. */
  readonly line: string;
  readonly reason: string;
}

/** What to start, and who is told what it does. */
export interface ConnectionOptions {
  readonly binary: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Record<string, string | undefined> | undefined;
  /** The most bytes of one record; longer ones are skipped and reported. */
  readonly maxRecordBytes: number;
  /** The most bytes that bowline reads as one line. */
  readonly maxLineBytes: number;
  /** Is called for each record, with the length of its line. */
  readonly record: (record: RawRecord, size: number) => void;
  readonly garbage: (garbage: Garbage) => void;
  readonly stderr: (line: string) => void;
  /** Is called once, after the last record. */
  readonly end: (end: ProcessEnd) => void;
}

/** How long stdout may stay open without a record after the process has ended: someone else may hold it. */
const ORPHAN_MS = 1_000;
/** How long to wait for the end of stderr after everything else is over. */
const STDERR_MS = 200;
/** How long a process may take to obey SIGTERM, or to end after it has closed its stdout. */
const TERMINATION_MS = 2_000;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: LineSplitter;
  readonly #stderr: Tail;
  readonly #ended: Promise<ProcessEnd>;
  #finish: (end: ProcessEnd) => void = () => {};
  #orphaned: NodeJS.Timeout | undefined;
  #exit: { exitCode: number | undefined; signal: string | undefined } | undefined;
  #isReading = true;
  #isStdoutOver = false;
  #isOver = false;
  #end: ProcessEnd | undefined;

  private constructor(options: ConnectionOptions, child: ChildProcessWithoutNullStreams) {
    this.#options = options;
    this.#child = child;
    this.#lines = new LineSplitter(options.maxRecordBytes, () => {
      options.garbage({ line: "", reason: `a record is longer than ${options.maxRecordBytes} bytes (maxRecordBytes)` });
    });
    this.#stderr = new Tail(options.stderr);
    this.#ended = new Promise((resolve) => (this.#finish = resolve));
    this.#listen();
  }

  /** Starts the process. Throws `BinaryNotFound` if that is not possible. */
  static async start(options: ConnectionOptions): Promise<Connection> {
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(options.binary, options.args, {
        cwd: options.cwd,
        env: options.env as NodeJS.ProcessEnv | undefined,
        stdio: ["pipe", "pipe", "pipe"],
        windowsHide: true,
      });
    } catch (error) {
      throw cannotStart(options, error);
    }
    const connection = new Connection(options, child);
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(cannotStart(options, error)));
    });
    return connection;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The last lines of stderr. */
  get stderr(): string {
    return this.#stderr.text();
  }

  /** How the process ended, once its output was read to the end. */
  get end(): ProcessEnd | undefined {
    return this.#end;
  }

  /** Resolves when the process has ended and its output was read to the end. */
  get ended(): Promise<ProcessEnd> {
    return this.#ended;
  }

  /** Writes a record. That the process has gone is reported by `end`. */
  send(record: object): void {
    const line = `${JSON.stringify(record)}\n`;
    const { maxLineBytes } = this.#options;
    // bowline cannot say which command a line that is too long was.
    if (line.length * 3 > maxLineBytes && Buffer.byteLength(line) > maxLineBytes) {
      throw new BowlineError(
        `the command is longer than ${maxLineBytes} bytes, which bowline does not read; start it with --line-limit to ` +
          `raise the limit`,
      );
    }
    this.#child.stdin.write(line);
  }

  /** Reads on, or leaves the output in the pipe, so that the process has to wait. */
  setReading(isReading: boolean): void {
    if (isReading === this.#isReading) return;
    this.#isReading = isReading;
    if (isReading) {
      this.#child.stdout.resume();
      this.#watchForOrphan();
    } else {
      this.#child.stdout.pause();
    }
  }

  /** Closes stdin, which ends the process; ends it with signals if it has not ended after `graceMs`. */
  async close(graceMs: number): Promise<ProcessEnd> {
    this.#child.stdin.end();
    this.setReading(true);
    const signals = ["SIGTERM", "SIGKILL"] as const;
    for (const [index, signal] of signals.entries()) {
      if (await this.#endsWithin(index === 0 ? graceMs : TERMINATION_MS)) break;
      this.#child.kill(signal);
    }
    return this.#ended;
  }

  /** Ends the process at once. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async #endsWithin(milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), milliseconds);
    });
    const isOver = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return isOver;
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#child;
    // Writing to a process that has ended fails; why it ended is known when stdout is over.
    stdin.on("error", () => {});
    stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    stdout.on("error", () => this.#stdoutOver());
    stdout.on("end", () => this.#stdoutOver());
    stdout.on("close", () => this.#stdoutOver());
    stderr.on("data", (bytes: Buffer) => this.#stderr.push(bytes));
    stderr.on("error", () => {});
    this.#child.on("error", () => {});
    this.#child.on("exit", (code, signal) => {
      this.#exit = { exitCode: code ?? undefined, signal: signal ?? undefined };
      this.#watchForOrphan();
      this.#endIfOver();
    });
  }

  #read(bytes: Uint8Array): void {
    for (const line of this.#lines.push(bytes)) this.#accept(line);
    this.#watchForOrphan();
  }

  #accept(line: string): void {
    if (line === "" || line === "\r") return;
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch (error) {
      this.#options.garbage({ line: line.slice(0, 500), reason: `a line is not JSON: ${messageOf(error)}` });
      return;
    }
    if (typeof record !== "object" || record === null || typeof (record as RawRecord).type !== "string") {
      this.#options.garbage({ line: line.slice(0, 500), reason: "a line is not an object with a type" });
      return;
    }
    this.#options.record(record as RawRecord, line.length);
  }

  /** A process that inherited stdout may keep it open long after the end of this one. */
  #watchForOrphan(): void {
    clearTimeout(this.#orphaned);
    if (this.#exit === undefined || this.#isStdoutOver || !this.#isReading) return;
    this.#orphaned = setTimeout(() => this.#child.stdout.destroy(), ORPHAN_MS);
  }

  #stdoutOver(): void {
    if (this.#isStdoutOver) return;
    this.#isStdoutOver = true;
    clearTimeout(this.#orphaned);
    const rest = this.#lines.rest();
    if (rest !== "") {
      this.#options.garbage({ line: rest.slice(0, 500), reason: "the output ends in the middle of a line" });
    }
    if (this.#exit === undefined) this.#leave();
    this.#endIfOver();
  }

  /** Ends a process that has closed its stdout, because nothing can come from it any more. */
  #leave(): void {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.kill(), TERMINATION_MS);
    this.#child.once("exit", () => clearTimeout(timer));
  }

  #endIfOver(): void {
    if (this.#isOver || !this.#isStdoutOver || this.#exit === undefined) return;
    this.#isOver = true;
    const { exitCode, signal } = this.#exit;
    const { stderr } = this.#child;
    const end = () => {
      clearTimeout(timer);
      stderr.off("close", end);
      stderr.destroy();
      this.#stderr.finish();
      const how = { exitCode, signal, stderr: this.#stderr.text() };
      this.#end = how;
      this.#options.end(how);
      this.#finish(how);
    };
    // Someone else may hold stderr, too.
    const timer = setTimeout(end, STDERR_MS);
    if (stderr.closed || stderr.destroyed) setImmediate(end);
    else stderr.once("close", end);
  }
}

function cannotStart(options: ConnectionOptions, error: unknown): BinaryNotFound {
  const where = options.cwd === undefined ? "" : ` in the folder ${options.cwd}`;
  return new BinaryNotFound(
    `${options.binary} cannot be started${where}: ${messageOf(error)}. Check that the folder exists and that the ` +
      `program can be run.`,
  );
}
