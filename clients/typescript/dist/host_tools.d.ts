/** Tools that run in this program: plain functions that the model can call. */
import type { RawRecord } from "./connection.js";
import { type FromSchema, type ObjectSchema } from "./json_schema.js";
import type { EventMap, HostTool, HostToolContent } from "./protocol.js";
/** What a tool returns: a text, content, `{ content, details, isError }`, or any value, which becomes JSON. */
export type ToolOutput = unknown;
/** What the function of a tool gets besides the arguments. */
export interface ToolContext {
    /** Is aborted when the run is, when the time of the call is up, and when the process ends. */
    readonly signal: AbortSignal;
    /** The id of the call in the answer of the model. */
    readonly toolCallId: string;
    /** Reports the output so far; it takes the place of the last report. */
    update(output: string | readonly HostToolContent[]): void;
}
/** A tool of the client. */
export interface ClientTool {
    /** Up to 64 letters, digits, `_` and `-`; a built-in tool of the same name is replaced. */
    readonly name: string;
    /** What it does and when to use it, for the model. */
    readonly description: string;
    /** The arguments. */
    readonly parameters: ObjectSchema;
    /** Hides the tool from the model until an extension enables it. */
    readonly hidden?: boolean;
    /** Runs the tool. The model reads the message of an exception. */
    run(args: never, context: ToolContext): ToolOutput;
}
/** Describes a tool; `run` gets arguments of the type that `parameters` describes. */
export declare function tool<const Schema extends ObjectSchema>(definition: {
    name: string;
    description: string;
    parameters: Schema;
    hidden?: boolean;
    run: (args: FromSchema<Schema>, context: ToolContext) => ToolOutput;
}): ClientTool;
type Call = EventMap["host_tool_call"];
/** Calls the functions and answers for them. */
export declare class HostTools {
    #private;
    constructor(send: (record: RawRecord) => void);
    /** Replaces the tools. */
    set(tools: readonly ClientTool[]): void;
    /** Runs a call, unless the tool is not one of these: then somebody else answers for it. */
    call(call: Call): void;
    cancel(id: string): void;
    cancelAll(): void;
}
/** Returns the tools as the protocol has them. */
export declare function described(tools: readonly ClientTool[]): HostTool[];
export {};
