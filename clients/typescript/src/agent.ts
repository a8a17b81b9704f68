/** An agent: a bowline process, and what a program does with it. */
import process from "node:process";
import type { CallOptions } from "./calls.js";
import { type FieldsOf, Commands } from "./commands.js";
import type { Garbage } from "./connection.js";
import { BowlineError, Closed, type ProcessEnd, messageOf } from "./errors.js";
import { Flow } from "./flow.js";
import { type ClientTool, described } from "./host_tools.js";
import { type UriSchemes, describedSchemes } from "./host_uris.js";
import type { FromSchema, JsonSchema } from "./json_schema.js";
import { Link } from "./link.js";
import { Listeners } from "./listeners.js";
import type { AgentOptions } from "./options.js";
import type {
  Accepted,
  ClientAnswer,
  CommandData,
  CommandName,
  Event,
  EventMap,
  EventName,
  PromptCommand,
  ProtocolInfo,
} from "./protocol.js";
import { changesSession } from "./resumption.js";
import { Run, type RunResult, RunFailed } from "./run.js";
import { RunLimit } from "./run_limit.js";
import { Services } from "./services.js";

const BUFFER_BYTES = 8 * 1024 * 1024;
const CLOSE_GRACE = 10_000;

/** What a run is started with, and when it is to end. */
export interface RunOptions<Schema extends JsonSchema = JsonSchema> extends Pick<PromptCommand, "images" | "attachments"> {
  /** The form of the answer: the run ends with a value that satisfies this schema, as `output`, or fails. */
  outputSchema?: Schema | undefined;
  /** How often the model is asked again if its output is wrong; 2 if absent. */
  outputRetries?: number | undefined;
  /** Aborts the run after this many milliseconds. */
  timeoutMs?: number | undefined;
  /** Aborts the run. It has a result all the same, with the outcome `aborted`. */
  signal?: AbortSignal | undefined;
}

interface Waiter {
  resolve: () => void;
  reject: (error: Error) => void;
}

export class Agent extends Commands {
  readonly #options: AgentOptions;
  readonly #flow: Flow;
  readonly #link: Link;
  readonly #listeners: Listeners;
  readonly #services: Services;
  #resolveEnded: (error: Error) => void = () => {};
  /** Resolves when nothing can be sent any more, with the reason: `Closed`, or how bowline died. Never rejects. */
  readonly ended: Promise<Error> = new Promise((resolve) => (this.#resolveEnded = resolve));
  #run: Run | undefined;
  #isBusy = false;
  #idleWaiters: Waiter[] = [];
  #garbageCount = 0;

  private constructor(options: AgentOptions) {
    super();
    this.#options = options;
    const report = (error: unknown) => this.#reportError(error);
    this.#listeners = new Listeners(report);
    this.#flow = new Flow(options.bufferBytes ?? BUFFER_BYTES, (isReading) => this.#link.setReading(isReading));
    this.#link = new Link(options, this.#flow, {
      event: (event, size) => this.#dispatch(event, size),
      accepted: (name, data) => this.#accepted(name, data),
      lost: (error, isFinal) => this.#lost(error, isFinal),
      restarted: (restart) => this.#guarded(() => options.onRestart?.(restart)),
      garbage: (garbage) => this.#reportGarbage(garbage),
      stderr: (line) => this.#guarded(() => options.onStderr?.(line)),
    });
    this.#services = new Services(
      options,
      (record) => this.#link.answer(record),
      (approvalId, decision, message) => {
        this.approvalResponse(approvalId, { decision, message }).catch((error: unknown) => {
          // Without bowline there is nobody to answer.
          if (this.#link.over === undefined) report(error);
        });
      },
      report,
    );
  }

  /** Starts bowline, and returns once it answers. */
  static async start(options: AgentOptions = {}): Promise<Agent> {
    const agent = new Agent(options);
    await agent.#link.open();
    try {
      if (options.tools !== undefined) await agent.setTools(options.tools);
      if (options.uris !== undefined) await agent.setUris(options.uris);
      if (options.approve !== undefined) await agent.setClientCapabilities({ approvals: "record" });
    } catch (error) {
      agent.#link.kill();
      throw error;
    }
    return agent;
  }

  /** The program and its version, its commands and its events. */
  get info(): ProtocolInfo {
    const { info } = this.#link;
    if (info === undefined) throw new BowlineError("the agent is not started");
    return info;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  /** The last lines that bowline wrote to stderr. */
  get stderr(): string {
    return this.#link.stderr;
  }

  /** How many lines of stdout were no records. */
  get garbageCount(): number {
    return this.#garbageCount;
  }

  /** Whether a run is in progress. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  override command<Name extends CommandName>(
    name: Name,
    fields: FieldsOf<Name>,
    options: CallOptions = {},
  ): Promise<CommandData[Name]> {
    return this.#link.command(name, fields, options) as Promise<CommandData[Name]>;
  }

  /** Answers a request that was taken from the events, such as a dialog with the option `ui: "manual"`. */
  answer(answer: ClientAnswer): void {
    this.#link.answer({ ...answer });
  }

  /** Starts a run. Fails with the code `busy` if one is in progress; use `steer` or `followUp` then. */
  async run<const Schema extends JsonSchema>(
    message: string,
    options: RunOptions<Schema> = {},
  ): Promise<Run<FromSchema<Schema>>> {
    const { timeoutMs, signal, ...fields } = options;
    signal?.throwIfAborted();
    if (fields.outputSchema !== undefined) this.#checkOutput();
    const limit = new RunLimit(timeoutMs, signal, () => this.abort());
    let run: Run<FromSchema<Schema>> | undefined;
    try {
      await this.#link.command("prompt", { message, ...fields }, {}, (data) => {
        const { disposition } = data as Accepted;
        run = new Run<FromSchema<Schema>>(disposition, this.#flow, limit);
        if (disposition === "started") this.#run = run;
      });
    } catch (error) {
      limit.release();
      throw error;
    }
    if (run === undefined) throw new BowlineError("bowline did not say what became of the prompt");
    return run;
  }

  /** Runs a prompt to its end. Throws `RunFailed` if the run fails; a run that is aborted has a result. */
  async promptAndWait<const Schema extends JsonSchema>(
    message: string,
    options: RunOptions<Schema> = {},
  ): Promise<RunResult<FromSchema<Schema>>> {
    const run = await this.run(message, options);
    const result = await run.result();
    if (result.outcome === "failed") throw new RunFailed(result);
    return result;
  }

  /** All events from now on, also those of runs. Leave the loop to end it. */
  events(): AsyncIterableIterator<Event, undefined> {
    const queue = this.#flow.subscribe();
    const { over } = this.#link;
    if (over !== undefined) queue.finish(over instanceof Closed ? undefined : over);
    return queue;
  }

  /** Calls a function for each event of a type, or of any with `*`. Returns a function that ends that. */
  on<Name extends EventName>(name: Name, listener: (event: EventMap[Name]) => void): () => void;
  on(name: "*", listener: (event: Event) => void): () => void;
  on(name: EventName | "*", listener: (event: never) => void): () => void {
    return this.#listeners.add(name, listener as (event: Event) => void);
  }

  /** Waits until no run is in progress. */
  async waitForIdle(): Promise<void> {
    if (this.#link.over !== undefined) throw this.#link.over;
    if (!this.#isBusy) return;
    const idle = new Promise<void>((resolve, reject) => this.#idleWaiters.push({ resolve, reject }));
    await this.#flow.during(idle);
  }

  /** Replaces the tools of this program. */
  async setTools(tools: readonly ClientTool[]): Promise<void> {
    const protocolTools = described(tools);
    // Before the response, because a run may call them at once.
    this.#services.tools.set(tools);
    await this.setHostTools(protocolTools);
  }

  /** Replaces the addresses that this program serves. */
  async setUris(schemes: UriSchemes): Promise<void> {
    this.#services.uris.set(schemes);
    await this.setHostUriSchemes(describedSchemes(schemes));
  }

  /**
   * Ends bowline: it aborts a run, writes its last events and exits. If it has not after `graceMs` (10 seconds), it is
   * killed. Events that were not taken can still be taken.
   */
  close(options: { graceMs?: number } = {}): Promise<ProcessEnd | undefined> {
    return this.#link.close(options.graceMs ?? CLOSE_GRACE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #checkOutput(): void {
    if (this.info.events.includes("output_checked")) return;
    throw new BowlineError(`bowline ${this.info.version} does not know outputSchema; install a later version`);
  }

  #accepted(name: CommandName, data: unknown): void {
    if (name === "prompt" && (data as Accepted).disposition === "started") this.#isBusy = true;
    if (changesSession(name)) this.#services.closeDialogs();
  }

  #dispatch(event: Event, size: number): void {
    if (event.type === "agent_start") this.#isBusy = true;
    // Consumers come first: a handler may start the next run.
    this.#flow.push(event, size);
    const run = this.#run;
    if (event.type === "agent_settled") {
      this.#run = undefined;
      this.#isBusy = false;
      for (const waiter of this.#idleWaiters.splice(0)) waiter.resolve();
    }
    run?.observe(event);
    this.#services.handle(event);
    this.#listeners.emit(event);
  }

  #lost(error: Error, isFinal: boolean): void {
    this.#run?.fail(error);
    this.#run = undefined;
    this.#isBusy = false;
    this.#services.cancelAll();
    for (const waiter of this.#idleWaiters.splice(0)) waiter.reject(error);
    if (!isFinal) return;
    this.#flow.finish(error instanceof Closed ? undefined : error);
    this.#resolveEnded(error);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#reportError(error);
    }
  }

  #reportError(error: unknown): void {
    if (this.#options.onError !== undefined) this.#options.onError(error);
    else process.emitWarning(error instanceof Error ? error : messageOf(error), { code: "BOWLINE_HANDLER" });
  }

  #reportGarbage(garbage: Garbage): void {
    this.#garbageCount += 1;
    const { onGarbage } = this.#options;
    if (onGarbage !== undefined) this.#guarded(() => onGarbage(garbage));
    else if (this.#garbageCount === 1) {
      process.emitWarning(`bowline wrote something that is no record: ${garbage.reason}: ${garbage.line}`, {
        code: "BOWLINE_GARBAGE",
        detail: 'Further lines are counted in garbageCount; the option "onGarbage" gets all of them.',
      });
    }
  }
}
