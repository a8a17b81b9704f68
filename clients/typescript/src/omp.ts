/**
 * A client with the methods of omp's `RpcClient`, for programs that were written for `omp --mode rpc`.
 *
 * ```js
 * import { RpcClient } from "bowline-agent/omp";
 *
 * const client = new RpcClient({ provider: "anthropic", model: "claude-sonnet-5" });
 * await client.start();
 * const events = await client.promptAndWait("Why does the build fail?");
 * await client.stop();
 * ```
 *
 * It speaks bowline's dialect `omp`. Where omp's own client waits for ever, or too short, this one does not: a run ends with
 * the last `agent_end`, a prompt that fails late rejects whoever waits for its run, `compact` and `bash` may take as long
 * as they take, and the end of the process rejects everything at once.
 *
 * @module
 */
import process from "node:process";
import { Calls } from "./calls.js";
import { type RawRecord, Connection } from "./connection.js";
import { Dialogs, type UiHandlers } from "./dialogs.js";
import { BowlineError, Closed, CommandFailed, ProcessDied, messageOf } from "./errors.js";
import { locate } from "./locate.js";
import type { ErrorCode } from "./protocol.js";
import type {
  CommandData,
  CommandMap,
  CommandName,
  EventMap,
  ImageInput,
  Message,
  Model,
  QueueMode,
  ThinkingLevel,
} from "./omp_protocol.js";
import { OmpActivity } from "./omp_activity.js";
import { DEFAULT_TIMEOUT, FOREVER, TIMEOUTS } from "./timeouts.js";

export type * from "./omp_protocol.js";

/** The events that listeners of omp's client get. */
const EVENTS = [
  "agent_start",
  "agent_end",
  "turn_start",
  "turn_end",
  "message_start",
  "message_update",
  "message_end",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end",
  "auto_compaction_start",
  "auto_compaction_end",
  "auto_retry_start",
  "auto_retry_end",
  "ttsr_triggered",
  "todo_reminder",
] as const;

export type AgentEvent = EventMap[(typeof EVENTS)[number]];
/** The data of the response to a command. */
type Data<Name extends CommandName> = CommandData[Name];

export interface RpcClientOptions {
  /** The program to start instead of the bowline of this system. It gets `--dialect omp`. */
  cliPath?: string;
  cwd?: string;
  /** Is added to the environment of this process. */
  env?: Record<string, string>;
  provider?: string;
  model?: string;
  /** Where sessions are kept. */
  sessionDir?: string;
  /** Further flags. */
  args?: string[];
  /** What to do with what extensions ask and show; without functions, dialogs are closed at once. */
  ui?: UiHandlers;
  /** How long `stop()` waits before it kills the process; 10,000 milliseconds if absent. */
  terminationGraceMs?: number;
}

const START_TIMEOUT = 30_000;
const RUN_TIMEOUT = 60_000;
const RECORD_LIMIT = 256 * 1024 * 1024;
const LINE_LIMIT = 64 * 1024 * 1024;

export class RpcClient {
  readonly #options: RpcClientOptions;
  readonly #calls = new Calls(() => {}, "req_");
  readonly #activity = new OmpActivity();
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  readonly #recordListeners = new Set<(record: RawRecord) => void>();
  readonly #dialogs: Dialogs;
  #connection: Connection | undefined;
  #ready: (() => void) | undefined;
  #isStopping = false;
  #over: Error | undefined;

  constructor(options: RpcClientOptions = {}) {
    this.#options = options;
    this.#dialogs = new Dialogs(
      options.ui ?? {},
      (record) => this.#connection?.send(record),
      warn,
    );
  }

  /** Starts bowline, and waits until it is ready. */
  async start(): Promise<void> {
    if (this.#connection !== undefined) throw new BowlineError("the client is started already");
    const { cwd, env, terminationGraceMs } = this.#options;
    const environment = { ...process.env, ...env };
    const ready = new Promise<void>((resolve) => (this.#ready = resolve));
    this.#connection = await Connection.start({
      binary: locate(this.#options.cliPath, environment),
      args: this.#arguments(),
      cwd,
      env: environment,
      maxLineBytes: LINE_LIMIT,
      maxRecordBytes: RECORD_LIMIT,
      record: (record) => this.#accept(record),
      garbage: ({ line, reason }) => warn(`bowline wrote something that is no record: ${reason}: ${line}`),
      stderr: () => {},
      end: (end) => this.#fail(this.#isStopping ? new Closed() : new ProcessDied(end)),
    });
    const ended = this.#connection.ended.then((end) => Promise.reject(new ProcessDied(end)));
    ended.catch(() => {});
    try {
      await within(Promise.race([ready, ended]), START_TIMEOUT, "bowline was started and is not ready");
    } catch (error) {
      await this.#connection.close(terminationGraceMs ?? 0);
      throw error;
    }
  }

  /** Ends bowline: it stops what is in progress and exits. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#connection?.close(this.#options.terminationGraceMs ?? 10_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Calls a function for each event of the session. Returns a function that ends that. */
  onEvent(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls a function for each record that is not a response, such as `command_output` or `host_tool_call`. */
  onRecord(listener: (record: RawRecord) => void): () => void {
    this.#recordListeners.add(listener);
    return () => void this.#recordListeners.delete(listener);
  }

  /** Sends a record that has no response, such as `host_tool_result`. */
  send(record: RawRecord): void {
    this.#connection?.send(record);
  }

  /** The last lines that bowline wrote to stderr. */
  getStderr(): string {
    return this.#connection?.stderr ?? "";
  }

  async prompt(message: string, images?: ImageInput[]): Promise<void> {
    await this.command("prompt", { message, images });
  }

  async steer(message: string, images?: ImageInput[]): Promise<void> {
    await this.command("steer", { message, images });
  }

  async followUp(message: string, images?: ImageInput[]): Promise<void> {
    await this.command("follow_up", { message, images });
  }

  async abort(): Promise<void> {
    await this.command("abort", {});
  }

  async abortAndPrompt(message: string, images?: ImageInput[]): Promise<void> {
    await this.command("abort_and_prompt", { message, images });
  }

  newSession(parentSession?: string): Promise<Data<"new_session">> {
    return this.command("new_session", { parentSession });
  }

  getState(): Promise<Data<"get_state">> {
    return this.command("get_state", {});
  }

  setModel(provider: string, modelId: string): Promise<Data<"set_model">> {
    return this.command("set_model", { provider, modelId });
  }

  cycleModel(): Promise<Data<"cycle_model">> {
    return this.command("cycle_model", {});
  }

  async getAvailableModels(): Promise<Model[]> {
    return (await this.command("get_available_models", {})).models;
  }

  async setThinkingLevel(level: ThinkingLevel): Promise<void> {
    await this.command("set_thinking_level", { level });
  }

  cycleThinkingLevel(): Promise<Data<"cycle_thinking_level">> {
    return this.command("cycle_thinking_level", {});
  }

  async setSteeringMode(mode: QueueMode): Promise<void> {
    await this.command("set_steering_mode", { mode });
  }

  async setFollowUpMode(mode: QueueMode): Promise<void> {
    await this.command("set_follow_up_mode", { mode });
  }

  async setInterruptMode(mode: CommandMap["set_interrupt_mode"]["mode"]): Promise<void> {
    await this.command("set_interrupt_mode", { mode });
  }

  compact(customInstructions?: string): Promise<Data<"compact">> {
    return this.command("compact", { customInstructions });
  }

  async setAutoCompaction(enabled: boolean): Promise<void> {
    await this.command("set_auto_compaction", { enabled });
  }

  async setAutoRetry(enabled: boolean): Promise<void> {
    await this.command("set_auto_retry", { enabled });
  }

  async abortRetry(): Promise<void> {
    await this.command("abort_retry", {});
  }

  bash(command: string): Promise<Data<"bash">> {
    return this.command("bash", { command });
  }

  async abortBash(): Promise<void> {
    await this.command("abort_bash", {});
  }

  getSessionStats(): Promise<Data<"get_session_stats">> {
    return this.command("get_session_stats", {});
  }

  exportHtml(outputPath?: string): Promise<Data<"export_html">> {
    return this.command("export_html", { outputPath });
  }

  switchSession(sessionPath: string): Promise<Data<"switch_session">> {
    return this.command("switch_session", { sessionPath });
  }

  branch(entryId: string): Promise<Data<"branch">> {
    return this.command("branch", { entryId });
  }

  async getBranchMessages(): Promise<Data<"get_branch_messages">["messages"]> {
    return (await this.command("get_branch_messages", {})).messages;
  }

  async getLastAssistantText(): Promise<string | null> {
    return (await this.command("get_last_assistant_text", {})).text;
  }

  async setSessionName(name: string): Promise<void> {
    await this.command("set_session_name", { name });
  }

  async getMessages(): Promise<Message[]> {
    return (await this.command("get_messages", {})).messages;
  }

  /** Waits until no run is in progress. Fails if a prompt fails after it was acknowledged, and after the time. */
  waitForIdle(timeout = RUN_TIMEOUT): Promise<void> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    return within(this.#activity.idle(), timeout, "the run has not ended");
  }

  /** Waits until no run is in progress, and returns the events up to then. */
  async collectEvents(timeout = RUN_TIMEOUT): Promise<AgentEvent[]> {
    const events: AgentEvent[] = [];
    const remove = this.onEvent((event) => events.push(event));
    try {
      await this.waitForIdle(timeout);
    } finally {
      remove();
    }
    return events;
  }

  /** Sends a prompt, waits for the end of its run, and returns its events. */
  async promptAndWait(message: string, images?: ImageInput[], timeout = RUN_TIMEOUT): Promise<AgentEvent[]> {
    const events: AgentEvent[] = [];
    const remove = this.onEvent((event) => events.push(event));
    try {
      await this.prompt(message, images);
      await this.waitForIdle(timeout);
    } finally {
      remove();
    }
    return events;
  }

  /** Sends any command of the dialect, and returns the data of its response. */
  command<Name extends CommandName>(command: Name, fields: Omit<CommandMap[Name], "id" | "type">): Promise<Data<Name>> {
    const connection = this.#connection;
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (connection === undefined) return Promise.reject(new BowlineError("the client is not started; call start()"));
    const times: Partial<Record<string, number>> = { ...TIMEOUTS, abort_and_prompt: TIMEOUTS.abort, branch: TIMEOUTS.fork, login: FOREVER };
    const timeoutMs = times[command] ?? DEFAULT_TIMEOUT;
    const accepted = (data: unknown) => this.#activity.accepted(command, data);
    const request = { command, fields, timeoutMs, accepted };
    return this.#calls.send(request, (record) => connection.send(record)) as Promise<Data<Name>>;
  }

  #arguments(): string[] {
    const { provider, model, sessionDir, args = [] } = this.#options;
    return [
      ...["--mode", "rpc", "--dialect", "omp"],
      ...(provider === undefined ? [] : ["--provider", provider]),
      ...(model === undefined ? [] : ["--model", model]),
      ...(sessionDir === undefined ? [] : ["--session-dir", sessionDir]),
      ...args,
    ];
  }

  #accept(record: RawRecord): void {
    if (record.type === "response") {
      if (!this.#calls.settle(record) && record["success"] === false) this.#lateFailure(record);
      return;
    }
    if (record.type === "ready") this.#ready?.();
    if (record.type === "extension_ui_request") this.#dialogs.request(record as never);
    for (const listener of [...this.#recordListeners]) call(listener, record);
    if ((EVENTS as readonly string[]).includes(record.type)) {
      for (const listener of [...this.#listeners]) call(listener, record as unknown as AgentEvent);
    }
    // Last, so that whoever waits for the end of a run has its last event.
    this.#activity.observe(record);
  }

  /** A prompt is acknowledged before it is checked; what is wrong with it comes as a second response. */
  #lateFailure(record: RawRecord): void {
    if (!this.#calls.isOurs(record["id"])) return;
    const error = new CommandFailed(String(record["command"]), String(record["error"]), record["code"] as ErrorCode);
    this.#activity.failed(error);
  }

  #fail(error: Error): void {
    this.#over = error;
    this.#calls.fail(error);
    this.#activity.end(error);
    this.#dialogs.closeAll();
  }
}

async function within<T>(promise: Promise<T>, milliseconds: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BowlineError(`${what} after ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function warn(problem: unknown): void {
  process.emitWarning(problem instanceof Error ? problem : messageOf(problem), { code: "BOWLINE_CLIENT" });
}

function call<Argument>(listener: (argument: Argument) => void, argument: Argument): void {
  try {
    listener(argument);
  } catch (error) {
    warn(error);
  }
}
