import type { CallOptions } from "./calls.js";
import { type FieldsOf, Commands } from "./commands.js";
import { type ProcessEnd } from "./errors.js";
import { type ClientTool } from "./host_tools.js";
import { type UriSchemes } from "./host_uris.js";
import type { FromSchema, JsonSchema } from "./json_schema.js";
import type { AgentOptions } from "./options.js";
import type { ClientAnswer, CommandData, CommandName, Event, EventMap, EventName, PromptCommand, ProtocolInfo } from "./protocol.js";
import { Run, type RunResult } from "./run.js";
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
export declare class Agent extends Commands {
    #private;
    /** Resolves when nothing can be sent any more, with the reason: `Closed`, or how bowline died. Never rejects. */
    readonly ended: Promise<Error>;
    private constructor();
    /** Starts bowline, and returns once it answers. */
    static start(options?: AgentOptions): Promise<Agent>;
    /** The program and its version, its commands and its events. */
    get info(): ProtocolInfo;
    get pid(): number | undefined;
    /** The last lines that bowline wrote to stderr. */
    get stderr(): string;
    /** How many lines of stdout were no records. */
    get garbageCount(): number;
    /** Whether a run is in progress. */
    get isBusy(): boolean;
    command<Name extends CommandName>(name: Name, fields: FieldsOf<Name>, options?: CallOptions): Promise<CommandData[Name]>;
    /** Answers a request that was taken from the events, such as a dialog with the option `ui: "manual"`. */
    answer(answer: ClientAnswer): void;
    /** Starts a run. Fails with the code `busy` if one is in progress; use `steer` or `followUp` then. */
    run<const Schema extends JsonSchema>(message: string, options?: RunOptions<Schema>): Promise<Run<FromSchema<Schema>>>;
    /** Runs a prompt to its end. Throws `RunFailed` if the run fails; a run that is aborted has a result. */
    promptAndWait<const Schema extends JsonSchema>(message: string, options?: RunOptions<Schema>): Promise<RunResult<FromSchema<Schema>>>;
    /** All events from now on, also those of runs. Leave the loop to end it. */
    events(): AsyncIterableIterator<Event, undefined>;
    /** Calls a function for each event of a type, or of any with `*`. Returns a function that ends that. */
    on<Name extends EventName>(name: Name, listener: (event: EventMap[Name]) => void): () => void;
    on(name: "*", listener: (event: Event) => void): () => void;
    /** Waits until no run is in progress. */
    waitForIdle(): Promise<void>;
    /** Replaces the tools of this program. */
    setTools(tools: readonly ClientTool[]): Promise<void>;
    /** Replaces the addresses that this program serves. */
    setUris(schemes: UriSchemes): Promise<void>;
    /**
     * Ends bowline: it aborts a run, writes its last events and exits. If it has not after `graceMs` (10 seconds), it is
     * killed. Events that were not taken can still be taken.
     */
    close(options?: {
        graceMs?: number;
    }): Promise<ProcessEnd | undefined>;
    [Symbol.asyncDispose](): Promise<void>;
}
