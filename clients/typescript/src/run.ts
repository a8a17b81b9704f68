/** A run: what bowline does with one prompt, until nothing of it follows. */
import type { EventQueue } from "./event_queue.js";
import { BowlineError } from "./errors.js";
import type { Flow } from "./flow.js";
import type { RunLimit } from "./run_limit.js";
import type { AssistantMessage, Disposition, ErrorKind, Event, EventMap, Message, Usage } from "./protocol.js";

/**
 * How a run ended. `handled`: an extension dealt with the prompt, and no model was asked. `queued`: the message is in the
 * queue of another run.
 */
export type Outcome = "completed" | "aborted" | "failed" | "handled" | "queued";

export interface RunResult<Output = unknown> {
  readonly outcome: Outcome;
  /** The text of the last answer that has any. */
  readonly text: string;
  /** The messages that the run added to the conversation, without answers that were retried. */
  readonly messages: readonly Message[];
  /** The tokens and the cost of all answers, including those that were retried. */
  readonly usage: Usage;
  /** The value that `outputSchema` asked for; absent unless the run is completed. */
  readonly output?: Output;
  /** Why the run failed, for people. */
  readonly error?: string;
  /** The same for programs; also `aborted`. */
  readonly errorKind?: ErrorKind;
  /** Whether the run was aborted because its `timeoutMs` was over. */
  readonly timedOut: boolean;
  /** The record that ended the run, with fields that this version does not know. Absent if no run was started. */
  readonly settled?: EventMap["agent_settled"];
}

/** A run failed. `kind` is stable, the message is for people. */
export class RunFailed extends BowlineError {
  override name = "RunFailed";
  readonly kind: ErrorKind | undefined;
  /** What there is of the run. */
  readonly result: RunResult;

  constructor(result: RunResult) {
    super(result.error ?? "the run failed");
    this.kind = result.errorKind;
    this.result = result;
  }
}

/**
 * The events of a run, from the first after the response to its prompt to `agent_settled`, for one consumer. Take them,
 * or call `result()`, or `discard()` them: what nobody takes holds up everything after a while.
 */
export class Run<Output = unknown> implements AsyncIterable<Event> {
  /** What became of the prompt. */
  readonly disposition: Disposition;
  readonly #queue: EventQueue;
  readonly #flow: Flow;
  readonly #result: Promise<RunResult<Output>>;
  readonly #messages: { entryId: string | undefined; message: Message }[] = [];
  readonly #usage = noUsage();
  #resolve: (result: RunResult) => void = () => {};
  #reject: (error: Error) => void = () => {};
  readonly #limit: RunLimit;
  #isTaken = false;

  /** @internal */
  constructor(disposition: Disposition, flow: Flow, limit: RunLimit) {
    this.disposition = disposition;
    this.#flow = flow;
    this.#limit = limit;
    limit.onFailure((error) => this.fail(error));
    this.#queue = flow.subscribe();
    this.#result = new Promise((resolve, reject) => {
      // bowline has checked that the output satisfies its schema.
      this.#resolve = (result) => resolve(result as RunResult<Output>);
      this.#reject = reject;
    });
    // Whoever wants to know of a failure calls result() or iterates.
    this.#result.catch(() => {});
    if (disposition !== "started") this.#end(disposition === "handled" ? "handled" : "queued", undefined);
  }

  /** The events. They can be taken once. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Event, undefined> {
    if (this.#isTaken) {
      throw new BowlineError(
        "the events of a run can be taken once, and not after result() or discard(); use agent.events() for more consumers",
      );
    }
    this.#isTaken = true;
    return this.#queue;
  }

  /** The text of the answers, piece by piece as it comes, with an empty line between two answers. */
  async *text(): AsyncGenerator<string, void, undefined> {
    let isFirst = true;
    for await (const event of this) {
      if (event.type !== "message_update") continue;
      const step = event.assistantMessageEvent;
      if (step.type === "text_start" && !isFirst) yield "\n\n";
      if (step.type === "text_delta") {
        isFirst = false;
        yield step.delta;
      }
    }
  }

  /** Waits for the end of the run. Failed and aborted runs have a result, too; rejects only if the process ends first. */
  async result(): Promise<RunResult<Output>> {
    // Without a consumer, keeping events would only fill the memory.
    if (!this.#isTaken) this.discard();
    return this.#flow.during(this.#result);
  }

  /** Says that nobody is going to take the events. The run goes on. */
  discard(): void {
    this.#isTaken = true;
    void this.#queue.return();
  }

  /** @internal Takes note of an event, after the queue has got it. */
  observe(event: Event): void {
    if (event.type === "message_end") {
      this.#messages.push({ entryId: event.entryId, message: event.message });
      if (event.message.role === "assistant") addUsage(this.#usage, event.message.usage);
    } else if (event.type === "entry_appended") {
      this.#edit(event.entry);
    } else if (event.type === "agent_settled") {
      this.#end(event.aborted ? "aborted" : event.error === undefined ? "completed" : "failed", event);
    }
  }

  /** @internal There will be no end of the run. */
  fail(error: Error): void {
    this.#limit.release();
    this.#reject(error);
    this.#queue.finish(error);
  }

  /** An answer that is retried is removed from the conversation. */
  #edit(entry: EventMap["entry_appended"]["entry"]): void {
    const { type, targetId, replacement } = entry as { type: unknown; targetId?: unknown; replacement?: unknown };
    if (type !== "context_edit" || replacement !== null) return;
    const index = this.#messages.findIndex(({ entryId }) => entryId !== undefined && entryId === targetId);
    if (index !== -1) this.#messages.splice(index, 1);
  }

  #end(outcome: Outcome, settled: EventMap["agent_settled"] | undefined): void {
    this.#limit.release();
    const messages = this.#messages.map(({ message }) => message);
    this.#resolve({
      outcome,
      text: lastText(messages),
      messages,
      usage: this.#usage,
      timedOut: outcome === "aborted" && this.#limit.isTimeOver,
      ...outputOf(settled),
      ...(settled?.error === undefined ? {} : { error: settled.error }),
      ...(settled?.errorKind === undefined ? {} : { errorKind: settled.errorKind }),
      ...(settled === undefined ? {} : { settled }),
    });
    this.#queue.finish();
  }
}

/** Returns the text of a message, without thinking, tool calls and images. */
export function textOf(message: Message): string {
  if (!("content" in message)) return "";
  const { content } = message;
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" && "text" in block ? block.text : "")).join("");
}

function outputOf(settled: object | undefined): { output?: unknown } {
  return settled !== undefined && "output" in settled ? { output: settled.output } : {};
}

function lastText(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    const text = message.role === "assistant" ? textOf(message) : "";
    if (text !== "") return text;
  }
  return "";
}

function noUsage(): Usage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
}

function addUsage(sum: Usage, usage: AssistantMessage["usage"]): void {
  for (const kind of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const) sum[kind] += usage[kind];
  for (const kind of ["input", "output", "cacheRead", "cacheWrite", "total"] as const) sum.cost[kind] += usage.cost[kind];
  if (usage.reasoning !== undefined) sum.reasoning = (sum.reasoning ?? 0) + usage.reasoning;
}
