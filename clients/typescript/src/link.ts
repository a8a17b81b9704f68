/**
 * The connection of an agent with bowline: sends commands, and starts the process again when it dies, if that is wanted.
 * What comes back is dispatched by the agent.
 */
import { type CallOptions, Calls } from "./calls.js";
import { type Garbage, type RawRecord, Connection } from "./connection.js";
import { BowlineError, Closed, CommandTimedOut, ProcessDied, type ProcessEnd } from "./errors.js";
import type { Flow } from "./flow.js";
import { locate } from "./locate.js";
import { type AgentOptions, type Restart, type SessionChoice, argumentsFor, lineLimit } from "./options.js";
import type { CommandData, CommandName, Event, ProtocolInfo } from "./protocol.js";
import { Restarts } from "./restarts.js";
import { Resumption, changesState } from "./resumption.js";
import { CANCELLED_BY, DEFAULT_TIMEOUT, TIMEOUTS } from "./timeouts.js";

const MAX_RECORD_BYTES = 256 * 1024 * 1024;
const START_TIMEOUT = 30_000;

/** What a link tells the agent. */
export interface LinkOwner {
  event(event: Event, size: number): void;
  /** A command has succeeded. Is called before anything that follows the response is read. */
  accepted(name: CommandName, data: unknown): void;
  /** The process has ended. It is started again unless this is the end of everything. */
  lost(error: Error, isFinal: boolean): void;
  restarted(restart: Restart): void;
  garbage(garbage: Garbage): void;
  stderr(line: string): void;
}

/** Is called with the data of a response before anything that follows it is read. */
export type Accepted = (data: unknown) => void;

export class Link {
  readonly #options: AgentOptions;
  readonly #flow: Flow;
  readonly #owner: LinkOwner;
  readonly #calls: Calls;
  readonly #resumption = new Resumption();
  readonly #restarts: Restarts | undefined;
  #connection: Connection | undefined;
  #info: ProtocolInfo | undefined;
  /** Why the process could not start, in its own words. */
  #fatal: string | undefined;
  #isOpen = false;
  #isClosing = false;
  /** Is there while the process is started again. */
  #restarting: Promise<void> | undefined;
  /** Why nothing can be sent any more. */
  #over: Error | undefined;

  constructor(options: AgentOptions, flow: Flow, owner: LinkOwner) {
    this.#options = options;
    this.#flow = flow;
    this.#owner = owner;
    this.#calls = new Calls((change) => (change === 1 ? flow.beginWait() : flow.endWait()));
    if (options.restart) this.#restarts = new Restarts(options.restart === true ? {} : options.restart);
  }

  /** Starts the process. If that fails, nothing is left of it. */
  async open(): Promise<void> {
    try {
      await this.#start(this.#options.session ?? "new");
      if (this.#restarts !== undefined) await this.#noteState();
      this.#isOpen = true;
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  get info(): ProtocolInfo | undefined {
    return this.#info;
  }

  get pid(): number | undefined {
    return this.#connection?.pid;
  }

  get stderr(): string {
    return this.#connection?.stderr ?? "";
  }

  /** Why nothing can be sent any more; absent if something can. */
  get over(): Error | undefined {
    return this.#over;
  }

  setReading(isReading: boolean): void {
    this.#connection?.setReading(isReading);
  }

  /** Sends a command, and returns the data of its response. While the process is started again, it waits. */
  async command(name: CommandName, fields: object, options: CallOptions, accepted?: Accepted): Promise<unknown> {
    if (this.#restarting !== undefined) await this.#flow.during(untilRestarted(this.#restarting, name, options));
    const data = await this.#send(name, fields, options, accepted);
    if (this.#restarts !== undefined && changesState(name)) await this.#noteState();
    return data;
  }

  /** Sends a record that has no response. */
  answer(record: RawRecord): void {
    if (this.#over === undefined && !this.#isClosing) this.#connection?.send(record);
  }

  /** Ends the process, with signals if it has not ended after `graceMs`. */
  async close(graceMs: number): Promise<ProcessEnd | undefined> {
    this.#isClosing = true;
    this.#restarts?.stop();
    await this.#restarting?.catch(() => {});
    const connection = this.#connection;
    return connection === undefined ? undefined : this.#flow.during(connection.close(graceMs));
  }

  /** Ends the process at once. */
  kill(): void {
    this.#isClosing = true;
    this.#connection?.kill();
    this.#flow.beginWait();
  }

  async #start(session: SessionChoice): Promise<void> {
    const options = this.#options;
    const binary = locate(options.binary, options.env);
    const args = argumentsFor(options, session);
    this.#fatal = undefined;
    const connection: Connection = await Connection.start({
      binary,
      args,
      cwd: options.cwd,
      env: options.env,
      maxLineBytes: lineLimit(options.args),
      maxRecordBytes: options.maxRecordBytes ?? MAX_RECORD_BYTES,
      record: (record, size) => this.#accept(record, size),
      garbage: (garbage) => this.#owner.garbage(garbage),
      stderr: (line) => this.#owner.stderr(line),
      end: (end) => this.#ended(connection, end),
    });
    this.#connection = connection;
    connection.setReading(this.#flow.isReading);
    const info = await this.#firstAnswer(binary);
    if (info.dialect !== "pi") {
      throw new BowlineError(`${binary} speaks the dialect "${info.dialect}", and this client speaks "pi"`);
    }
    this.#info = info;
  }

  async #firstAnswer(binary: string): Promise<ProtocolInfo> {
    const timeoutMs = this.#options.startTimeoutMs ?? START_TIMEOUT;
    try {
      return (await this.#send("get_protocol_info", {}, { timeoutMs })) as ProtocolInfo;
    } catch (error) {
      if (!(error instanceof CommandTimedOut)) throw error;
      const said = this.stderr === "" ? "" : ` It wrote to stderr: ${this.stderr}`;
      throw new BowlineError(`${binary} was started and did not answer within ${timeoutMs} ms. Is it bowline?${said}`);
    }
  }

  async #noteState(): Promise<CommandData["get_state"]> {
    const state = (await this.#send("get_state", {}, {})) as CommandData["get_state"];
    this.#resumption.open(state);
    return state;
  }

  #send(name: CommandName, fields: object, options: CallOptions, accepted?: Accepted): Promise<unknown> {
    const connection = this.#connection;
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (connection === undefined || (this.#isClosing && this.#isOpen)) return Promise.reject(new Closed());
    // It may have died between two commands, when nobody waited.
    if (connection.end !== undefined) return Promise.reject(new ProcessDied(connection.end, this.#fatal));
    const cancel = CANCELLED_BY[name];
    const request = {
      command: name,
      fields,
      timeoutMs: options.timeoutMs ?? this.#options.timeouts?.[name] ?? TIMEOUTS[name] ?? DEFAULT_TIMEOUT,
      signal: options.signal,
      accepted: (data: unknown) => {
        this.#resumption.remember(name, fields);
        accepted?.(data);
        this.#owner.accepted(name, data);
      },
      cancelled: cancel && (() => void this.#send(cancel, {}, {}).catch(() => {})),
    };
    return this.#calls.send(request, (record) => connection.send(record));
  }

  #accept(record: RawRecord, size: number): void {
    if (record.type !== "response") {
      if (record.type === "error" && record["fatal"] === true) this.#fatal = String(record["error"]);
      // Extensions change the session, too.
      if (record.type === "agent_settled" && this.#restarts !== undefined) this.#noteState().catch(() => {});
      this.#owner.event(record as unknown as Event, size);
    } else if (!this.#calls.settle(record) && !this.#calls.isOurs(record["id"])) {
      const error = record["success"] === false ? `: ${String(record["error"])}` : "";
      this.#owner.garbage({ line: JSON.stringify(record).slice(0, 500), reason: `a response to no command${error}` });
    }
  }

  #ended(connection: Connection, end: ProcessEnd): void {
    if (connection !== this.#connection) return;
    const died = new ProcessDied(end, this.#fatal);
    if (this.#restarting !== undefined) {
      // The attempt fails, and perhaps there is another one.
      this.#calls.fail(died);
    } else if (this.#restarts === undefined || !this.#isOpen || this.#isClosing) {
      this.#finish(this.#isClosing && this.#isOpen ? new Closed() : died);
    } else {
      this.#restarting = this.#restart(this.#restarts, died).finally(() => (this.#restarting = undefined));
      this.#restarting.catch(() => {});
      this.#calls.fail(died);
      this.#owner.lost(died, false);
    }
  }

  #finish(error: Error): void {
    this.#over = error;
    this.#calls.fail(error);
    this.#owner.lost(error, true);
  }

  async #restart(restarts: Restarts, died: ProcessDied): Promise<void> {
    let last: unknown = died;
    while (await restarts.next()) {
      try {
        await this.#start(this.#resumption.session() ?? this.#options.session ?? "new");
        const state = (await this.#send("get_state", {}, {})) as CommandData["get_state"];
        for (const [name, fields] of this.#resumption.commands(state)) await this.#send(name, fields, {});
        this.#owner.restarted({ error: died, state: await this.#noteState() });
        return;
      } catch (error) {
        last = error;
        this.#connection?.kill();
      }
    }
    const error = this.#isClosing ? new Closed() : last instanceof Error ? last : died;
    this.#finish(error);
    throw error;
  }
}

/** Waits for the next process, at most as long as the caller wants to wait for the command. */
async function untilRestarted(restarting: Promise<void>, name: CommandName, options: CallOptions): Promise<void> {
  const { timeoutMs, signal } = options;
  signal?.throwIfAborted();
  let giveUp: () => void = () => {};
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    if (timeoutMs) timer = setTimeout(() => reject(new CommandTimedOut(name, timeoutMs)), timeoutMs);
  });
  try {
    await Promise.race([restarting, tooLong]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
