/** The errors of this client. Each is a `BowlineError`, and its message says what to do. */
import type { ErrorCode } from "./protocol.js";

export class BowlineError extends Error {
  override name = "BowlineError";
}

/** There is no program to start, or it cannot be started. */
export class BinaryNotFound extends BowlineError {
  override name = "BinaryNotFound";
}

/** bowline refused a command. `code` is stable, the message is for people. */
export class CommandFailed extends BowlineError {
  override name = "CommandFailed";
  readonly command: string;
  /** Absent only if the program is not bowline. */
  readonly code: ErrorCode | undefined;

  constructor(command: string, message: string, code: ErrorCode | undefined) {
    super(message);
    this.command = command;
    this.code = code;
  }
}

/** No response came in time. The command may still be carried out; its response will be ignored. */
export class CommandTimedOut extends BowlineError {
  override name = "CommandTimedOut";
  readonly command: string;
  readonly timeoutMs: number;

  constructor(command: string, timeoutMs: number) {
    super(
      `bowline did not answer "${command}" within ${timeoutMs} ms. It may still do so, but nobody waits any more; ` +
        `pass a larger timeoutMs, or 0 to wait as long as it takes`,
    );
    this.command = command;
    this.timeoutMs = timeoutMs;
  }
}

/** How a process ended. */
export interface ProcessEnd {
  /** Absent if a signal ended it. */
  readonly exitCode: number | undefined;
  /** Such as `SIGKILL`; absent if it exited by itself. */
  readonly signal: string | undefined;
  /** The last lines that it wrote to stderr. */
  readonly stderr: string;
}

/** The process ended while something was waited for. Everybody who waited gets this error. */
export class ProcessDied extends BowlineError {
  override name = "ProcessDied";
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** The last lines that it wrote to stderr. */
  readonly stderr: string;
  /** Why it could not start, in its own words; absent if it said nothing on stdout. */
  readonly reason: string | undefined;

  constructor(end: ProcessEnd, reason?: string) {
    const how = end.signal === undefined ? `ended with code ${end.exitCode ?? "unknown"}` : `was ended by ${end.signal}`;
    const why = reason ?? end.stderr.trimEnd();
    super(`bowline ${how}${why === "" ? " and wrote nothing to stderr" : `: ${why}`}`);
    this.exitCode = end.exitCode;
    this.signal = end.signal;
    this.stderr = end.stderr;
    this.reason = reason;
  }
}

/** The client was closed: by `close()`, or at the end of an `await using`. */
export class Closed extends BowlineError {
  override name = "Closed";

  constructor() {
    super("the client is closed; start another one");
  }
}

/** Returns what an exception says. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return String(error);
}
