/** Tools that run in this program: plain functions that the model can call. */
import type { RawRecord } from "./connection.js";
import { messageOf } from "./errors.js";
import { type FromSchema, type ObjectSchema, mismatch } from "./json_schema.js";
import type { EventMap, HostTool, HostToolContent, HostToolOutput } from "./protocol.js";

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
export function tool<const Schema extends ObjectSchema>(definition: {
  name: string;
  description: string;
  parameters: Schema;
  hidden?: boolean;
  run: (args: FromSchema<Schema>, context: ToolContext) => ToolOutput;
}): ClientTool {
  return definition;
}

type Call = EventMap["host_tool_call"];

/** Calls the functions and answers for them. */
export class HostTools {
  readonly #send: (record: RawRecord) => void;
  readonly #calls = new Map<string, AbortController>();
  #tools = new Map<string, ClientTool>();

  constructor(send: (record: RawRecord) => void) {
    this.#send = send;
  }

  /** Replaces the tools. */
  set(tools: readonly ClientTool[]): void {
    this.#tools = new Map(tools.map((each) => [each.name, each]));
  }

  /** Runs a call, unless the tool is not one of these: then somebody else answers for it. */
  call(call: Call): void {
    const called = this.#tools.get(call.toolName);
    if (called === undefined) return;
    const controller = new AbortController();
    this.#calls.set(call.id, controller);
    void this.#run(called, call, controller.signal).finally(() => this.#calls.delete(call.id));
  }

  cancel(id: string): void {
    this.#calls.get(id)?.abort(new Error("bowline cancelled the call"));
  }

  cancelAll(): void {
    for (const controller of this.#calls.values()) controller.abort(new Error("bowline has ended"));
  }

  async #run(called: ClientTool, call: Call, signal: AbortSignal): Promise<void> {
    let answer: { result: HostToolOutput; isError?: boolean };
    try {
      const problem = mismatch(called.parameters, call.arguments);
      if (problem !== undefined) throw new TypeError(`These arguments are not possible: ${problem}.`);
      const context: ToolContext = {
        signal,
        toolCallId: call.toolCallId,
        update: (output) => {
          if (signal.aborted) return;
          this.#send({ type: "host_tool_update", id: call.id, partialResult: { content: contentOf(output) } });
        },
      };
      answer = outcomeOf(await called.run(call.arguments as never, context));
    } catch (error) {
      answer = { result: { content: contentOf(messageOf(error)) }, isError: true };
    }
    // A call that was cancelled is over.
    if (!signal.aborted) this.#end(call.id, answer);
  }

  #end(id: string, answer: { result: HostToolOutput; isError?: boolean }): void {
    try {
      this.#send({ type: "host_tool_result", id, ...answer });
    } catch (error) {
      // The output is too large, or is no JSON.
      this.#send({ type: "host_tool_result", id, result: { content: contentOf(messageOf(error)) }, isError: true });
    }
  }
}

/** Returns the tools as the protocol has them. */
export function described(tools: readonly ClientTool[]): HostTool[] {
  const names = new Set<string>();
  return tools.map(({ name, description, parameters, hidden }) => {
    if (names.has(name)) throw new TypeError(`two tools have the name "${name}"; give each its own`);
    names.add(name);
    return { name, description, parameters: parameters as Record<string, unknown>, ...(hidden === true ? { hidden } : {}) };
  });
}

function outcomeOf(value: ToolOutput): { result: HostToolOutput; isError?: boolean } {
  if (value === undefined || value === null) return { result: { content: [] } };
  if (typeof value === "string" || isContent(value)) return { result: { content: contentOf(value) } };
  if (typeof value === "object" && "content" in value && (typeof value.content === "string" || isContent(value.content))) {
    const { content, details, isError } = value as { content: string | HostToolContent[]; details?: unknown; isError?: unknown };
    const result: HostToolOutput = { content: contentOf(content) };
    if (details !== undefined) result.details = details;
    return isError === true ? { result, isError } : { result };
  }
  return { result: { content: contentOf(JSON.stringify(value, null, 2) ?? String(value)) } };
}

function isContent(value: unknown): value is HostToolContent[] {
  const isPiece = (one: unknown) =>
    typeof one === "object" && one !== null && "type" in one && (one.type === "text" || one.type === "image");
  return Array.isArray(value) && value.length > 0 && value.every(isPiece);
}

function contentOf(output: string | readonly HostToolContent[]): HostToolContent[] {
  return typeof output === "string" ? [{ type: "text", text: output }] : [...output];
}
