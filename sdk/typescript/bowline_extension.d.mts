/** The version of the protocol that this file speaks. */
export declare const PROTOCOL = 1;
/** The most bytes that a record may have. */
export declare const MAX_LINE: number;
/** How many milliseconds handlers may take to end once bowline has closed the connection. */
export declare const EXIT_GRACE = 2000;
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
export declare function text(value: string): TextContent;
/** Returns the text of a message, without thinking, tool calls and images. */
export declare function textOf(message: Message): string;
/**
 * Returns an image for a message or a tool's result, from its bytes or from a file. The kind is found in the bytes;
 * `mimeType` names it where that fails.
 */
export declare function image(source: Uint8Array | string | URL, mimeType?: string): ImageContent;
export interface ProjectTrustEvent {
    type: "project_trust";
    cwd: string;
}
/** The first answer other than "undecided" counts. */
export interface ProjectTrustResult {
    trusted: "yes" | "no" | "undecided";
    remember?: boolean;
}
/** A session was started or reloaded: further resources can be named. */
export interface ResourcesDiscoverEvent {
    type: "resources_discover";
    cwd: string;
    reason: "startup" | "reload";
}
/** Further folders or files of skills and prompt templates. */
export interface ResourcesDiscoverResult {
    skillPaths?: string[];
    promptPaths?: string[];
}
/** A session has begun. */
export interface SessionStartEvent {
    type: "session_start";
    reason: "startup" | "reload" | "new" | "resume" | "fork";
    previousSessionFile?: string;
}
/** The session has another name. */
export interface SessionInfoChangedEvent {
    type: "session_info_changed";
    name?: string;
}
/** The client is about to start or open another session. */
export interface SessionBeforeSwitchEvent {
    type: "session_before_switch";
    reason: "new" | "resume";
    targetSessionFile?: string;
}
/** The client is about to fork or clone the session. */
export interface SessionBeforeForkEvent {
    type: "session_before_fork";
    entryId: string;
    position: "before" | "at";
}
/** `cancel: true` prevents the action. */
export interface CancelResult {
    cancel?: boolean;
}
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
    compaction?: {
        summary: string;
        firstKeptEntryId?: string;
        tokensBefore?: number;
        details?: unknown;
    };
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
export interface SessionBeforeTreeEvent {
    type: "session_before_tree";
    preparation: Json;
}
/** `summary` replaces the summary of a model. */
export interface SessionBeforeTreeResult extends CancelResult {
    summary?: {
        summary: string;
        details?: unknown;
    };
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
export type InputResult = {
    action: "continue" | "handled";
} | {
    action: "transform";
    text: string;
    images?: ImageContent[];
};
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
export interface AgentStartEvent {
    type: "agent_start";
}
/** The model has finished; retries and queued messages may follow. */
export interface AgentEndEvent {
    type: "agent_end";
    messages: Message[];
}
/** The model is about to be called. */
export interface TurnStartEvent {
    type: "turn_start";
    turnIndex: number;
    timestamp: number;
}
export type Outcome = "completed" | "aborted" | "error";
/** An entry to add to the session. */
export type EntryDraft = {
    type: "custom";
    customType: string;
    data?: unknown;
} | ({
    type: "custom_message";
} & CustomMessage) | {
    type: "context_edit";
    targetId: string;
    replacement?: unknown;
} | {
    type: "compaction";
    summary: string;
    firstKeptEntryId?: string | null;
    details?: unknown;
};
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
export interface BoundaryResult {
    entries?: EntryDraft[];
    continue?: boolean;
}
/** A run has ended. */
export interface AgentSettledEvent {
    type: "agent_settled";
    aborted: boolean;
}
/** A message begins. */
export interface MessageStartEvent {
    type: "message_start";
    message: Message;
}
/** More of an answer has arrived. */
export interface MessageUpdateEvent {
    type: "message_update";
    assistantMessageEvent: Json;
    usage: Json;
}
/** A message is complete and not stored yet. */
export interface MessageEndEvent {
    type: "message_end";
    message: Message;
}
/** A message of the same role that replaces the one at its end. */
export interface MessageEndResult {
    message?: Message;
}
/** The conversation as it is sent to the model. */
export interface ContextEvent {
    type: "context";
    messages: Message[];
}
/** The same after all handlers of `context`, with the system prompt. */
export interface ContextWithSystemEvent {
    type: "context_with_system";
    systemPrompt: string;
    messages: Message[];
}
/** The conversation to send instead, this time only, or changes to it. */
export interface ContextResult {
    messages?: Message[];
    patch?: ({
        op: "remove";
        index: number;
    } | {
        op: "insert" | "replace";
        index: number;
        message: Message;
    })[];
}
/** The headers of a request to a provider. */
export interface HeadersEvent {
    type: "before_provider_headers";
    headers: Record<string, string>;
}
/** Headers to set; `null` removes one. */
export interface HeadersResult {
    headers?: Record<string, string | null>;
}
/** The JSON body of a request to a provider. What the handler returns is sent instead. */
export interface ProviderRequestEvent {
    type: "before_provider_request";
    payload: Json;
}
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
export interface ToolCallEvent {
    type: "tool_call";
    toolName: string;
    toolCallId: string;
    input: Json;
}
/** `block` prevents the call and tells the model the reason; `input` replaces the arguments. */
export interface ToolCallResult {
    block?: boolean;
    reason?: string;
    terminate?: boolean;
    input?: Json;
}
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
export interface UserBashEvent {
    type: "user_bash";
    command: string;
    excludeFromContext: boolean;
    cwd: string;
}
/** The result of the command, which is then not run. */
export interface UserBashResult {
    result?: {
        output: string;
        exitCode?: number;
        cancelled?: boolean;
        truncated?: boolean;
        fullOutputPath?: string;
    };
}
/** Another model was chosen. */
export interface ModelSelectEvent {
    type: "model_select";
    model: Model;
    previousModel?: Model;
    source: "set" | "cycle" | "restore";
}
/** Another thinking level was chosen. */
export interface ThinkingLevelSelectEvent {
    type: "thinking_level_select";
    level: string;
    previousLevel: string;
}
/** A dialog was opened. */
export interface UiPromptStartEvent {
    type: "ui_prompt_start";
    reason: "ui_prompt";
    kind: string;
    title: string;
}
/** A dialog was closed. */
export interface UiPromptEndEvent {
    type: "ui_prompt_end";
    reason: "ui_prompt";
    kind: string;
    title: string;
}
/** An extension shows a message to the user. Not in pi. */
export interface UiNotifyEvent {
    type: "ui_notify";
    message: string;
    level?: "info" | "warning" | "error";
}
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
export type Handler<Name extends HookName> = (event: Hooks[Name][0], ctx: Context) => MaybePromise<Hooks[Name][1] | undefined | null | void>;
/**
 * What each hook can do: "decides" hooks take results, "observes" hooks only hold up what follows, and "streams" hooks
 * are never waited for. A test compares this table with the engine's.
 */
export declare const HOOKS: Readonly<Record<HookName, "decides" | "observes" | "streams">>;
/** bowline refused a request; the message says why. */
export declare class RequestError extends Error {
    name: string;
}
/** Why the answer of a provider failed, which decides whether bowline asks again. */
export type ProviderErrorKind = "auth" | "not_found" | "rate_limit" | "overloaded" | "quota" | "network" | "timeout" | "context" | "refused";
/** Thrown by a provider whose answer fails. */
export declare class ProviderError extends Error {
    name: string;
    readonly kind: ProviderErrorKind | undefined;
    /** How long a retry should wait, in milliseconds. */
    readonly retryAfter: number | undefined;
    constructor(message: string, about?: {
        kind?: ProviderErrorKind;
        retryAfter?: number;
    });
}
/** What the handler works for was cancelled: aborted, out of time, or its session has ended. */
export declare class Cancelled extends Error {
    name: string;
}
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
    tools: {
        name: string;
        description: string;
        parameters: Json;
    }[];
    thinkingLevel: string;
    maxTokens?: number;
    sessionId: string;
}
/** A piece of a provider's answer; a string is text. */
export type Piece = string | {
    type: "thinking";
    thinking: string;
    signature?: string;
} | {
    type: "toolCall";
    id: string;
    name: string;
    arguments: Json;
} | {
    type: "usage";
    input?: number;
    output?: number;
    cacheRead?: number;
    cacheWrite?: number;
} | {
    type: "stop";
    reason: "stop" | "length" | "toolUse";
};
/** A model of a provider, as in `models.json`. */
export interface ProviderModel {
    id: string;
    name?: string;
    reasoning?: boolean;
    input?: ("text" | "image")[];
    cost?: {
        input?: number;
        output?: number;
        cacheRead?: number;
        cacheWrite?: number;
    };
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
/** How a dialog ends without an answer. */
export interface DialogOptions {
    /** After this time in milliseconds the default is returned. */
    timeout?: number;
    /** Withdraws the dialog. */
    signal?: AbortSignal;
}
/** An option of a dialog: its text, or its text and what is said about it. */
export type Choice = string | {
    label: string;
    description?: string;
};
/** Dialogs and displays. Where a client cannot ask, or the user does not answer, dialogs return their default. */
export declare class Ui {
    #private;
    /** Asks for one of several options; `undefined` if there is no answer. */
    select(title: string, choices: readonly Choice[], options?: DialogOptions): Promise<string | undefined>;
    /** Asks yes or no; `false` if there is no answer. */
    confirm(title: string, message?: string, options?: DialogOptions): Promise<boolean>;
    /** Asks for a line of text; `undefined` if there is no answer. */
    input(title: string, placeholder?: string, options?: DialogOptions): Promise<string | undefined>;
    /** Asks for text of any length; `undefined` if there is no answer. */
    editor(title: string, prefill?: string, 
    /** With `promptStyle` the client shows the editor as the place where prompts are written. */
    options?: DialogOptions & {
        promptStyle?: boolean;
    }): Promise<string | undefined>;
    /** Shows a message. */
    notify(message: string, type?: "info" | "warning" | "error"): void;
    /** Shows a short text under a key; `undefined` removes it. */
    setStatus(key: string, value: string | undefined): void;
    /** Shows lines of text under a key; `undefined` removes them. */
    setWidget(key: string, lines: readonly string[] | undefined, options?: {
        placement?: "aboveEditor" | "belowEditor";
    }): void;
    /** Sets the title of the client's window. */
    setTitle(title: string): void;
    /** Replaces what the user is typing. */
    setEditorText(value: string): void;
    /** Asks the user to open a web page. `launchUrl` is opened instead, if `url` is only to be shown. */
    openUrl(url: string, options?: {
        instructions?: string;
        launchUrl?: string;
    }): void;
}
/** The session that the extension takes part in. */
export declare class Session {
    #private;
    get id(): string;
    /** The session's file, if it has one. */
    get file(): string | undefined;
    /** The session's name, if it has one. */
    get name(): string | undefined;
    /** The entry that the conversation ends with. */
    get leafId(): string | undefined;
    /** The entries that were added since the extension was started, if it wants them. */
    get knownEntries(): readonly Json[];
    /**
     * Adds a message of the extension to the conversation, which the model reads as one of the user. `triggerTurn: true`
     * calls the model if nothing is in progress.
     */
    sendMessage(message: {
        customType: string;
        content: ContentLike;
        display?: boolean;
        details?: unknown;
    }, options?: {
        deliverAs?: "steer" | "followUp" | "nextTurn";
        triggerTurn?: boolean;
    }): void;
    /** Sends a message as the user would. During a run `deliverAs` says how it is queued. */
    sendUserMessage(content: ContentLike, options?: {
        deliverAs?: "steer" | "followUp";
        expandPromptTemplates?: boolean;
    }): void;
    /** Adds data to the session's file that the model does not see. */
    appendEntry(customType: string, data?: unknown): void;
    /** Names the session. */
    setName(name: string): void;
    /** Labels an entry; `undefined` removes the label. */
    setLabel(entryId: string, label: string | undefined): void;
    /** Returns the entries of the session, or those that follow an entry. */
    entries(since?: string): Promise<Json[]>;
    /** Returns the system prompt and the messages as the model sees them. */
    context(): Promise<{
        systemPrompt: string;
        messages: Message[];
    }>;
    /** Waits until nothing is in progress. */
    waitIdle(): Promise<void>;
    /** Starts another session. Returns whether that happened. For commands, as all of the following. */
    new(options?: {
        parentSession?: string;
    }): Promise<boolean>;
    /** Starts another session with what came before a message of the user. */
    fork(entryId: string): Promise<boolean>;
    /** Opens another session. */
    switch(sessionPath: string): Promise<boolean>;
    /** Continues from another entry of the session; `summarize` summarizes the branch that is left. */
    navigate(targetId: string, options?: {
        summarize?: boolean;
        customInstructions?: string;
    }): Promise<boolean>;
    /**
     * Starts all extensions anew and reads settings and resources again, as soon as nothing is in progress. This process
     * is ended by it, so nothing should follow.
     */
    reload(): Promise<void>;
}
/** How a model is called. */
export interface ModelOptions {
    /** `provider/id`; the session's model if absent. */
    model?: string;
    systemPrompt?: string;
    maxTokens?: number;
    thinkingLevel?: string;
    tools?: {
        name: string;
        description: string;
        parameters: Json;
    }[];
}
/** Models: the session's, the others, and calls of them. */
export declare class Models {
    #private;
    /** The session's model, if it has one. */
    get current(): Model | undefined;
    /** The session's thinking level. */
    get thinkingLevel(): string;
    /** Chooses the model of the session. */
    set(provider: string, modelId: string): void;
    /** Chooses the thinking level of the session. */
    setThinkingLevel(level: string): void;
    /** Returns the models that can be used. `refresh` has providers of extensions list theirs anew. */
    list({ refresh }?: {
        refresh?: boolean | undefined;
    }): Promise<Model[]>;
    /** Returns the key of a provider, if there is one. Extensions of a project get none. */
    apiKey(provider: string): Promise<string | undefined>;
    /** Calls a model and returns its answer; `textOf` has its text. */
    complete(prompt: string | Message[], options?: ModelOptions): Promise<Message>;
    /** Calls a model and yields the events of its answer as they arrive. */
    stream(prompt: string | Message[], options?: ModelOptions): AsyncGenerator<Json, Message>;
}
/** The tools of the session. */
export declare class Tools {
    #private;
    /** The names of the tools that the model can call. */
    get active(): readonly string[];
    /** Every tool that the session knows. */
    get all(): readonly Json[];
    /** Enables these tools and no others. */
    setActive(names: readonly string[]): void;
    /** Runs a tool of the session and returns its result. */
    execute(name: string, args?: Json): Promise<{
        content: Content[];
        details?: unknown;
        isError: boolean;
    }>;
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
export declare class Context {
    #private;
    readonly ui: Ui;
    readonly session: Session;
    readonly model: Models;
    readonly tools: Tools;
    /** The folder of the session. */
    get cwd(): string;
    /** How bowline runs: "rpc", "print" or "json". */
    get mode(): string;
    /** Whether dialogs can be answered. */
    get hasUI(): boolean;
    /** Whether the project is trusted. */
    get trusted(): boolean;
    /** Whether nothing is in progress. */
    get isIdle(): boolean;
    /** How full the model's context is. */
    get contextUsage(): {
        tokens: number | null;
        contextWindow: number;
        percent: number | null;
    } | undefined;
    /** What bowline last said of the session, without asking again. */
    get state(): Readonly<Json>;
    /** Is aborted when what the handler works for is cancelled. */
    get signal(): AbortSignal;
    /** Whether what the handler works for was cancelled. */
    get cancelled(): boolean;
    /** Waits. Throws `Cancelled` as soon as what the handler works for is cancelled. */
    sleep(milliseconds: number): Promise<void>;
    /** Shows the progress of a tool. Each update replaces the one before. */
    update(content: ContentLike, details?: unknown): void;
    /** Aborts the run in progress. */
    abort(): void;
    /** Ends bowline once what is in progress is over. */
    shutdown(): void;
    /** Sends data to the other extensions. */
    emit(channel: string, data?: unknown): void;
    /** Writes a line to bowline's log. */
    log(message: string, level?: "debug" | "info" | "warning" | "error"): void;
    /** Summarizes the conversation. */
    compact(customInstructions?: string): Promise<Json>;
    /** Returns a setting of the user, with dots between the levels of its name, or all of them. */
    setting(key?: string): Promise<unknown>;
    /** Runs a program without a shell, in the session's folder. It is killed if the handler is cancelled. */
    exec(command: string, args?: readonly string[], options?: {
        cwd?: string;
        timeout?: number;
    }): Promise<ExecResult>;
}
/** An extension: what it registers, and its connection to bowline. */
export declare class Extension {
    #private;
    readonly name: string;
    readonly version: string | undefined;
    /** `wants: ["entries"]` asks for every entry that is added to the session; `ctx.session.knownEntries` has them. */
    constructor(name: string, options?: {
        version?: string;
        wants?: "entries"[];
    });
    /**
     * Adds a handler of an event and returns a function that removes it. `tool` restricts events about tools to those
     * with these names. `wait: false` is for handlers that bowline need not wait for; their results have no effect.
     */
    on<Name extends HookName>(event: Name, handler: Handler<Name>, options?: {
        tool?: string | readonly string[];
        wait?: boolean;
    }): () => void;
    /** Adds a tool that the model can call. */
    tool(tool: Tool): void;
    removeTool(name: string): void;
    /** Adds the slash command `/name`. */
    command(name: string, command: Command): void;
    removeCommand(name: string): void;
    /** Adds `--name` to bowline's command line. */
    flag(name: string, options: {
        type: "boolean";
        description?: string;
        default?: boolean;
    }): Flag<boolean>;
    flag(name: string, options: {
        type: "string";
        description?: string;
        default: string;
    }): Flag<string>;
    flag(name: string, options: {
        type: "string";
        description?: string;
    }): Flag<string | undefined>;
    /** Adds a provider of models. */
    provider(name: string, provider: Provider): void;
    removeProvider(name: string): void;
    /** Adds a receiver of what other extensions emit on a channel. */
    onMessage(channel: string, receive: (data: unknown, ctx: Context) => unknown): void;
    /** Serves bowline until it closes the connection. */
    run(): void;
}
export {};
