/** The commands that were sent and have no response yet. */
import type { RawRecord } from "./connection.js";
import { CommandFailed, CommandTimedOut } from "./errors.js";
import type { ErrorCode } from "./protocol.js";

/** How long to wait for a command. */
export interface CallOptions {
  /** Rejects after this many milliseconds; 0 waits as long as it takes. By default the time depends on the command. */
  timeoutMs?: number | undefined;
  /** Rejects with the signal's reason once it is aborted. Commands with work to stop are stopped, too. */
  signal?: AbortSignal | undefined;
}

interface Call {
  command: string;
  resolve(data: unknown): void;
  reject(error: unknown): void;
  /** Is called before anything that follows the response is read. */
  accepted: ((data: unknown) => void) | undefined;
  release(): void;
}

/** What to send and how to wait. */
export interface Request {
  command: string;
  fields: object;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Is called with the data of the response before anything that follows it is read. */
  accepted?: ((data: unknown) => void) | undefined;
  /** Is called when the signal is aborted while the command is under way. */
  cancelled?: (() => void) | undefined;
}

export class Calls {
  readonly #calls = new Map<string, Call>();
  readonly #prefix: string;
  readonly #changed: (waiting: 1 | -1) => void;
  #count = 0;

  /** `changed` is called whenever one more or one fewer response is awaited. */
  constructor(changed: (waiting: 1 | -1) => void, prefix = "c") {
    this.#changed = changed;
    this.#prefix = prefix;
  }

  /** Sends a command and waits for the data of its response. */
  send(request: Request, write: (record: object) => void): Promise<unknown> {
    const { command, fields, signal } = request;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      this.#count += 1;
      const id = `${this.#prefix}${this.#count}`;
      // The fields come first, so that none of them can replace the id or the type.
      const record = { ...fields, id, type: command };
      const call = this.#call(id, request, resolve, reject);
      try {
        write(record);
      } catch (error) {
        this.#drop(id, call);
        reject(error);
      }
    });
  }

  /** Takes a response. Returns whether somebody waited for it. */
  settle(record: RawRecord): boolean {
    const id = record["id"];
    const call = typeof id === "string" ? this.#calls.get(id) : undefined;
    if (call === undefined) return false;
    if (record["success"] === true) {
      const data = record["data"];
      call.accepted?.(data);
      this.#drop(id as string, call);
      call.resolve(data);
    } else {
      this.#drop(id as string, call);
      const text = typeof record["error"] === "string" ? record["error"] : "the command failed without a reason";
      call.reject(new CommandFailed(call.command, text, record["code"] as ErrorCode | undefined));
    }
    return true;
  }

  /** Whether a response is to one of these commands, perhaps one that nobody waits for any more. */
  isOurs(id: unknown): boolean {
    if (typeof id !== "string" || !id.startsWith(this.#prefix)) return false;
    const number = Number(id.slice(this.#prefix.length));
    return number >= 1 && number <= this.#count;
  }

  /** Rejects everything that is waited for. */
  fail(error: unknown): void {
    for (const [id, call] of [...this.#calls]) {
      this.#drop(id, call);
      call.reject(error);
    }
  }

  #call(id: string, request: Request, resolve: (data: unknown) => void, reject: (error: unknown) => void): Call {
    const { command, timeoutMs, signal } = request;
    const abandon = (error: unknown) => {
      this.#drop(id, call);
      reject(error);
    };
    const timer =
      timeoutMs > 0 && timeoutMs < 2 ** 31
        ? setTimeout(() => abandon(new CommandTimedOut(command, timeoutMs)), timeoutMs)
        : undefined;
    const onAbort = () => {
      abandon(signal?.reason);
      request.cancelled?.();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const release = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const call: Call = { command, resolve, reject, accepted: request.accepted, release };
    this.#calls.set(id, call);
    this.#changed(1);
    return call;
  }

  #drop(id: string, call: Call): void {
    if (!this.#calls.delete(id)) return;
    call.release();
    this.#changed(-1);
  }
}
