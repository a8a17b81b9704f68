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
/** Returns a piece of text for a message or a tool's result. */
export function text(value) {
    return { type: "text", text: value };
}
/** Returns the text of a message, without thinking, tool calls and images. */
export function textOf(message) {
    const content = message["content"] ?? "";
    if (typeof content === "string")
        return content;
    return content.map((part) => (part["type"] === "text" ? part["text"] : "")).join("");
}
const IMAGE_KINDS = [
    ["89504e470d0a1a0a", "image/png"],
    ["ffd8ff", "image/jpeg"],
    ["47494638", "image/gif"],
];
/**
 * Returns an image for a message or a tool's result, from its bytes or from a file. The kind is found in the bytes;
 * `mimeType` names it where that fails.
 */
export function image(source, mimeType) {
    const bytes = source instanceof Uint8Array ? source : readFileSync(source);
    const kind = mimeType ?? imageKind(bytes);
    if (kind === undefined)
        throw new TypeError("the image is not PNG, JPEG, GIF or WebP: name its mimeType");
    return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: kind };
}
function imageKind(bytes) {
    const start = Buffer.from(bytes.subarray(0, 12));
    const known = IMAGE_KINDS.find(([magic]) => start.toString("hex").startsWith(magic));
    if (known !== undefined)
        return known[1];
    const isWebp = start.toString("latin1", 0, 4) === "RIFF" && start.toString("latin1", 8, 12) === "WEBP";
    return isWebp ? "image/webp" : undefined;
}
function contentOf(value) {
    if (typeof value === "string")
        return [text(value)];
    if (!Array.isArray(value))
        return [value];
    return value.map((part) => (typeof part === "string" ? text(part) : part));
}
/**
 * What each hook can do: "decides" hooks take results, "observes" hooks only hold up what follows, and "streams" hooks
 * are never waited for. A test compares this table with the engine's.
 */
export const HOOKS = {
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
    name = "RequestError";
}
/** Thrown by a provider whose answer fails. */
export class ProviderError extends Error {
    name = "ProviderError";
    kind;
    /** How long a retry should wait, in milliseconds. */
    retryAfter;
    constructor(message, about = {}) {
        super(message);
        this.kind = about.kind;
        this.retryAfter = about.retryAfter;
    }
}
/** What the handler works for was cancelled: aborted, out of time, or its session has ended. */
export class Cancelled extends Error {
    name = "Cancelled";
}
function toolOutcome(value) {
    if (value === undefined || value === null)
        return { content: [] };
    if (typeof value === "string")
        return { content: contentOf(value) };
    if (isPiece(value))
        return { content: [value] };
    if (Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === "string" || isPiece(part))) {
        return { content: contentOf(value) };
    }
    const content = value["content"];
    if (typeof content === "string" || Array.isArray(content) || isPiece(content)) {
        return { ...value, content: contentOf(content) };
    }
    return { content: contentOf(JSON.stringify(value, null, 2)) };
}
function isPiece(value) {
    if (typeof value !== "object" || value === null)
        return false;
    const kind = value["type"];
    return kind === "text" || kind === "image";
}
/** Returns an object without its undefined fields. */
function given(fields) {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
/** Returns an error as bowline reads it. */
function describe(error) {
    const about = { message: messageOf(error) };
    if (error instanceof ProviderError) {
        if (error.kind !== undefined)
            about["kind"] = error.kind;
        if (error.retryAfter !== undefined)
            about["retryAfterMs"] = Math.round(error.retryAfter);
    }
    return about;
}
function messageOf(error) {
    if (error instanceof Error)
        return error.message === "" ? error.name : error.message;
    return String(error);
}
// --- Chains of handlers ----------------------------------------------------------------------------------------------
const JOINED = new Set(["skillPaths", "promptPaths", "entries"]);
/** The results of several handlers of one event. Each handler sees what the ones before it changed. */
class Chain {
    result;
    // pi's handlers edit these fields in place, so that works here too.
    #edited;
    #event;
    constructor(event) {
        this.#event = event;
        this.#edited = { tool_call: "input", before_provider_headers: "headers" }[event["type"]];
    }
    /** Returns what an edit in place is recognized by. */
    before() {
        return this.#edited === undefined ? "" : JSON.stringify(this.#event[this.#edited]);
    }
    /** Adds a handler's result. Returns whether the remaining handlers are skipped. */
    add(value, before) {
        const kind = this.#event["type"];
        let result = value;
        if (this.#edited !== undefined && this.before() !== before)
            result = this.#withEdit(result, before);
        if (result === undefined || result === null)
            return false;
        if (kind === "before_provider_request") {
            this.#event["payload"] = result;
            this.result = result;
            return false;
        }
        if (typeof result !== "object" || Array.isArray(result)) {
            throw new TypeError(`a handler of ${kind} returns an object or nothing, not ${typeof result}`);
        }
        if (HOOKS[kind] !== "decides")
            throw new TypeError(`a handler of ${kind} returns nothing`);
        return this.#merge(kind, result);
    }
    #withEdit(result, before) {
        const field = this.#edited;
        let edited = this.#event[field];
        if (field === "headers") {
            const removed = Object.keys(JSON.parse(before)).filter((name) => !(name in edited));
            edited = { ...Object.fromEntries(removed.map((name) => [name, null])), ...edited };
        }
        return { [field]: edited, ...(result ?? {}) };
    }
    #merge(kind, result) {
        if (kind === "input" && result["action"] === "continue")
            return false;
        const combined = { ...(this.result ?? {}) };
        if (kind === "before_agent_start" && "message" in combined && "message" in result) {
            throw new TypeError("two handlers of before_agent_start returned a message; return one");
        }
        for (const [key, value] of Object.entries(result)) {
            if (value === undefined)
                continue;
            if (JOINED.has(key)) {
                combined[key] = [...(combined[key] ?? []), ...value];
            }
            else if (key === "headers" || key === "systemPromptOptions") {
                combined[key] = { ...combined[key], ...value };
                const changed = Object.entries({ ...this.#event[key], ...value });
                this.#event[key] = Object.fromEntries(changed.filter(([, item]) => key !== "headers" || item !== null));
            }
            else {
                combined[key] = value;
                if (key in this.#event && key !== "type")
                    this.#event[key] = value;
            }
        }
        this.result = combined;
        return (result["cancel"] === true ||
            result["block"] === true ||
            result["action"] === "handled" ||
            kind === "user_bash" ||
            (kind === "project_trust" && result["trusted"] !== "undecided"));
    }
}
/** Numbers the blocks of a provider's answer and marks where they begin and end. */
class Answer {
    #send;
    #open;
    #index = -1;
    #stop;
    constructor(send) {
        this.#send = send;
        send({ type: "start" });
    }
    add(piece) {
        if (typeof piece === "string") {
            this.#block("text");
            this.#send({ type: "text_delta", contentIndex: this.#index, delta: piece });
        }
        else if (piece.type === "thinking") {
            this.#block("thinking");
            this.#send({ type: "thinking_delta", contentIndex: this.#index, delta: piece.thinking });
            if (piece.signature !== undefined)
                this.#close(piece.signature);
        }
        else if (piece.type === "toolCall") {
            this.#close();
            this.#stop ??= "toolUse";
            this.#block("toolcall", { id: piece.id, toolName: piece.name });
            this.#send({ type: "toolcall_delta", contentIndex: this.#index, delta: JSON.stringify(piece.arguments) });
            this.#close();
        }
        else if (piece.type === "usage") {
            const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = piece;
            const totalTokens = input + output + cacheRead + cacheWrite;
            // bowline computes the cost from the prices of the model.
            const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
            this.#send({ type: "usage", usage: { input, output, cacheRead, cacheWrite, totalTokens, cost } });
        }
        else if (piece.type === "stop") {
            this.#stop = piece.reason;
        }
        else {
            const kinds = "strings, thinking, toolCall, usage and stop";
            throw new TypeError(`a provider yields ${kinds}, not ${JSON.stringify(piece)}`);
        }
    }
    end() {
        this.#close();
        return { stopReason: this.#stop ?? "stop" };
    }
    #block(kind, fields = {}) {
        if (this.#open === kind)
            return;
        this.#close();
        this.#open = kind;
        this.#index += 1;
        this.#send({ type: `${kind}_start`, contentIndex: this.#index, ...fields });
    }
    #close(signature) {
        if (this.#open !== undefined) {
            this.#send({ type: `${this.#open}_end`, contentIndex: this.#index, ...given({ signature }) });
            this.#open = undefined;
        }
    }
}
// --- The connection --------------------------------------------------------------------------------------------------
/** Writes records; everything else that is written to standard output goes to standard error. */
class Wire {
    #write;
    constructor() {
        const output = process.stdout;
        const write = output.write.bind(output);
        this.#write = (line) => void write(line);
        // bowline has gone; the end of standard input, which follows, ends this process.
        output.on("error", () => undefined);
        output.write = process.stderr.write.bind(process.stderr);
        const log = console.error.bind(console);
        for (const name of ["log", "info", "debug", "dir", "table", "group"])
            console[name] = log;
    }
    send(type, record) {
        this.#write(encode({ type, ...record }));
    }
}
function encode(record) {
    let line = JSON.stringify(record);
    // Half of a surrogate pair cannot be written as UTF-8; bowline could not read it either.
    if (line.includes("\\ud"))
        line = JSON.stringify(record, (_, value) => wellFormed(value));
    if (line.length > MAX_LINE || (line.length > MAX_LINE / 3 && Buffer.byteLength(line) > MAX_LINE)) {
        throw new RangeError(`a record of ${line.length} characters is larger than ${MAX_LINE} bytes`);
    }
    return `${line}\n`;
}
function wellFormed(value) {
    return typeof value === "string" ? Buffer.from(value, "utf8").toString("utf8") : value;
}
/** Something that bowline waits for: a hook, a tool, a command, a completion, a provider's answer. */
class Call {
    controller = new AbortController();
    reason = "abort";
    id;
    constructor(id) {
        this.id = id;
    }
    cancel(reason) {
        this.reason = reason;
        this.controller.abort(new Cancelled(`cancelled (${reason})`));
    }
}
/** The running extension: its connection, what it is doing, and what it knows of the session. */
class Runtime {
    wire;
    extension;
    state = {};
    init;
    entries = [];
    #calls = new Map();
    #work = new Set();
    #requests = new Map();
    #numbers = 0;
    constructor(extension, wire) {
        this.extension = extension;
        this.wire = wire;
    }
    notify(method, params) {
        this.wire.send("notify", { method, params });
    }
    /** Sends a request. With a default, a cancelled call gets that; otherwise an exception. */
    request(call, method, params, options = {}) {
        const hasFallback = "fallback" in options;
        return new Promise((resolve, reject) => {
            const signals = [call.controller.signal, ...(options.signal === undefined ? [] : [options.signal])];
            const id = `x${++this.#numbers}`;
            const finish = () => {
                this.#requests.delete(id);
                for (const signal of signals)
                    signal.removeEventListener("abort", cancelled);
            };
            const cancelled = () => {
                if (this.#requests.has(id))
                    this.wire.send("cancel", { id });
                finish();
                if (hasFallback)
                    resolve(options.fallback);
                else
                    reject(new Cancelled(`cancelled (${call.reason})`));
            };
            if (signals.some((signal) => signal.aborted))
                return cancelled();
            this.#requests.set(id, {
                resolve: (value) => (finish(), resolve(value)),
                reject: (error) => (finish(), reject(error)),
                chunk: options.chunk ?? (() => undefined),
            });
            for (const signal of signals)
                signal.addEventListener("abort", cancelled);
            this.wire.send("request", { id, method, params });
        });
    }
    handleLine(line) {
        if (line.trim() === "")
            return;
        let record;
        try {
            record = JSON.parse(line);
            if (typeof record["type"] !== "string")
                throw new TypeError("it has no type");
        }
        catch (error) {
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
    #onInit(record) {
        this.init = record;
        const session = record["session"] ?? {};
        const known = { sessionId: session["id"], sessionFile: session["file"], cwd: session["cwd"] };
        Object.assign(this.state, given(known), record["state"] ?? {});
        this.extension._takeFlags(record["flags"] ?? {});
        this.wire.send("registered", this.extension._registration());
    }
    #onState(record) {
        Object.assign(this.state, record["patch"] ?? {});
        this.extension._takeFlags(this.state["flags"] ?? {});
        this.entries.push(...(record["entries"] ?? []));
    }
    #onResponse(record) {
        const request = this.#requests.get(record["id"]);
        const error = record["error"];
        if (error !== undefined && error !== null)
            request?.reject(new RequestError(error.message ?? String(error)));
        else
            request?.resolve(record["result"] ?? null);
    }
    #start(record, work) {
        const call = new Call(record["id"]);
        if (call.id !== undefined)
            this.#calls.set(call.id, call);
        const done = this.#carryOut(call, work).finally(() => this.#work.delete(done));
        this.#work.add(done);
    }
    async #carryOut(call, work) {
        const answer = { id: call.id };
        try {
            const result = await work(call);
            if (result !== undefined && result !== null)
                answer["result"] = result;
        }
        catch (error) {
            if (error instanceof Cancelled || (call.controller.signal.aborted && isAbort(error))) {
                answer["error"] = { message: `cancelled (${call.reason})` };
            }
            else if (call.id === undefined) {
                this.report("event", error);
            }
            else {
                console.error(error);
                answer["error"] = describe(error);
            }
        }
        if (call.id === undefined)
            return;
        this.#calls.delete(call.id);
        try {
            this.wire.send("result", answer);
        }
        catch (error) {
            const message = `the result cannot be sent as JSON: ${messageOf(error)}`;
            this.wire.send("result", { id: call.id, error: { message } });
        }
        call.id = undefined;
    }
    /** Reports an error that answers nothing. */
    report(where, error) {
        console.error(error);
        this.wire.send("error", { where, message: messageOf(error) });
    }
    /** Cancels what is in progress and ends the process. */
    end(grace) {
        for (const call of this.#calls.values())
            call.cancel("shutdown");
        setTimeout(() => process.exit(0), grace);
        void Promise.allSettled([...this.#work]).then(() => process.exit(0));
    }
    async #runHooks(call, event) {
        const ctx = new Context(this, call);
        if (event["type"] === "bus") {
            for (const receive of this.extension._receivers(event["channel"]))
                await receive(event["data"], ctx);
            return undefined;
        }
        const chain = new Chain(event);
        for (const handler of this.extension._handlersOf(event)) {
            const before = chain.before();
            if (chain.add(await handler(event, ctx), before))
                break;
        }
        return chain.result;
    }
    async #runTool(call, record) {
        const tool = this.extension._tool(record["name"]);
        checkArguments(tool, record["args"] ?? {});
        return toolOutcome(await tool.execute(record["args"] ?? {}, new Context(this, call)));
    }
    async #runCommand(call, record) {
        await this.extension._command(record["name"]).handler(record["args"] ?? "", new Context(this, call));
        return undefined;
    }
    async #runCompletion(call, record) {
        const command = this.extension._command(record["command"]);
        return (await command.complete?.(record["prefix"] ?? "", new Context(this, call))) ?? [];
    }
    async #runProvider(call, record) {
        const provider = this.extension._provider(record["provider"]);
        const ctx = new Context(this, call);
        if (record["op"] === "refresh")
            return (await provider.refresh?.(ctx)) ?? provider.models;
        if (record["op"] !== "stream" || provider.stream === undefined) {
            throw new TypeError(`provider ${record["provider"]} has no ${record["op"]}`);
        }
        const answer = new Answer((event) => this.wire.send("chunk", { id: call.id, event }));
        const pieces = provider.stream(record["request"], ctx);
        const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
        const cancelled = new Promise((_, reject) => {
            ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
        });
        cancelled.catch(() => undefined);
        while (true) {
            const next = await Promise.race([Promise.resolve(iterator.next()), cancelled]);
            if (next.done === true)
                return answer.end();
            answer.add(next.value);
        }
    }
}
function isAbort(error) {
    return error instanceof Error && error.name === "AbortError";
}
/** Names unknown and missing arguments. bowline checks them too, but not those that a hook has changed. */
function checkArguments(tool, args) {
    const schema = tool.parameters ?? NO_PARAMETERS;
    const required = (schema["required"] ?? []);
    const problems = required.filter((name) => !(name in args)).map((name) => `missing argument ${name}`);
    if (schema["additionalProperties"] === false) {
        const known = (schema["properties"] ?? {});
        const unknown = Object.keys(args).filter((name) => !(name in known));
        problems.push(...unknown.map((name) => `unknown argument ${name}`));
    }
    if (problems.length > 0)
        throw new TypeError(`tool ${tool.name}: ${problems.join(", ")}`);
}
const NO_PARAMETERS = { type: "object", properties: {}, required: [], additionalProperties: false };
/** Dialogs and displays. Where a client cannot ask, or the user does not answer, dialogs return their default. */
export class Ui {
    #runtime;
    #call;
    /** @internal */
    constructor(runtime, call) {
        this.#runtime = runtime;
        this.#call = call;
    }
    #ask(method, params, options, fallback) {
        const asked = given({ ...params, timeout: options.timeout });
        return this.#runtime.request(this.#call, method, asked, { fallback, signal: options.signal });
    }
    /** Asks for one of several options; `undefined` if there is no answer. */
    async select(title, choices, options = {}) {
        const details = choices.map((choice) => (typeof choice === "string" ? {} : given({ description: choice.description })));
        const asked = given({
            title,
            options: choices.map((choice) => (typeof choice === "string" ? choice : choice.label)),
            optionDetails: details.some((detail) => "description" in detail) ? details : undefined,
        });
        const answer = await this.#ask("ui.select", asked, options, undefined);
        return answer ?? undefined;
    }
    /** Asks yes or no; `false` if there is no answer. */
    async confirm(title, message = "", options = {}) {
        return (await this.#ask("ui.confirm", { title, message }, options, false)) === true;
    }
    /** Asks for a line of text; `undefined` if there is no answer. */
    async input(title, placeholder, options = {}) {
        return (await this.#ask("ui.input", { title, placeholder }, options, undefined)) ?? undefined;
    }
    /** Asks for text of any length; `undefined` if there is no answer. */
    async editor(title, prefill, 
    /** With `promptStyle` the client shows the editor as the place where prompts are written. */
    options = {}) {
        const asked = { title, prefill, promptStyle: options.promptStyle };
        return (await this.#ask("ui.editor", asked, options, undefined)) ?? undefined;
    }
    /** Shows a message. */
    notify(message, type = "info") {
        this.#runtime.notify("ui.notify", { message, type });
    }
    /** Shows a short text under a key; `undefined` removes it. */
    setStatus(key, value) {
        this.#runtime.notify("ui.setStatus", given({ key, text: value }));
    }
    /** Shows lines of text under a key; `undefined` removes them. */
    setWidget(key, lines, options = {}) {
        this.#runtime.notify("ui.setWidget", given({ key, lines, placement: options.placement }));
    }
    /** Sets the title of the client's window. */
    setTitle(title) {
        this.#runtime.notify("ui.setTitle", { title });
    }
    /** Replaces what the user is typing. */
    setEditorText(value) {
        this.#runtime.notify("ui.setEditorText", { text: value });
    }
    /** Asks the user to open a web page. `launchUrl` is opened instead, if `url` is only to be shown. */
    openUrl(url, options = {}) {
        this.#runtime.notify("ui.openUrl", given({ url, ...options }));
    }
}
/** The session that the extension takes part in. */
export class Session {
    #runtime;
    #call;
    /** @internal */
    constructor(runtime, call) {
        this.#runtime = runtime;
        this.#call = call;
    }
    get id() {
        return this.#runtime.state["sessionId"] ?? "";
    }
    /** The session's file, if it has one. */
    get file() {
        return this.#runtime.state["sessionFile"] ?? undefined;
    }
    /** The session's name, if it has one. */
    get name() {
        return this.#runtime.state["sessionName"] ?? undefined;
    }
    /** The entry that the conversation ends with. */
    get leafId() {
        return this.#runtime.state["leafId"] ?? undefined;
    }
    /** The entries that were added since the extension was started, if it wants them. */
    get knownEntries() {
        return this.#runtime.entries;
    }
    /**
     * Adds a message of the extension to the conversation, which the model reads as one of the user. `triggerTurn: true`
     * calls the model if nothing is in progress.
     */
    sendMessage(message, options = {}) {
        const { customType, content, display = true, details } = message;
        const sent = given({ customType, content: contentOf(content), display, details });
        this.#runtime.notify("session.sendMessage", { message: sent, ...given(options) });
    }
    /** Sends a message as the user would. During a run `deliverAs` says how it is queued. */
    sendUserMessage(content, options = {}) {
        this.#runtime.notify("session.sendUserMessage", { content: contentOf(content), ...given(options) });
    }
    /** Adds data to the session's file that the model does not see. */
    appendEntry(customType, data) {
        this.#runtime.notify("session.appendEntry", given({ customType, data }));
    }
    /** Names the session. */
    setName(name) {
        this.#runtime.state["sessionName"] = name;
        this.#runtime.notify("session.setName", { name });
    }
    /** Labels an entry; `undefined` removes the label. */
    setLabel(entryId, label) {
        this.#runtime.notify("session.setLabel", given({ entryId, label }));
    }
    /** Returns the entries of the session, or those that follow an entry. */
    async entries(since) {
        return (await this.#runtime.request(this.#call, "session.entries", given({ since })))["entries"];
    }
    /** Returns the system prompt and the messages as the model sees them. */
    async context() {
        const context = await this.#runtime.request(this.#call, "session.context", {});
        return context;
    }
    /** Waits until nothing is in progress. */
    async waitIdle() {
        await this.#runtime.request(this.#call, "session.waitIdle", {});
    }
    /** Starts another session. Returns whether that happened. For commands, as all of the following. */
    new(options = {}) {
        return this.#switch("session.new", options);
    }
    /** Starts another session with what came before a message of the user. */
    fork(entryId) {
        return this.#switch("session.fork", { entryId });
    }
    /** Opens another session. */
    switch(sessionPath) {
        return this.#switch("session.switch", { sessionPath });
    }
    /** Continues from another entry of the session; `summarize` summarizes the branch that is left. */
    navigate(targetId, options = {}) {
        return this.#switch("session.navigate", { targetId, ...options });
    }
    /**
     * Starts all extensions anew and reads settings and resources again, as soon as nothing is in progress. This process
     * is ended by it, so nothing should follow.
     */
    async reload() {
        await this.#runtime.request(this.#call, "session.reload", {});
    }
    async #switch(method, params) {
        const result = (await this.#runtime.request(this.#call, method, given(params)));
        return !result.cancelled;
    }
}
/** Models: the session's, the others, and calls of them. */
export class Models {
    #runtime;
    #call;
    /** @internal */
    constructor(runtime, call) {
        this.#runtime = runtime;
        this.#call = call;
    }
    /** The session's model, if it has one. */
    get current() {
        return this.#runtime.state["model"] ?? undefined;
    }
    /** The session's thinking level. */
    get thinkingLevel() {
        return this.#runtime.state["thinkingLevel"] ?? "off";
    }
    /** Chooses the model of the session. */
    set(provider, modelId) {
        this.#runtime.notify("model.set", { provider, modelId });
    }
    /** Chooses the thinking level of the session. */
    setThinkingLevel(level) {
        this.#runtime.state["thinkingLevel"] = level;
        this.#runtime.notify("thinking.set", { level });
    }
    /** Returns the models that can be used. `refresh` has providers of extensions list theirs anew. */
    async list({ refresh = false } = {}) {
        return (await this.#runtime.request(this.#call, "model.list", refresh ? { refresh } : {}));
    }
    /** Returns the key of a provider, if there is one. Extensions of a project get none. */
    async apiKey(provider) {
        return (await this.#runtime.request(this.#call, "model.auth", { provider })).apiKey;
    }
    /** Calls a model and returns its answer; `textOf` has its text. */
    async complete(prompt, options = {}) {
        return (await this.#runtime.request(this.#call, "model.complete", modelParams(prompt, options)));
    }
    /** Calls a model and yields the events of its answer as they arrive. */
    async *stream(prompt, options = {}) {
        const controller = new AbortController();
        const arrived = [];
        let wake = () => undefined;
        let answer;
        let failure;
        let isDone = false;
        const chunk = (event) => {
            arrived.push(event);
            wake();
        };
        this.#runtime
            .request(this.#call, "model.stream", modelParams(prompt, options), { signal: controller.signal, chunk })
            .then((value) => (answer = value))
            .catch((error) => (failure = error))
            .finally(() => {
            isDone = true;
            wake();
        });
        try {
            while (true) {
                while (arrived.length > 0)
                    yield arrived.shift();
                if (isDone)
                    break;
                await new Promise((resolve) => (wake = resolve));
            }
        }
        finally {
            controller.abort();
        }
        if (failure !== undefined)
            throw failure;
        return answer;
    }
}
function modelParams(prompt, options) {
    return given({ ...(typeof prompt === "string" ? { prompt } : { messages: prompt }), ...options });
}
/** The tools of the session. */
export class Tools {
    #runtime;
    #call;
    /** @internal */
    constructor(runtime, call) {
        this.#runtime = runtime;
        this.#call = call;
    }
    /** The names of the tools that the model can call. */
    get active() {
        return this.#runtime.state["activeTools"] ?? [];
    }
    /** Every tool that the session knows. */
    get all() {
        return this.#runtime.state["allTools"] ?? [];
    }
    /** Enables these tools and no others. */
    setActive(names) {
        this.#runtime.state["activeTools"] = [...names];
        this.#runtime.notify("tools.setActive", { names });
    }
    /** Runs a tool of the session and returns its result. */
    async execute(name, args = {}) {
        const result = await this.#runtime.request(this.#call, "tool.execute", { name, args });
        return result;
    }
}
/** What handlers use. */
export class Context {
    ui;
    session;
    model;
    tools;
    #runtime;
    #call;
    /** @internal */
    constructor(runtime, call) {
        this.#runtime = runtime;
        this.#call = call;
        this.ui = new Ui(runtime, call);
        this.session = new Session(runtime, call);
        this.model = new Models(runtime, call);
        this.tools = new Tools(runtime, call);
    }
    /** The folder of the session. */
    get cwd() {
        return this.#runtime.state["cwd"] ?? process.cwd();
    }
    /** How bowline runs: "rpc", "print" or "json". */
    get mode() {
        return this.#runtime.init?.["mode"] ?? "rpc";
    }
    /** Whether dialogs can be answered. */
    get hasUI() {
        return this.#runtime.init?.["hasUI"] === true;
    }
    /** Whether the project is trusted. */
    get trusted() {
        return this.#runtime.init?.["trusted"] === true;
    }
    /** Whether nothing is in progress. */
    get isIdle() {
        return this.#runtime.state["isIdle"] ?? true;
    }
    /** How full the model's context is. */
    get contextUsage() {
        return this.#runtime.state["contextUsage"] ?? undefined;
    }
    /** What bowline last said of the session, without asking again. */
    get state() {
        return this.#runtime.state;
    }
    /** Is aborted when what the handler works for is cancelled. */
    get signal() {
        return this.#call.controller.signal;
    }
    /** Whether what the handler works for was cancelled. */
    get cancelled() {
        return this.signal.aborted;
    }
    /** Waits. Throws `Cancelled` as soon as what the handler works for is cancelled. */
    sleep(milliseconds) {
        return new Promise((resolve, reject) => {
            if (this.cancelled)
                return reject(this.signal.reason);
            const cancelled = () => {
                clearTimeout(timer);
                reject(this.signal.reason);
            };
            const timer = setTimeout(() => {
                this.signal.removeEventListener("abort", cancelled);
                resolve();
            }, milliseconds);
            this.signal.addEventListener("abort", cancelled, { once: true });
        });
    }
    /** Shows the progress of a tool. Each update replaces the one before. */
    update(content, details) {
        if (this.#call.id === undefined)
            throw new TypeError("only a tool that is running can show its progress");
        this.#runtime.wire.send("update", { id: this.#call.id, partial: given({ content: contentOf(content), details }) });
    }
    /** Aborts the run in progress. */
    abort() {
        this.#runtime.notify("agent.abort", {});
    }
    /** Ends bowline once what is in progress is over. */
    shutdown() {
        this.#runtime.notify("agent.shutdown", {});
    }
    /** Sends data to the other extensions. */
    emit(channel, data = null) {
        this.#runtime.notify("bus.emit", { channel, data });
    }
    /** Writes a line to bowline's log. */
    log(message, level = "info") {
        this.#runtime.wire.send("log", { level, message });
    }
    /** Summarizes the conversation. */
    async compact(customInstructions) {
        return (await this.#runtime.request(this.#call, "agent.compact", given({ customInstructions })));
    }
    /** Returns a setting of the user, with dots between the levels of its name, or all of them. */
    setting(key) {
        return this.#runtime.request(this.#call, "settings.get", given({ key }));
    }
    /** Runs a program without a shell, in the session's folder. It is killed if the handler is cancelled. */
    async exec(command, args = [], options = {}) {
        return (await this.#runtime.request(this.#call, "exec", { command, args, ...given(options) }));
    }
}
// --- The extension ---------------------------------------------------------------------------------------------------
/** An extension: what it registers, and its connection to bowline. */
export class Extension {
    name;
    version;
    #wants;
    #handlers = [];
    #tools = new Map();
    #commands = new Map();
    #flags = new Map();
    #providers = new Map();
    #channels = new Map();
    #runtime;
    /** `wants: ["entries"]` asks for every entry that is added to the session; `ctx.session.knownEntries` has them. */
    constructor(name, options = {}) {
        this.name = name;
        this.version = options.version;
        this.#wants = options.wants ?? [];
    }
    /**
     * Adds a handler of an event and returns a function that removes it. `tool` restricts events about tools to those
     * with these names. `wait: false` is for handlers that bowline need not wait for; their results have no effect.
     */
    on(event, handler, options = {}) {
        if (!(event in HOOKS)) {
            throw new TypeError(`there is no event named ${event}; the events are ${Object.keys(HOOKS).join(", ")}`);
        }
        const { tool, wait = true } = options;
        if (tool !== undefined && !event.startsWith("tool_"))
            throw new TypeError(`${event} is not about tools`);
        const tools = tool === undefined ? undefined : typeof tool === "string" ? [tool] : [...tool];
        const subscription = { event, handler, tools, waits: wait && HOOKS[event] !== "streams" };
        this.#handlers.push(subscription);
        this.#announce("register", { hooks: this.#hooks().filter((hook) => hook["event"] === event) });
        return () => this.#remove(subscription);
    }
    #remove(subscription) {
        const { event } = subscription;
        const before = this.#handlers.length;
        this.#handlers = this.#handlers.filter((handler) => handler !== subscription);
        if (this.#handlers.length === before)
            return;
        const remaining = this.#hooks().filter((hook) => hook["event"] === event);
        if (remaining.length > 0)
            this.#announce("register", { hooks: remaining });
        else
            this.#announce("unregister", { hooks: [event] });
    }
    /** Adds a tool that the model can call. */
    tool(tool) {
        this.#tools.set(tool.name, tool);
        this.#announce("register", { tools: [toolDefinition(tool)] });
    }
    removeTool(name) {
        if (this.#tools.delete(name))
            this.#announce("unregister", { tools: [name] });
    }
    /** Adds the slash command `/name`. */
    command(name, command) {
        const knownAs = name.replace(/^\//, "");
        this.#commands.set(knownAs, command);
        this.#announce("register", { commands: [commandDefinition(knownAs, command)] });
    }
    removeCommand(name) {
        if (this.#commands.delete(name))
            this.#announce("unregister", { commands: [name] });
    }
    flag(name, options) {
        const fallback = options.default ?? (options.type === "boolean" ? false : undefined);
        const definition = given({ name, type: options.type, description: options.description, default: fallback });
        const flag = { name, definition, value: fallback };
        this.#flags.set(name, flag);
        this.#announce("register", { flags: [definition] });
        return flag;
    }
    /** Adds a provider of models. */
    provider(name, provider) {
        this.#providers.set(name, provider);
        this.#announce("register", { providers: [providerDefinition(name, provider)] });
    }
    removeProvider(name) {
        if (this.#providers.delete(name))
            this.#announce("unregister", { providers: [name] });
    }
    /** Adds a receiver of what other extensions emit on a channel. */
    onMessage(channel, receive) {
        if (this.#channels.size === 0)
            this.#announce("register", { hooks: [{ event: "bus", await: false }] });
        this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), receive]);
    }
    /** Serves bowline until it closes the connection. */
    run() {
        if (process.stdin.isTTY) {
            const hint = `bowline extension check ${process.argv[1] ?? ""}`;
            console.error(`${this.name} is an extension of bowline and is started by it. To try it out: ${hint}`);
            process.exit(2);
        }
        const runtime = new Runtime(this, wire ?? new Wire());
        this.#runtime = runtime;
        process.on("uncaughtException", (error) => runtime.report("uncaughtException", error));
        process.on("unhandledRejection", (error) => runtime.report("unhandledRejection", error));
        let parts = [];
        process.stdin.setEncoding("utf8");
        process.stdin.on("data", (data) => {
            const lines = String(data).split("\n");
            const rest = lines.pop();
            for (const line of lines) {
                parts.push(line);
                const whole = parts.join("");
                parts = [];
                runtime.handleLine(whole);
            }
            if (rest !== "")
                parts.push(rest);
        });
        process.stdin.on("end", () => runtime.end(EXIT_GRACE));
        process.stdin.on("error", () => runtime.end(EXIT_GRACE));
    }
    /** @internal */
    _handlersOf(event) {
        const tool = event["toolName"];
        return this.#handlers
            .filter((handler) => handler.event === event["type"] && (handler.tools?.includes(tool) ?? true))
            .map((handler) => handler.handler);
    }
    /** @internal */
    _receivers(channel) {
        return this.#channels.get(channel) ?? [];
    }
    /** @internal */
    _tool(name) {
        const tool = this.#tools.get(name);
        if (tool === undefined)
            throw new TypeError(`there is no tool named ${name}`);
        return tool;
    }
    /** @internal */
    _command(name) {
        const command = this.#commands.get(name);
        if (command === undefined)
            throw new TypeError(`there is no command named ${name}`);
        return command;
    }
    /** @internal */
    _provider(name) {
        const provider = this.#providers.get(name);
        if (provider === undefined)
            throw new TypeError(`there is no provider named ${name}`);
        return provider;
    }
    /** @internal */
    _takeFlags(values) {
        for (const [name, flag] of this.#flags)
            if (name in values)
                flag.value = values[name];
    }
    /** @internal */
    _registration() {
        const parts = {
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
    #hooks() {
        const hooks = new Map();
        for (const handler of this.#handlers) {
            const hook = hooks.get(handler.event) ?? { event: handler.event, await: false, filter: { toolName: [] } };
            hooks.set(handler.event, hook);
            hook["await"] ||= handler.waits;
            if (handler.tools === undefined)
                delete hook["filter"];
            else if ("filter" in hook) {
                hook["filter"]["toolName"] = [...new Set([...hook["filter"]["toolName"], ...handler.tools])];
            }
        }
        if (this.#channels.size > 0)
            hooks.set("bus", { event: "bus", await: false });
        return [...hooks.values()];
    }
    /** Tells bowline of a change, if it has been told of the rest. */
    #announce(type, parts) {
        if (this.#runtime?.init !== undefined)
            this.#runtime.wire.send(type, parts);
    }
}
function toolDefinition(tool) {
    const { name, label = name, description, parameters = NO_PARAMETERS } = tool;
    const { promptSnippet, promptGuidelines, executionMode, defaultActive } = tool;
    const options = { promptSnippet, promptGuidelines, executionMode, defaultActive };
    return { name, label, description, parameters, ...given(options) };
}
function commandDefinition(name, command) {
    const hasCompletion = command.complete === undefined ? undefined : true;
    return given({ name, description: command.description ?? "", hasCompletion });
}
function providerDefinition(name, provider) {
    const { models, baseUrl, api, apiKey, headers, authHeader } = provider;
    const stream = provider.stream !== undefined;
    const refresh = provider.refresh !== undefined;
    return given({ name, stream, refresh, models, baseUrl, api, apiKey, headers, authHeader });
}
// bowline names the extension in this variable when it starts one. Then standard output is the protocol's from here on,
// before any other module writes to it.
const wire = process.env["BOWLINE_EXTENSION"] === undefined ? undefined : new Wire();
delete process.env["BOWLINE_EXTENSION"];
