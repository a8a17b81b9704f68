/**
 * Write bowline extensions in TypeScript or JavaScript: no dependencies, Node 20 or later, Bun or Deno.
 *
 * A whole extension:
 *
 * ```js
 * import { Extension } from "./bowline_extension.mjs";
 *
 * const ext = new Extension("gate");
 *
 * ext.on("tool_call", async (event, ctx) => {
 *   const { command } = event.input;
 *   if (command.includes("rm -rf") && !(await ctx.ui.confirm("Run it?", command))) {
 *     return { block: true, reason: "The user refused this command" };
 *   }
 * }, { tool: ["bash"] });
 *
 * ext.run();
 * ```
 *
 * An exception in a handler is the handler's answer: it is reported and ends nothing else. Standard output belongs to
 * the protocol, so `console.log` goes to standard error, where bowline keeps it as the extension's log.
 *
 * Events and results have the names and fields of pi's extension API. `bowline extension check` tries an extension out.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import process from "node:process";

/** The version of the protocol that this file speaks. */
export const PROTOCOL = 1;

/** The most bytes that a record may have. */
export const MAX_LINE = 64 * 1024 * 1024;

/** How many milliseconds handlers may take to end once bowline has closed the connection. */
export const EXIT_GRACE = 2000;

// --- Content ---------------------------------------------------------------------------------------------------------

/** Any JSON object. */
export type Json = Record<string, any>;

/** A piece of text. */
export interface TextContent {
  type: "text";
  text: string;
}

/** An image, its bytes in base64. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}

export type Content = TextContent | ImageContent;

/** What becomes content: a text, a piece of content, or several. */
export type ContentLike = string | Content | readonly (string | Content)[];

/** A message of the conversation in pi's form: `role`, `content` and fields of the role. */
export type Message = Json;

/** A model: `provider`, `id`, `name`, `contextWindow` and more. */
export type Model = Json;

/** Returns a piece of text for a message or a tool's result. */
export function text(value: string): TextContent {
  return { type: "text", text: value };
}

/** Returns the text of a message, without thinking, tool calls and images. */
export function textOf(message: Message): string {
  const content: unknown = message["content"] ?? "";
  if (typeof content === "string") return content;
  return (content as Json[]).map((part) => (part["type"] === "text" ? part["text"] : "")).join("");
}

const IMAGE_KINDS: readonly (readonly [string, string])[] = [
  ["89504e470d0a1a0a", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
];

/**
 * Returns an image for a message or a tool's result, from its bytes or from a file. The kind is found in the bytes;
 * `mimeType` names it where that fails.
 */
export function image(source: Uint8Array | string | URL, mimeType?: string): ImageContent {
  const bytes = source instanceof Uint8Array ? source : readFileSync(source);
  const kind = mimeType ?? imageKind(bytes);
  if (kind === undefined) throw new TypeError("the image is not PNG, JPEG, GIF or WebP: name its mimeType");
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: kind };
}

function imageKind(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 12));
  const known = IMAGE_KINDS.find(([magic]) => start.toString("hex").startsWith(magic));
  if (known !== undefined) return known[1];
  const isWebp = start.toString("latin1", 0, 4) === "RIFF" && start.toString("latin1", 8, 12) === "WEBP";
  return isWebp ? "image/webp" : undefined;
}

function contentOf(value: ContentLike): Content[] {
  if (typeof value === "string") return [text(value)];
  if (!Array.isArray(value)) return [value as Content];
  return (value as readonly (string | Content)[]).map((part) => (typeof part === "string" ? text(part) : part));
}

// --- Events and results ----------------------------------------------------------------------------------------------

export interface ProjectTrustEvent { type: "project_trust"; cwd: string }
/** The first answer other than "undecided" counts. */
export interface ProjectTrustResult { trusted: "yes" | "no" | "undecided"; remember?: boolean }

/** A session was started or reloaded: further resources can be named. */
export interface ResourcesDiscoverEvent { type: "resources_discover"; cwd: string; reason: "startup" | "reload" }
/** Further folders or files of skills and prompt templates. */
export interface ResourcesDiscoverResult { skillPaths?: string[]; promptPaths?: string[] }

/** A session has begun. */
export interface SessionStartEvent {
  type: "session_start";
  reason: "startup" | "reload" | "new" | "resume" | "fork";
  previousSessionFile?: string;
}

/** The session has another name. */
export interface SessionInfoChangedEvent { type: "session_info_changed"; name?: string }

/** The client is about to start or open another session. */
export interface SessionBeforeSwitchEvent {
  type: "session_before_switch";
  reason: "new" | "resume";
  targetSessionFile?: string;
}

/** The client is about to fork or clone the session. */
export interface SessionBeforeForkEvent { type: "session_before_fork"; entryId: string; position: "before" | "at" }

/** `cancel: true` prevents the action. */
export interface CancelResult { cancel?: boolean }

export type CompactionReason = "manual" | "threshold" | "overflow";

/** The conversation is about to be summarized. */
export interface SessionBeforeCompactEvent {
  type: "session_before_compact";
  preparation: Json;
  customInstructions?: string;
  reason: CompactionReason;
  willRetry: boolean;
}
/** `compaction` replaces the summary of a model. */
export interface SessionBeforeCompactResult extends CancelResult {
  compaction?: { summary: string; firstKeptEntryId?: string; tokensBefore?: number; details?: unknown };
}

/** The conversation was summarized. */
export interface SessionCompactEvent {
  type: "session_compact";
  compactionEntry: Json;
  fromExtension: boolean;
  reason: CompactionReason;
  willRetry: boolean;
}

/** The conversation could not be summarized. */
export interface SessionCompactFailedEvent {
  type: "session_compact_failed";
  reason: CompactionReason;
  errorMessage?: string;
  aborted: boolean;
  willRetry: boolean;
  fromExtension: boolean;
}

/** The session is about to move to another entry of its tree. */
export interface SessionBeforeTreeEvent { type: "session_before_tree"; preparation: Json }
/** `summary` replaces the summary of a model. */
export interface SessionBeforeTreeResult extends CancelResult {
  summary?: { summary: string; details?: unknown };
  customInstructions?: string;
  label?: string;
}

/** The session has moved to another entry of its tree. */
export interface SessionTreeEvent {
  type: "session_tree";
  newLeafId: string | null;
  oldLeafId: string | null;
  summaryEntry?: Json;
  fromExtension: boolean;
}

/** The session ends. */
export interface SessionShutdownEvent {
  type: "session_shutdown";
  reason: "quit" | "reload" | "new" | "resume" | "fork";
  targetSessionFile?: string;
}

/** A message of the user has arrived, before templates and skills are expanded. */
export interface InputEvent {
  type: "input";
  text: string;
  images?: ImageContent[];
  source: "rpc" | "extension";
  streamingBehavior?: "steer" | "followUp";
}
/** `transform` replaces the text, `handled` ends the matter, `continue` changes nothing. */
export type InputResult =
  | { action: "continue" | "handled" }
  | { action: "transform"; text: string; images?: ImageContent[] };

/** A message of the extension, which the model reads as one of the user. */
export interface CustomMessage {
  customType: string;
  content: string | Content[];
  display?: boolean;
  details?: unknown;
}

/** A prompt is about to start a run. */
export interface BeforeAgentStartEvent {
  type: "before_agent_start";
  prompt: string;
  images?: ImageContent[];
  /** The message of an extension that starts the run, if none of the user does. */
  message?: Json;
  systemPrompt: string;
  systemPromptOptions: Json;
}
/** `message` follows the user's message; the others change the system prompt of this run. */
export interface BeforeAgentStartResult {
  message?: CustomMessage;
  systemPrompt?: string;
  systemPromptOptions?: {
    sections?: Record<string, string>;
    promptGuidelines?: string[];
    appendSystemPrompt?: string;
    selectedTools?: string[];
  };
}

/** A run begins. */
export interface AgentStartEvent { type: "agent_start" }
/** The model has finished; retries and queued messages may follow. */
export interface AgentEndEvent { type: "agent_end"; messages: Message[] }
/** The model is about to be called. */
export interface TurnStartEvent { type: "turn_start"; turnIndex: number; timestamp: number }

export type Outcome = "completed" | "aborted" | "error";

/** An entry to add to the session. */
export type EntryDraft =
  | { type: "custom"; customType: string; data?: unknown }
  | ({ type: "custom_message" } & CustomMessage)
  | { type: "context_edit"; targetId: string; replacement?: unknown }
  | { type: "compaction"; summary: string; firstKeptEntryId?: string | null; details?: unknown };

/** An answer and the results of its tool calls are complete. */
export interface TurnEndEvent {
  type: "turn_end";
  turnIndex: number;
  message: Message;
  toolResults: Message[];
  messageEntryId?: string;
  toolResultEntryIds: string[];
  outcome: Outcome;
  entries: EntryDraft[];
  continue: boolean;
  context: Json;
}

/** A run is about to end, unless it was aborted. */
export interface AgentBeforeSettleEvent {
  type: "agent_before_settle";
  outcome: Outcome;
  entries: EntryDraft[];
  continue: boolean;
  context: Json;
}
/** Entries to add to the session; `continue` calls the model once more. */
export interface BoundaryResult { entries?: EntryDraft[]; continue?: boolean }

/** A run has ended. */
export interface AgentSettledEvent { type: "agent_settled"; aborted: boolean }
/** A message begins. */
export interface MessageStartEvent { type: "message_start"; message: Message }
/** More of an answer has arrived. */
export interface MessageUpdateEvent { type: "message_update"; assistantMessageEvent: Json; usage: Json }
/** A message is complete and not stored yet. */
export interface MessageEndEvent { type: "message_end"; message: Message }
/** A message of the same role that replaces the one at its end. */
export interface MessageEndResult { message?: Message }

/** The conversation as it is sent to the model. */
export interface ContextEvent { type: "context"; messages: Message[] }
/** The same after all handlers of `context`, with the system prompt. */
export interface ContextWithSystemEvent { type: "context_with_system"; systemPrompt: string; messages: Message[] }
/** The conversation to send instead, this time only, or changes to it. */
export interface ContextResult {
  messages?: Message[];
  patch?: ({ op: "remove"; index: number } | { op: "insert" | "replace"; index: number; message: Message })[];
}

/** The headers of a request to a provider. */
export interface HeadersEvent { type: "before_provider_headers"; headers: Record<string, string> }
/** Headers to set; `null` removes one. */
export interface HeadersResult { headers?: Record<string, string | null> }
/** The JSON body of a request to a provider. What the handler returns is sent instead. */
export interface ProviderRequestEvent { type: "before_provider_request"; payload: Json }
/** A provider has answered. */
export interface ProviderResponseEvent {
  type: "after_provider_response";
  status: number;
  headers: Record<string, string>;
}
/** A provider has sent an event of its answer, in the form of its API. */
export interface ProviderStreamEvent {
  type: "provider_stream_event";
  provider: string;
  api: string;
  model: string;
  data: Json;
}

/** A tool call begins. */
export interface ToolExecutionStartEvent {
  type: "tool_execution_start";
  toolCallId: string;
  toolName: string;
  args: Json;
}
/** A tool call has made progress. */
export interface ToolExecutionUpdateEvent {
  type: "tool_execution_update";
  toolCallId: string;
  toolName: string;
  args: Json;
  partialResult: Json;
}
/** A tool call has ended. */
export interface ToolExecutionEndEvent {
  type: "tool_execution_end";
  toolCallId: string;
  toolName: string;
  result: Json;
  isError: boolean;
  durationMs: number;
}

/** A tool is about to run. An exception in the handler blocks the call. */
export interface ToolCallEvent { type: "tool_call"; toolName: string; toolCallId: string; input: Json }
/** `block` prevents the call and tells the model the reason; `input` replaces the arguments. */
export interface ToolCallResult { block?: boolean; reason?: string; terminate?: boolean; input?: Json }

/** A tool has run; its result is not recorded yet. */
export interface ToolResultEvent {
  type: "tool_result";
  toolName: string;
  toolCallId: string;
  input: Json;
  content: Content[];
  details?: unknown;
  structuredContent?: unknown;
  usage?: Json;
  isError: boolean;
}
/** What the result becomes; what is absent stays. */
export interface ToolResultResult {
  content?: Content[];
  details?: unknown;
  structuredContent?: unknown;
  isError?: boolean;
  usage?: Json;
}

/** The user runs a shell command. */
export interface UserBashEvent { type: "user_bash"; command: string; excludeFromContext: boolean; cwd: string }
/** The result of the command, which is then not run. */
export interface UserBashResult {
  result?: { output: string; exitCode?: number; cancelled?: boolean; truncated?: boolean; fullOutputPath?: string };
}

/** Another model was chosen. */
export interface ModelSelectEvent {
  type: "model_select";
  model: Model;
  previousModel?: Model;
  source: "set" | "cycle" | "restore";
}
/** Another thinking level was chosen. */
export interface ThinkingLevelSelectEvent { type: "thinking_level_select"; level: string; previousLevel: string }
/** A dialog was opened. */
export interface UiPromptStartEvent { type: "ui_prompt_start"; reason: "ui_prompt"; kind: string; title: string }
/** A dialog was closed. */
export interface UiPromptEndEvent { type: "ui_prompt_end"; reason: "ui_prompt"; kind: string; title: string }

/** An extension shows a message to the user. Not in pi. */
export interface UiNotifyEvent { type: "ui_notify"; message: string; level?: "info" | "warning" | "error" }

/** The event of each hook, and what its handler may return. */
export interface Hooks {
  project_trust: [ProjectTrustEvent, ProjectTrustResult];
  resources_discover: [ResourcesDiscoverEvent, ResourcesDiscoverResult];
  session_start: [SessionStartEvent, never];
  session_info_changed: [SessionInfoChangedEvent, never];
  session_before_switch: [SessionBeforeSwitchEvent, CancelResult];
  session_before_fork: [SessionBeforeForkEvent, CancelResult];
  session_before_compact: [SessionBeforeCompactEvent, SessionBeforeCompactResult];
  session_compact: [SessionCompactEvent, never];
  session_compact_failed: [SessionCompactFailedEvent, never];
  session_before_tree: [SessionBeforeTreeEvent, SessionBeforeTreeResult];
  session_tree: [SessionTreeEvent, never];
  session_shutdown: [SessionShutdownEvent, never];
  input: [InputEvent, InputResult];
  before_agent_start: [BeforeAgentStartEvent, BeforeAgentStartResult];
  agent_start: [AgentStartEvent, never];
  agent_end: [AgentEndEvent, never];
  turn_start: [TurnStartEvent, never];
  turn_end: [TurnEndEvent, BoundaryResult];
  agent_before_settle: [AgentBeforeSettleEvent, BoundaryResult];
  agent_settled: [AgentSettledEvent, never];
  message_start: [MessageStartEvent, never];
  message_update: [MessageUpdateEvent, never];
  message_end: [MessageEndEvent, MessageEndResult];
  context: [ContextEvent, ContextResult];
  context_with_system: [ContextWithSystemEvent, ContextResult];
  before_provider_headers: [HeadersEvent, HeadersResult];
  before_provider_request: [ProviderRequestEvent, Json];
  after_provider_response: [ProviderResponseEvent, never];
  provider_stream_event: [ProviderStreamEvent, never];
  tool_execution_start: [ToolExecutionStartEvent, never];
  tool_execution_update: [ToolExecutionUpdateEvent, never];
  tool_execution_end: [ToolExecutionEndEvent, never];
  tool_call: [ToolCallEvent, ToolCallResult];
  tool_result: [ToolResultEvent, ToolResultResult];
  user_bash: [UserBashEvent, UserBashResult];
  model_select: [ModelSelectEvent, never];
  thinking_level_select: [ThinkingLevelSelectEvent, never];
  ui_prompt_start: [UiPromptStartEvent, never];
  ui_prompt_end: [UiPromptEndEvent, never];
  ui_notify: [UiNotifyEvent, never];
}

export type HookName = keyof Hooks;
type MaybePromise<T> = T | Promise<T>;

/** A function that is called at a hook. */
export type Handler<Name extends HookName> = (
  event: Hooks[Name][0],
  ctx: Context,
) => MaybePromise<Hooks[Name][1] | undefined | null | void>;

/**
 * What each hook can do: "decides" hooks take results, "observes" hooks only hold up what follows, and "streams" hooks
 * are never waited for. A test compares this table with the engine's.
 */
export const HOOKS: Readonly<Record<HookName, "decides" | "observes" | "streams">> = {
  project_trust: "decides",
  resources_discover: "decides",
  session_start: "observes",
  session_info_changed: "observes",
  session_before_switch: "decides",
  session_before_fork: "decides",
  session_before_compact: "decides",
  session_compact: "observes",
  session_compact_failed: "observes",
  session_before_tree: "decides",
  session_tree: "observes",
  session_shutdown: "observes",
  input: "decides",
  before_agent_start: "decides",
  agent_start: "observes",
  agent_end: "observes",
  turn_start: "observes",
  turn_end: "decides",
  agent_before_settle: "decides",
  agent_settled: "observes",
  message_start: "observes",
  message_update: "streams",
  message_end: "decides",
  context: "decides",
  context_with_system: "decides",
  before_provider_headers: "decides",
  before_provider_request: "decides",
  after_provider_response: "observes",
  provider_stream_event: "streams",
  tool_execution_start: "observes",
  tool_execution_update: "streams",
  tool_execution_end: "observes",
  tool_call: "decides",
  tool_result: "decides",
  user_bash: "decides",
  model_select: "observes",
  thinking_level_select: "observes",
  ui_prompt_start: "streams",
  ui_prompt_end: "streams",
  ui_notify: "streams",
};

// --- Errors ----------------------------------------------------------------------------------------------------------

/** bowline refused a request; the message says why. */
export class RequestError extends Error {
  override name = "RequestError";
}

/** Why the answer of a provider failed, which decides whether bowline asks again. */
export type ProviderErrorKind =
  | "auth" | "not_found" | "rate_limit" | "overloaded" | "quota" | "network" | "timeout" | "context" | "refused";

/** Thrown by a provider whose answer fails. */
export class ProviderError extends Error {
  override name = "ProviderError";
  readonly kind: ProviderErrorKind | undefined;
  /** How long a retry should wait, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, about: { kind?: ProviderErrorKind; retryAfter?: number } = {}) {
    super(message);
    this.kind = about.kind;
    this.retryAfter = about.retryAfter;
  }
}

/** What the handler works for was cancelled: aborted, out of time, or its session has ended. */
export class Cancelled extends Error {
  override name = "Cancelled";
}

// --- What an extension registers -------------------------------------------------------------------------------------

/** What a tool returns when text alone is not enough. `details` is data for clients, which the model does not see. */
export interface ToolResult {
  content: ContentLike;
  details?: unknown;
  isError?: boolean;
  /** Ends the run if every tool call of the answer asks for it. */
  terminate?: boolean;
  /** What the tool spent on models, as `ctx.model.complete` returns it. It counts in the statistics of the session. */
  usage?: Json;
}

/** A tool that the model can call. */
export interface Tool {
  name: string;
  description: string;
  /** A JSON Schema of the arguments, of the type `object`; no arguments if absent. */
  parameters?: Json;
  /** A name for people. */
  label?: string;
  /** A line about the tool for the system prompt. */
  promptSnippet?: string;
  /** Rules about its use for the system prompt. */
  promptGuidelines?: string[];
  executionMode?: "sequential" | "parallel";
  /** Whether it is enabled at once; it is if absent. */
  defaultActive?: boolean;
  /**
   * Runs the tool. Returns a text, `image()` and `text()` parts, a `ToolResult`, or any JSON value. An exception is a
   * failed call, and the model reads its message.
   */
  execute(args: Json, ctx: Context): unknown;
}

/** A text that completes what the user types after a slash command. `label` is shown instead of `value`. */
export interface Completion {
  value: string;
  label?: string;
  description?: string;
}

/** A slash command. */
export interface Command {
  description?: string;
  /** Is called with the text after the command's name. */
  handler(args: string, ctx: Context): unknown;
  /** Returns what may take the place of `prefix`, which the user has typed after the name so far. It has a second. */
  complete?(prefix: string, ctx: Context): MaybePromise<(string | Completion)[]>;
}

/** A flag of bowline's command line. Its value is that of the command line from `session_start` on. */
export interface Flag<T extends boolean | string | undefined> {
  readonly name: string;
  readonly value: T;
}

/** What a provider is to answer. */
export interface ProviderRequest {
  model: Model;
  systemPrompt: string;
  messages: Message[];
  tools: { name: string; description: string; parameters: Json }[];
  thinkingLevel: string;
  maxTokens?: number;
  sessionId: string;
}

/** A piece of a provider's answer; a string is text. */
export type Piece =
  | string
  | { type: "thinking"; thinking: string; signature?: string }
  | { type: "toolCall"; id: string; name: string; arguments: Json }
  | { type: "usage"; input?: number; output?: number; cacheRead?: number; cacheWrite?: number }
  | { type: "stop"; reason: "stop" | "length" | "toolUse" };

/** A model of a provider, as in `models.json`. */
export interface ProviderModel {
  id: string;
  name?: string;
  reasoning?: boolean;
  input?: ("text" | "image")[];
  cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
  contextWindow?: number;
  maxTokens?: number;
}

/** A provider of models. */
export interface Provider {
  models: ProviderModel[];
  /** Answers, piece by piece. Without it bowline talks to `baseUrl` in the protocol `api`. */
  stream?(request: ProviderRequest, ctx: Context): AsyncIterable<Piece> | Iterable<Piece>;
  /** Returns the models anew. */
  refresh?(ctx: Context): MaybePromise<ProviderModel[]>;
  baseUrl?: string;
  api?: string;
  apiKey?: string;
  headers?: Record<string, string>;
  authHeader?: boolean;
}

interface Subscription {
  event: string;
    handler: (event: any, ctx: Context) => unknown;
  tools: string[] | undefined;
  waits: boolean;
}

function toolOutcome(value: unknown): Json {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: contentOf(value) };
  if (isPiece(value)) return { content: [value] };
  if (Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === "string" || isPiece(part))) {
    return { content: contentOf(value as ContentLike) };
  }
  const content = (value as Json)["content"] as ContentLike | undefined;
  if (typeof content === "string" || Array.isArray(content) || isPiece(content)) {
    return { ...(value as Json), content: contentOf(content) };
  }
  return { content: contentOf(JSON.stringify(value, null, 2)) };
}

function isPiece(value: unknown): value is Content {
  if (typeof value !== "object" || value === null) return false;
  const kind = (value as Json)["type"] as unknown;
  return kind === "text" || kind === "image";
}

/** Returns an object without its undefined fields. */
function given(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Returns an error as bowline reads it. */
function describe(error: unknown): Json {
  const about: Json = { message: messageOf(error) };
  if (error instanceof ProviderError) {
    if (error.kind !== undefined) about["kind"] = error.kind;
    if (error.retryAfter !== undefined) about["retryAfterMs"] = Math.round(error.retryAfter);
  }
  return about;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return String(error);
}

// --- Chains of handlers ----------------------------------------------------------------------------------------------

const JOINED = new Set(["skillPaths", "promptPaths", "entries"]);

/** The results of several handlers of one event. Each handler sees what the ones before it changed. */
class Chain {
  result: unknown;
  // pi's handlers edit these fields in place, so that works here too.
  readonly #edited: string | undefined;
  readonly #event: Json;

  constructor(event: Json) {
    this.#event = event;
    this.#edited = { tool_call: "input", before_provider_headers: "headers" }[event["type"] as string];
  }

  /** Returns what an edit in place is recognized by. */
  before(): string {
    return this.#edited === undefined ? "" : JSON.stringify(this.#event[this.#edited]);
  }

  /** Adds a handler's result. Returns whether the remaining handlers are skipped. */
  add(value: unknown, before: string): boolean {
    const kind = this.#event["type"] as HookName;
    let result = value;
    if (this.#edited !== undefined && this.before() !== before) result = this.#withEdit(result, before);
    if (result === undefined || result === null) return false;
    if (kind === "before_provider_request") {
      this.#event["payload"] = result;
      this.result = result;
      return false;
    }
    if (typeof result !== "object" || Array.isArray(result)) {
      throw new TypeError(`a handler of ${kind} returns an object or nothing, not ${typeof result}`);
    }
    if (HOOKS[kind] !== "decides") throw new TypeError(`a handler of ${kind} returns nothing`);
    return this.#merge(kind, result as Json);
  }

  #withEdit(result: unknown, before: string): Json {
    const field = this.#edited as string;
    let edited = this.#event[field] as Json;
    if (field === "headers") {
      const removed = Object.keys(JSON.parse(before) as Json).filter((name) => !(name in edited));
      edited = { ...Object.fromEntries(removed.map((name) => [name, null])), ...edited };
    }
    return { [field]: edited, ...((result as Json | undefined) ?? {}) };
  }

  #merge(kind: HookName, result: Json): boolean {
    if (kind === "input" && result["action"] === "continue") return false;
    const combined: Json = { ...((this.result as Json | undefined) ?? {}) };
    if (kind === "before_agent_start" && "message" in combined && "message" in result) {
      throw new TypeError("two handlers of before_agent_start returned a message; return one");
    }
    for (const [key, value] of Object.entries(result)) {
      if (value === undefined) continue;
      if (JOINED.has(key)) {
        combined[key] = [...(combined[key] ?? []), ...value];
      } else if (key === "headers" || key === "systemPromptOptions") {
        combined[key] = { ...combined[key], ...value };
        const changed = Object.entries({ ...this.#event[key], ...value });
        this.#event[key] = Object.fromEntries(changed.filter(([, item]) => key !== "headers" || item !== null));
      } else {
        combined[key] = value;
        if (key in this.#event && key !== "type") this.#event[key] = value;
      }
    }
    this.result = combined;
    return (
      result["cancel"] === true ||
      result["block"] === true ||
      result["action"] === "handled" ||
      kind === "user_bash" ||
      (kind === "project_trust" && result["trusted"] !== "undecided")
    );
  }
}

/** Numbers the blocks of a provider's answer and marks where they begin and end. */
class Answer {
  readonly #send: (chunk: Json) => void;
  #open: string | undefined;
  #index = -1;
  #stop: string | undefined;

  constructor(send: (chunk: Json) => void) {
    this.#send = send;
    send({ type: "start" });
  }

  add(piece: Piece): void {
    if (typeof piece === "string") {
      this.#block("text");
      this.#send({ type: "text_delta", contentIndex: this.#index, delta: piece });
    } else if (piece.type === "thinking") {
      this.#block("thinking");
      this.#send({ type: "thinking_delta", contentIndex: this.#index, delta: piece.thinking });
      if (piece.signature !== undefined) this.#close(piece.signature);
    } else if (piece.type === "toolCall") {
      this.#close();
      this.#stop ??= "toolUse";
      this.#block("toolcall", { id: piece.id, toolName: piece.name });
      this.#send({ type: "toolcall_delta", contentIndex: this.#index, delta: JSON.stringify(piece.arguments) });
      this.#close();
    } else if (piece.type === "usage") {
      const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = piece;
      const totalTokens = input + output + cacheRead + cacheWrite;
      // bowline computes the cost from the prices of the model.
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
      this.#send({ type: "usage", usage: { input, output, cacheRead, cacheWrite, totalTokens, cost } });
    } else if (piece.type === "stop") {
      this.#stop = piece.reason;
    } else {
      const kinds = "strings, thinking, toolCall, usage and stop";
      throw new TypeError(`a provider yields ${kinds}, not ${JSON.stringify(piece)}`);
    }
  }

  end(): Json {
    this.#close();
    return { stopReason: this.#stop ?? "stop" };
  }

  #block(kind: string, fields: Json = {}): void {
    if (this.#open === kind) return;
    this.#close();
    this.#open = kind;
    this.#index += 1;
    this.#send({ type: `${kind}_start`, contentIndex: this.#index, ...fields });
  }

  #close(signature?: string): void {
    if (this.#open !== undefined) {
      this.#send({ type: `${this.#open}_end`, contentIndex: this.#index, ...given({ signature }) });
      this.#open = undefined;
    }
  }
}

// --- The connection --------------------------------------------------------------------------------------------------

/** Writes records; everything else that is written to standard output goes to standard error. */
class Wire {
  readonly #write: (line: string) => void;

  constructor() {
    const output = process.stdout;
    const write = output.write.bind(output);
    this.#write = (line) => void write(line);
    // bowline has gone; the end of standard input, which follows, ends this process.
    output.on("error", () => undefined);
    output.write = process.stderr.write.bind(process.stderr) as typeof output.write;
    const log = console.error.bind(console);
    for (const name of ["log", "info", "debug", "dir", "table", "group"] as const) console[name] = log;
  }

  send(type: string, record: Json): void {
    this.#write(encode({ type, ...record }));
  }
}

function encode(record: Json): string {
  let line = JSON.stringify(record);
  // Half of a surrogate pair cannot be written as UTF-8; bowline could not read it either.
  if (line.includes("\\ud")) line = JSON.stringify(record, (_, value) => wellFormed(value) as unknown);
  if (line.length > MAX_LINE || (line.length > MAX_LINE / 3 && Buffer.byteLength(line) > MAX_LINE)) {
    throw new RangeError(`a record of ${line.length} characters is larger than ${MAX_LINE} bytes`);
  }
  return `${line}\n`;
}

function wellFormed(value: unknown): unknown {
  return typeof value === "string" ? Buffer.from(value, "utf8").toString("utf8") : value;
}

/** Something that bowline waits for: a hook, a tool, a command, a completion, a provider's answer. */
class Call {
  readonly controller = new AbortController();
  reason = "abort";
  id: string | undefined;

  constructor(id: string | undefined) {
    this.id = id;
  }

  cancel(reason: string): void {
    this.reason = reason;
    this.controller.abort(new Cancelled(`cancelled (${reason})`));
  }
}

interface PendingRequest {
  resolve(value: unknown): void;
  reject(error: Error): void;
  chunk(event: Json): void;
}

/** The running extension: its connection, what it is doing, and what it knows of the session. */
class Runtime {
  readonly wire: Wire;
  readonly extension: Extension;
  state: Json = {};
  init: Json | undefined;
  entries: Json[] = [];
  readonly #calls = new Map<string, Call>();
  readonly #work = new Set<Promise<void>>();
  readonly #requests = new Map<string, PendingRequest>();
  #numbers = 0;

  constructor(extension: Extension, wire: Wire) {
    this.extension = extension;
    this.wire = wire;
  }

  notify(method: string, params: Json): void {
    this.wire.send("notify", { method, params });
  }

  /** Sends a request. With a default, a cancelled call gets that; otherwise an exception. */
  request(
    call: Call,
    method: string,
    params: Json,
    options: { fallback?: unknown; signal?: AbortSignal | undefined; chunk?: (event: Json) => void } = {},
  ): Promise<unknown> {
    const hasFallback = "fallback" in options;
    return new Promise((resolve, reject) => {
      const signals = [call.controller.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const id = `x${++this.#numbers}`;
      const finish = (): void => {
        this.#requests.delete(id);
        for (const signal of signals) signal.removeEventListener("abort", cancelled);
      };
      const cancelled = (): void => {
        if (this.#requests.has(id)) this.wire.send("cancel", { id });
        finish();
        if (hasFallback) resolve(options.fallback);
        else reject(new Cancelled(`cancelled (${call.reason})`));
      };
      if (signals.some((signal) => signal.aborted)) return cancelled();
      this.#requests.set(id, {
        resolve: (value) => (finish(), resolve(value)),
        reject: (error) => (finish(), reject(error)),
        chunk: options.chunk ?? (() => undefined),
      });
      for (const signal of signals) signal.addEventListener("abort", cancelled);
      this.wire.send("request", { id, method, params });
    });
  }

  handleLine(line: string): void {
    if (line.trim() === "") return;
    let record: Json;
    try {
      record = JSON.parse(line) as Json;
      if (typeof record["type"] !== "string") throw new TypeError("it has no type");
    } catch (error) {
      this.report("protocol", new Error(`bowline sent a line that is no record: ${messageOf(error)}`));
      return;
    }
    switch (record["type"]) {
      case "init":
        return this.#onInit(record);
      case "state":
        return this.#onState(record);
      case "response":
        return this.#onResponse(record);
      case "chunk":
        return this.#requests.get(record["id"])?.chunk(record["event"]);
      case "cancel":
        return this.#calls.get(record["id"])?.cancel(record["reason"] ?? "abort");
      case "shutdown":
        return this.end(record["deadlineMs"] ?? EXIT_GRACE);
      case "hook":
        return this.#start(record, (call) => this.#runHooks(call, record["event"]));
      case "event":
        return this.#start({}, (call) => this.#runHooks(call, record["event"]));
      case "tool":
        return this.#start(record, (call) => this.#runTool(call, record));
      case "command":
        return this.#start(record, (call) => this.#runCommand(call, record));
      case "complete":
        return this.#start(record, (call) => this.#runCompletion(call, record));
      case "provider":
        return this.#start(record, (call) => this.#runProvider(call, record));
      default:
        return;
    }
  }

  #onInit(record: Json): void {
    this.init = record;
    const session = record["session"] ?? {};
    const known = { sessionId: session["id"], sessionFile: session["file"], cwd: session["cwd"] };
    Object.assign(this.state, given(known), record["state"] ?? {});
    this.extension._takeFlags(record["flags"] ?? {});
    this.wire.send("registered", this.extension._registration());
  }

  #onState(record: Json): void {
    Object.assign(this.state, record["patch"] ?? {});
    this.extension._takeFlags(this.state["flags"] ?? {});
    this.entries.push(...(record["entries"] ?? []));
  }

  #onResponse(record: Json): void {
    const request = this.#requests.get(record["id"]);
    const error = record["error"] as { message?: string } | undefined;
    if (error !== undefined && error !== null) request?.reject(new RequestError(error.message ?? String(error)));
    else request?.resolve(record["result"] ?? null);
  }

  #start(record: Json, work: (call: Call) => Promise<unknown>): void {
    const call = new Call(record["id"]);
    if (call.id !== undefined) this.#calls.set(call.id, call);
    const done = this.#carryOut(call, work).finally(() => this.#work.delete(done));
    this.#work.add(done);
  }

  async #carryOut(call: Call, work: (call: Call) => Promise<unknown>): Promise<void> {
    const answer: Json = { id: call.id };
    try {
      const result = await work(call);
      if (result !== undefined && result !== null) answer["result"] = result;
    } catch (error) {
      if (error instanceof Cancelled || (call.controller.signal.aborted && isAbort(error))) {
        answer["error"] = { message: `cancelled (${call.reason})` };
      } else if (call.id === undefined) {
        this.report("event", error);
      } else {
        console.error(error);
        answer["error"] = describe(error);
      }
    }
    if (call.id === undefined) return;
    this.#calls.delete(call.id);
    try {
      this.wire.send("result", answer);
    } catch (error) {
      const message = `the result cannot be sent as JSON: ${messageOf(error)}`;
      this.wire.send("result", { id: call.id, error: { message } });
    }
    call.id = undefined;
  }

  /** Reports an error that answers nothing. */
  report(where: string, error: unknown): void {
    console.error(error);
    this.wire.send("error", { where, message: messageOf(error) });
  }

  /** Cancels what is in progress and ends the process. */
  end(grace: number): void {
    for (const call of this.#calls.values()) call.cancel("shutdown");
    setTimeout(() => process.exit(0), grace);
    void Promise.allSettled([...this.#work]).then(() => process.exit(0));
  }

  async #runHooks(call: Call, event: Json): Promise<unknown> {
    const ctx = new Context(this, call);
    if (event["type"] === "bus") {
      for (const receive of this.extension._receivers(event["channel"])) await receive(event["data"], ctx);
      return undefined;
    }
    const chain = new Chain(event);
    for (const handler of this.extension._handlersOf(event)) {
      const before = chain.before();
      if (chain.add(await handler(event, ctx), before)) break;
    }
    return chain.result;
  }

  async #runTool(call: Call, record: Json): Promise<Json> {
    const tool = this.extension._tool(record["name"]);
    checkArguments(tool, record["args"] ?? {});
    return toolOutcome(await tool.execute(record["args"] ?? {}, new Context(this, call)));
  }

  async #runCommand(call: Call, record: Json): Promise<unknown> {
    await this.extension._command(record["name"]).handler(record["args"] ?? "", new Context(this, call));
    return undefined;
  }

  async #runCompletion(call: Call, record: Json): Promise<(string | Completion)[]> {
    const command = this.extension._command(record["command"]);
    return (await command.complete?.(record["prefix"] ?? "", new Context(this, call))) ?? [];
  }

  async #runProvider(call: Call, record: Json): Promise<unknown> {
    const provider = this.extension._provider(record["provider"]);
    const ctx = new Context(this, call);
    if (record["op"] === "refresh") return (await provider.refresh?.(ctx)) ?? provider.models;
    if (record["op"] !== "stream" || provider.stream === undefined) {
      throw new TypeError(`provider ${record["provider"]} has no ${record["op"]}`);
    }
    const answer = new Answer((event) => this.wire.send("chunk", { id: call.id, event }));
    const pieces = provider.stream(record["request"], ctx);
    const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
    const cancelled = new Promise<never>((_, reject) => {
      ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error));
    });
    cancelled.catch(() => undefined);
    while (true) {
      const next = await Promise.race([Promise.resolve(iterator.next()), cancelled]);
      if (next.done === true) return answer.end();
      answer.add(next.value);
    }
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Names unknown and missing arguments. bowline checks them too, but not those that a hook has changed. */
function checkArguments(tool: Tool, args: Json): void {
  const schema = tool.parameters ?? NO_PARAMETERS;
  const required = (schema["required"] ?? []) as string[];
  const problems = required.filter((name) => !(name in args)).map((name) => `missing argument ${name}`);
  if (schema["additionalProperties"] === false) {
    const known = (schema["properties"] ?? {}) as Json;
    const unknown = Object.keys(args).filter((name) => !(name in known));
    problems.push(...unknown.map((name) => `unknown argument ${name}`));
  }
  if (problems.length > 0) throw new TypeError(`tool ${tool.name}: ${problems.join(", ")}`);
}

const NO_PARAMETERS: Json = { type: "object", properties: {}, required: [], additionalProperties: false };

// --- What handlers use -----------------------------------------------------------------------------------------------

/** How a dialog ends without an answer. */
export interface DialogOptions {
  /** After this time in milliseconds the default is returned. */
  timeout?: number;
  /** Withdraws the dialog. */
  signal?: AbortSignal;
}

/** An option of a dialog: its text, or its text and what is said about it. */
export type Choice = string | { label: string; description?: string };

/** Dialogs and displays. Where a client cannot ask, or the user does not answer, dialogs return their default. */
export class Ui {
  readonly #runtime: Runtime;
  readonly #call: Call;

  /** @internal */
  constructor(runtime: Runtime, call: Call) {
    this.#runtime = runtime;
    this.#call = call;
  }

  #ask(method: string, params: Json, options: DialogOptions, fallback: unknown): Promise<unknown> {
    const asked = given({ ...params, timeout: options.timeout });
    return this.#runtime.request(this.#call, method, asked, { fallback, signal: options.signal });
  }

  /** Asks for one of several options; `undefined` if there is no answer. */
  async select(title: string, choices: readonly Choice[], options: DialogOptions = {}): Promise<string | undefined> {
    const details = choices.map((choice) => (typeof choice === "string" ? {} : given({ description: choice.description })));
    const asked = given({
      title,
      options: choices.map((choice) => (typeof choice === "string" ? choice : choice.label)),
      optionDetails: details.some((detail) => "description" in detail) ? details : undefined,
    });
    const answer = await this.#ask("ui.select", asked, options, undefined);
    return (answer as string | null) ?? undefined;
  }

  /** Asks yes or no; `false` if there is no answer. */
  async confirm(title: string, message = "", options: DialogOptions = {}): Promise<boolean> {
    return (await this.#ask("ui.confirm", { title, message }, options, false)) === true;
  }

  /** Asks for a line of text; `undefined` if there is no answer. */
  async input(title: string, placeholder?: string, options: DialogOptions = {}): Promise<string | undefined> {
    return ((await this.#ask("ui.input", { title, placeholder }, options, undefined)) as string | null) ?? undefined;
  }

  /** Asks for text of any length; `undefined` if there is no answer. */
  async editor(
    title: string,
    prefill?: string,
    /** With `promptStyle` the client shows the editor as the place where prompts are written. */
    options: DialogOptions & { promptStyle?: boolean } = {},
  ): Promise<string | undefined> {
    const asked = { title, prefill, promptStyle: options.promptStyle };
    return ((await this.#ask("ui.editor", asked, options, undefined)) as string | null) ?? undefined;
  }

  /** Shows a message. */
  notify(message: string, type: "info" | "warning" | "error" = "info"): void {
    this.#runtime.notify("ui.notify", { message, type });
  }

  /** Shows a short text under a key; `undefined` removes it. */
  setStatus(key: string, value: string | undefined): void {
    this.#runtime.notify("ui.setStatus", given({ key, text: value }));
  }

  /** Shows lines of text under a key; `undefined` removes them. */
  setWidget(
    key: string,
    lines: readonly string[] | undefined,
    options: { placement?: "aboveEditor" | "belowEditor" } = {},
  ): void {
    this.#runtime.notify("ui.setWidget", given({ key, lines, placement: options.placement }));
  }

  /** Sets the title of the client's window. */
  setTitle(title: string): void {
    this.#runtime.notify("ui.setTitle", { title });
  }

  /** Replaces what the user is typing. */
  setEditorText(value: string): void {
    this.#runtime.notify("ui.setEditorText", { text: value });
  }

  /** Asks the user to open a web page. `launchUrl` is opened instead, if `url` is only to be shown. */
  openUrl(url: string, options: { instructions?: string; launchUrl?: string } = {}): void {
    this.#runtime.notify("ui.openUrl", given({ url, ...options }));
  }
}

/** The session that the extension takes part in. */
export class Session {
  readonly #runtime: Runtime;
  readonly #call: Call;

  /** @internal */
  constructor(runtime: Runtime, call: Call) {
    this.#runtime = runtime;
    this.#call = call;
  }

  get id(): string {
    return this.#runtime.state["sessionId"] ?? "";
  }

  /** The session's file, if it has one. */
  get file(): string | undefined {
    return this.#runtime.state["sessionFile"] ?? undefined;
  }

  /** The session's name, if it has one. */
  get name(): string | undefined {
    return this.#runtime.state["sessionName"] ?? undefined;
  }

  /** The entry that the conversation ends with. */
  get leafId(): string | undefined {
    return this.#runtime.state["leafId"] ?? undefined;
  }

  /** The entries that were added since the extension was started, if it wants them. */
  get knownEntries(): readonly Json[] {
    return this.#runtime.entries;
  }

  /**
   * Adds a message of the extension to the conversation, which the model reads as one of the user. `triggerTurn: true`
   * calls the model if nothing is in progress.
   */
  sendMessage(
    message: { customType: string; content: ContentLike; display?: boolean; details?: unknown },
    options: { deliverAs?: "steer" | "followUp" | "nextTurn"; triggerTurn?: boolean } = {},
  ): void {
    const { customType, content, display = true, details } = message;
    const sent = given({ customType, content: contentOf(content), display, details });
    this.#runtime.notify("session.sendMessage", { message: sent, ...given(options) });
  }

  /** Sends a message as the user would. During a run `deliverAs` says how it is queued. */
  sendUserMessage(
    content: ContentLike,
    options: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean } = {},
  ): void {
    this.#runtime.notify("session.sendUserMessage", { content: contentOf(content), ...given(options) });
  }

  /** Adds data to the session's file that the model does not see. */
  appendEntry(customType: string, data?: unknown): void {
    this.#runtime.notify("session.appendEntry", given({ customType, data }));
  }

  /** Names the session. */
  setName(name: string): void {
    this.#runtime.state["sessionName"] = name;
    this.#runtime.notify("session.setName", { name });
  }

  /** Labels an entry; `undefined` removes the label. */
  setLabel(entryId: string, label: string | undefined): void {
    this.#runtime.notify("session.setLabel", given({ entryId, label }));
  }

  /** Returns the entries of the session, or those that follow an entry. */
  async entries(since?: string): Promise<Json[]> {
    return ((await this.#runtime.request(this.#call, "session.entries", given({ since }))) as Json)["entries"];
  }

  /** Returns the system prompt and the messages as the model sees them. */
  async context(): Promise<{ systemPrompt: string; messages: Message[] }> {
    const context = await this.#runtime.request(this.#call, "session.context", {});
    return context as { systemPrompt: string; messages: Message[] };
  }

  /** Waits until nothing is in progress. */
  async waitIdle(): Promise<void> {
    await this.#runtime.request(this.#call, "session.waitIdle", {});
  }

  /** Starts another session. Returns whether that happened. For commands, as all of the following. */
  new(options: { parentSession?: string } = {}): Promise<boolean> {
    return this.#switch("session.new", options);
  }

  /** Starts another session with what came before a message of the user. */
  fork(entryId: string): Promise<boolean> {
    return this.#switch("session.fork", { entryId });
  }

  /** Opens another session. */
  switch(sessionPath: string): Promise<boolean> {
    return this.#switch("session.switch", { sessionPath });
  }

  /** Continues from another entry of the session; `summarize` summarizes the branch that is left. */
  navigate(targetId: string, options: { summarize?: boolean; customInstructions?: string } = {}): Promise<boolean> {
    return this.#switch("session.navigate", { targetId, ...options });
  }

  /**
   * Starts all extensions anew and reads settings and resources again, as soon as nothing is in progress. This process
   * is ended by it, so nothing should follow.
   */
  async reload(): Promise<void> {
    await this.#runtime.request(this.#call, "session.reload", {});
  }

  async #switch(method: string, params: Json): Promise<boolean> {
    const result = (await this.#runtime.request(this.#call, method, given(params))) as { cancelled: boolean };
    return !result.cancelled;
  }
}

/** How a model is called. */
export interface ModelOptions {
  /** `provider/id`; the session's model if absent. */
  model?: string;
  systemPrompt?: string;
  maxTokens?: number;
  thinkingLevel?: string;
  tools?: { name: string; description: string; parameters: Json }[];
}

/** Models: the session's, the others, and calls of them. */
export class Models {
  readonly #runtime: Runtime;
  readonly #call: Call;

  /** @internal */
  constructor(runtime: Runtime, call: Call) {
    this.#runtime = runtime;
    this.#call = call;
  }

  /** The session's model, if it has one. */
  get current(): Model | undefined {
    return this.#runtime.state["model"] ?? undefined;
  }

  /** The session's thinking level. */
  get thinkingLevel(): string {
    return this.#runtime.state["thinkingLevel"] ?? "off";
  }

  /** Chooses the model of the session. */
  set(provider: string, modelId: string): void {
    this.#runtime.notify("model.set", { provider, modelId });
  }

  /** Chooses the thinking level of the session. */
  setThinkingLevel(level: string): void {
    this.#runtime.state["thinkingLevel"] = level;
    this.#runtime.notify("thinking.set", { level });
  }

  /** Returns the models that can be used. `refresh` has providers of extensions list theirs anew. */
  async list({ refresh = false } = {}): Promise<Model[]> {
    return (await this.#runtime.request(this.#call, "model.list", refresh ? { refresh } : {})) as Model[];
  }

  /** Returns the key of a provider, if there is one. Extensions of a project get none. */
  async apiKey(provider: string): Promise<string | undefined> {
    return ((await this.#runtime.request(this.#call, "model.auth", { provider })) as { apiKey?: string }).apiKey;
  }

  /** Calls a model and returns its answer; `textOf` has its text. */
  async complete(prompt: string | Message[], options: ModelOptions = {}): Promise<Message> {
    return (await this.#runtime.request(this.#call, "model.complete", modelParams(prompt, options))) as Message;
  }

  /** Calls a model and yields the events of its answer as they arrive. */
  async *stream(prompt: string | Message[], options: ModelOptions = {}): AsyncGenerator<Json, Message> {
    const controller = new AbortController();
    const arrived: Json[] = [];
    let wake = (): void => undefined;
    let answer: Message | undefined;
    let failure: unknown;
    let isDone = false;
    const chunk = (event: Json): void => {
      arrived.push(event);
      wake();
    };
    this.#runtime
      .request(this.#call, "model.stream", modelParams(prompt, options), { signal: controller.signal, chunk })
      .then((value) => (answer = value as Message))
      .catch((error: unknown) => (failure = error))
      .finally(() => {
        isDone = true;
        wake();
      });
    try {
      while (true) {
        while (arrived.length > 0) yield arrived.shift() as Json;
        if (isDone) break;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      controller.abort();
    }
    if (failure !== undefined) throw failure;
    return answer as Message;
  }
}

function modelParams(prompt: string | Message[], options: ModelOptions): Json {
  return given({ ...(typeof prompt === "string" ? { prompt } : { messages: prompt }), ...options });
}

/** The tools of the session. */
export class Tools {
  readonly #runtime: Runtime;
  readonly #call: Call;

  /** @internal */
  constructor(runtime: Runtime, call: Call) {
    this.#runtime = runtime;
    this.#call = call;
  }

  /** The names of the tools that the model can call. */
  get active(): readonly string[] {
    return this.#runtime.state["activeTools"] ?? [];
  }

  /** Every tool that the session knows. */
  get all(): readonly Json[] {
    return this.#runtime.state["allTools"] ?? [];
  }

  /** Enables these tools and no others. */
  setActive(names: readonly string[]): void {
    this.#runtime.state["activeTools"] = [...names];
    this.#runtime.notify("tools.setActive", { names });
  }

  /** Runs a tool of the session and returns its result. */
  async execute(name: string, args: Json = {}): Promise<{ content: Content[]; details?: unknown; isError: boolean }> {
    const result = await this.#runtime.request(this.#call, "tool.execute", { name, args });
    return result as { content: Content[]; isError: boolean };
  }
}

/** What a program did. `killed` if it took too long or was cancelled, `truncated` if it wrote too much. */
export interface ExecResult {
  stdout: string;
  stderr: string;
  code: number;
  killed: boolean;
  truncated: boolean;
}

/** What handlers use. */
export class Context {
  readonly ui: Ui;
  readonly session: Session;
  readonly model: Models;
  readonly tools: Tools;
  readonly #runtime: Runtime;
  readonly #call: Call;

  /** @internal */
  constructor(runtime: Runtime, call: Call) {
    this.#runtime = runtime;
    this.#call = call;
    this.ui = new Ui(runtime, call);
    this.session = new Session(runtime, call);
    this.model = new Models(runtime, call);
    this.tools = new Tools(runtime, call);
  }

  /** The folder of the session. */
  get cwd(): string {
    return this.#runtime.state["cwd"] ?? process.cwd();
  }

  /** How bowline runs: "rpc", "print" or "json". */
  get mode(): string {
    return this.#runtime.init?.["mode"] ?? "rpc";
  }

  /** Whether dialogs can be answered. */
  get hasUI(): boolean {
    return this.#runtime.init?.["hasUI"] === true;
  }

  /** Whether the project is trusted. */
  get trusted(): boolean {
    return this.#runtime.init?.["trusted"] === true;
  }

  /** Whether nothing is in progress. */
  get isIdle(): boolean {
    return this.#runtime.state["isIdle"] ?? true;
  }

  /** How full the model's context is. */
  get contextUsage(): { tokens: number | null; contextWindow: number; percent: number | null } | undefined {
    return this.#runtime.state["contextUsage"] ?? undefined;
  }

  /** What bowline last said of the session, without asking again. */
  get state(): Readonly<Json> {
    return this.#runtime.state;
  }

  /** Is aborted when what the handler works for is cancelled. */
  get signal(): AbortSignal {
    return this.#call.controller.signal;
  }

  /** Whether what the handler works for was cancelled. */
  get cancelled(): boolean {
    return this.signal.aborted;
  }

  /** Waits. Throws `Cancelled` as soon as what the handler works for is cancelled. */
  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.cancelled) return reject(this.signal.reason as Error);
      const cancelled = (): void => {
        clearTimeout(timer);
        reject(this.signal.reason as Error);
      };
      const timer = setTimeout(() => {
        this.signal.removeEventListener("abort", cancelled);
        resolve();
      }, milliseconds);
      this.signal.addEventListener("abort", cancelled, { once: true });
    });
  }

  /** Shows the progress of a tool. Each update replaces the one before. */
  update(content: ContentLike, details?: unknown): void {
    if (this.#call.id === undefined) throw new TypeError("only a tool that is running can show its progress");
    this.#runtime.wire.send("update", { id: this.#call.id, partial: given({ content: contentOf(content), details }) });
  }

  /** Aborts the run in progress. */
  abort(): void {
    this.#runtime.notify("agent.abort", {});
  }

  /** Ends bowline once what is in progress is over. */
  shutdown(): void {
    this.#runtime.notify("agent.shutdown", {});
  }

  /** Sends data to the other extensions. */
  emit(channel: string, data: unknown = null): void {
    this.#runtime.notify("bus.emit", { channel, data });
  }

  /** Writes a line to bowline's log. */
  log(message: string, level: "debug" | "info" | "warning" | "error" = "info"): void {
    this.#runtime.wire.send("log", { level, message });
  }

  /** Summarizes the conversation. */
  async compact(customInstructions?: string): Promise<Json> {
    return (await this.#runtime.request(this.#call, "agent.compact", given({ customInstructions }))) as Json;
  }

  /** Returns a setting of the user, with dots between the levels of its name, or all of them. */
  setting(key?: string): Promise<unknown> {
    return this.#runtime.request(this.#call, "settings.get", given({ key }));
  }

  /** Runs a program without a shell, in the session's folder. It is killed if the handler is cancelled. */
  async exec(
    command: string,
    args: readonly string[] = [],
    options: { cwd?: string; timeout?: number } = {},
  ): Promise<ExecResult> {
    return (await this.#runtime.request(this.#call, "exec", { command, args, ...given(options) })) as ExecResult;
  }
}

// --- The extension ---------------------------------------------------------------------------------------------------

/** An extension: what it registers, and its connection to bowline. */
export class Extension {
  readonly name: string;
  readonly version: string | undefined;
  readonly #wants: readonly string[];
  #handlers: Subscription[] = [];
  readonly #tools = new Map<string, Tool>();
  readonly #commands = new Map<string, Command>();
  readonly #flags = new Map<string, Json & { value: unknown }>();
  readonly #providers = new Map<string, Provider>();
  readonly #channels = new Map<string, ((data: unknown, ctx: Context) => unknown)[]>();
  #runtime: Runtime | undefined;

  /** `wants: ["entries"]` asks for every entry that is added to the session; `ctx.session.knownEntries` has them. */
  constructor(name: string, options: { version?: string; wants?: "entries"[] } = {}) {
    this.name = name;
    this.version = options.version;
    this.#wants = options.wants ?? [];
  }

  /**
   * Adds a handler of an event and returns a function that removes it. `tool` restricts events about tools to those
   * with these names. `wait: false` is for handlers that bowline need not wait for; their results have no effect.
   */
  on<Name extends HookName>(
    event: Name,
    handler: Handler<Name>,
    options: { tool?: string | readonly string[]; wait?: boolean } = {},
  ): () => void {
    if (!(event in HOOKS)) {
      throw new TypeError(`there is no event named ${event}; the events are ${Object.keys(HOOKS).join(", ")}`);
    }
    const { tool, wait = true } = options;
    if (tool !== undefined && !event.startsWith("tool_")) throw new TypeError(`${event} is not about tools`);
    const tools = tool === undefined ? undefined : typeof tool === "string" ? [tool] : [...tool];
    const subscription = { event, handler, tools, waits: wait && HOOKS[event] !== "streams" };
    this.#handlers.push(subscription);
    this.#announce("register", { hooks: this.#hooks().filter((hook) => hook["event"] === event) });
    return () => this.#remove(subscription);
  }

  #remove(subscription: Subscription): void {
    const { event } = subscription;
    const before = this.#handlers.length;
    this.#handlers = this.#handlers.filter((handler) => handler !== subscription);
    if (this.#handlers.length === before) return;
    const remaining = this.#hooks().filter((hook) => hook["event"] === event);
    if (remaining.length > 0) this.#announce("register", { hooks: remaining });
    else this.#announce("unregister", { hooks: [event] });
  }

  /** Adds a tool that the model can call. */
  tool(tool: Tool): void {
    this.#tools.set(tool.name, tool);
    this.#announce("register", { tools: [toolDefinition(tool)] });
  }

  removeTool(name: string): void {
    if (this.#tools.delete(name)) this.#announce("unregister", { tools: [name] });
  }

  /** Adds the slash command `/name`. */
  command(name: string, command: Command): void {
    const knownAs = name.replace(/^\//, "");
    this.#commands.set(knownAs, command);
    this.#announce("register", { commands: [commandDefinition(knownAs, command)] });
  }

  removeCommand(name: string): void {
    if (this.#commands.delete(name)) this.#announce("unregister", { commands: [name] });
  }

  /** Adds `--name` to bowline's command line. */
  flag(name: string, options: { type: "boolean"; description?: string; default?: boolean }): Flag<boolean>;
  flag(name: string, options: { type: "string"; description?: string; default: string }): Flag<string>;
  flag(name: string, options: { type: "string"; description?: string }): Flag<string | undefined>;
  flag(
    name: string,
    options: { type: "boolean" | "string"; description?: string; default?: boolean | string },
  ): Flag<boolean | string | undefined> {
    const fallback = options.default ?? (options.type === "boolean" ? false : undefined);
    const definition = given({ name, type: options.type, description: options.description, default: fallback });
    const flag = { name, definition, value: fallback };
    this.#flags.set(name, flag);
    this.#announce("register", { flags: [definition] });
    return flag;
  }

  /** Adds a provider of models. */
  provider(name: string, provider: Provider): void {
    this.#providers.set(name, provider);
    this.#announce("register", { providers: [providerDefinition(name, provider)] });
  }

  removeProvider(name: string): void {
    if (this.#providers.delete(name)) this.#announce("unregister", { providers: [name] });
  }

  /** Adds a receiver of what other extensions emit on a channel. */
  onMessage(channel: string, receive: (data: unknown, ctx: Context) => unknown): void {
    if (this.#channels.size === 0) this.#announce("register", { hooks: [{ event: "bus", await: false }] });
    this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), receive]);
  }

  /** Serves bowline until it closes the connection. */
  run(): void {
    if (process.stdin.isTTY) {
      const hint = `bowline extension check ${process.argv[1] ?? ""}`;
      console.error(`${this.name} is an extension of bowline and is started by it. To try it out: ${hint}`);
      process.exit(2);
    }
    const runtime = new Runtime(this, wire ?? new Wire());
    this.#runtime = runtime;
    process.on("uncaughtException", (error) => runtime.report("uncaughtException", error));
    process.on("unhandledRejection", (error) => runtime.report("unhandledRejection", error));
    let parts: string[] = [];
    process.stdin.setEncoding("utf8");
    process.stdin.on("data", (data) => {
      const lines = String(data).split("\n");
      const rest = lines.pop() as string;
      for (const line of lines) {
        parts.push(line);
        const whole = parts.join("");
        parts = [];
        runtime.handleLine(whole);
      }
      if (rest !== "") parts.push(rest);
    });
    process.stdin.on("end", () => runtime.end(EXIT_GRACE));
    process.stdin.on("error", () => runtime.end(EXIT_GRACE));
  }

  /** @internal */
  _handlersOf(event: Json): Subscription["handler"][] {
    const tool = event["toolName"] as string;
    return this.#handlers
      .filter((handler) => handler.event === event["type"] && (handler.tools?.includes(tool) ?? true))
      .map((handler) => handler.handler);
  }

  /** @internal */
  _receivers(channel: string): ((data: unknown, ctx: Context) => unknown)[] {
    return this.#channels.get(channel) ?? [];
  }

  /** @internal */
  _tool(name: string): Tool {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new TypeError(`there is no tool named ${name}`);
    return tool;
  }

  /** @internal */
  _command(name: string): Command {
    const command = this.#commands.get(name);
    if (command === undefined) throw new TypeError(`there is no command named ${name}`);
    return command;
  }

  /** @internal */
  _provider(name: string): Provider {
    const provider = this.#providers.get(name);
    if (provider === undefined) throw new TypeError(`there is no provider named ${name}`);
    return provider;
  }

  /** @internal */
  _takeFlags(values: Json): void {
    for (const [name, flag] of this.#flags) if (name in values) flag.value = values[name];
  }

  /** @internal */
  _registration(): Json {
    const parts: Json = {
      tools: [...this.#tools.values()].map(toolDefinition),
      commands: [...this.#commands].map(([name, command]) => commandDefinition(name, command)),
      flags: [...this.#flags.values()].map((flag) => flag["definition"]),
      hooks: this.#hooks(),
      providers: [...this.#providers].map(([name, provider]) => providerDefinition(name, provider)),
      wants: this.#wants,
    };
    const used = Object.fromEntries(Object.entries(parts).filter(([, part]) => part.length > 0));
    return given({ protocol: PROTOCOL, name: this.name, version: this.version, extensions: [used] });
  }

  /** Returns one subscription per event, which covers all of its handlers. */
  #hooks(): Json[] {
    const hooks = new Map<string, Json>();
    for (const handler of this.#handlers) {
      const hook = hooks.get(handler.event) ?? { event: handler.event, await: false, filter: { toolName: [] } };
      hooks.set(handler.event, hook);
      hook["await"] ||= handler.waits;
      if (handler.tools === undefined) delete hook["filter"];
      else if ("filter" in hook) {
        hook["filter"]["toolName"] = [...new Set([...hook["filter"]["toolName"], ...handler.tools])];
      }
    }
    if (this.#channels.size > 0) hooks.set("bus", { event: "bus", await: false });
    return [...hooks.values()];
  }

  /** Tells bowline of a change, if it has been told of the rest. */
  #announce(type: string, parts: Json): void {
    if (this.#runtime?.init !== undefined) this.#runtime.wire.send(type, parts);
  }
}

function toolDefinition(tool: Tool): Json {
  const { name, label = name, description, parameters = NO_PARAMETERS } = tool;
  const { promptSnippet, promptGuidelines, executionMode, defaultActive } = tool;
  const options = { promptSnippet, promptGuidelines, executionMode, defaultActive };
  return { name, label, description, parameters, ...given(options) };
}

function commandDefinition(name: string, command: Command): Json {
  const hasCompletion = command.complete === undefined ? undefined : true;
  return given({ name, description: command.description ?? "", hasCompletion });
}

function providerDefinition(name: string, provider: Provider): Json {
  const { models, baseUrl, api, apiKey, headers, authHeader } = provider;
  const stream = provider.stream !== undefined;
  const refresh = provider.refresh !== undefined;
  return given({ name, stream, refresh, models, baseUrl, api, apiKey, headers, authHeader });
}

// bowline names the extension in this variable when it starts one. Then standard output is the protocol's from here on,
// before any other module writes to it.
const wire = process.env["BOWLINE_EXTENSION"] === undefined ? undefined : new Wire();
delete process.env["BOWLINE_EXTENSION"];
