import { BowlineError } from "./errors.js";
import type { Disposition, ErrorKind, Event, EventMap, Message, Usage } from "./protocol.js";
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
export declare class RunFailed extends BowlineError {
    name: string;
    readonly kind: ErrorKind | undefined;
    /** What there is of the run. */
    readonly result: RunResult;
    constructor(result: RunResult);
}
/**
 * The events of a run, from the first after the response to its prompt to `agent_settled`, for one consumer. Take them,
 * or call `result()`, or `discard()` them: what nobody takes holds up everything after a while.
 */
export declare class Run<Output = unknown> implements AsyncIterable<Event> {
    #private;
    /** What became of the prompt. */
    readonly disposition: Disposition;
    /** The events. They can be taken once. */
    [Symbol.asyncIterator](): AsyncIterableIterator<Event, undefined>;
    /** The text of the answers, piece by piece as it comes, with an empty line between two answers. */
    text(): AsyncGenerator<string, void, undefined>;
    /** Waits for the end of the run. Failed and aborted runs have a result, too; rejects only if the process ends first. */
    result(): Promise<RunResult<Output>>;
    /** Says that nobody is going to take the events. The run goes on. */
    discard(): void;
}
/** Returns the text of a message, without thinking, tool calls and images. */
export declare function textOf(message: Message): string;
