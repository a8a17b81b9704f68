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
import { Connection } from "./connection.js";
import { Dialogs } from "./dialogs.js";
import { BowlineError, Closed, CommandFailed, ProcessDied, messageOf } from "./errors.js";
import { locate } from "./locate.js";
import { OmpActivity } from "./omp_activity.js";
import { DEFAULT_TIMEOUT, FOREVER, TIMEOUTS } from "./timeouts.js";
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
];
const START_TIMEOUT = 30_000;
const RUN_TIMEOUT = 60_000;
const RECORD_LIMIT = 256 * 1024 * 1024;
const LINE_LIMIT = 64 * 1024 * 1024;
export class RpcClient {
    #options;
    #calls = new Calls(() => { }, "req_");
    #activity = new OmpActivity();
    #listeners = new Set();
    #recordListeners = new Set();
    #dialogs;
    #connection;
    #ready;
    #isStopping = false;
    #over;
    constructor(options = {}) {
        this.#options = options;
        this.#dialogs = new Dialogs(options.ui ?? {}, (record) => this.#connection?.send(record), warn);
    }
    /** Starts bowline, and waits until it is ready. */
    async start() {
        if (this.#connection !== undefined)
            throw new BowlineError("the client is started already");
        const { cwd, env, terminationGraceMs } = this.#options;
        const environment = { ...process.env, ...env };
        const ready = new Promise((resolve) => (this.#ready = resolve));
        this.#connection = await Connection.start({
            binary: locate(this.#options.cliPath, environment),
            args: this.#arguments(),
            cwd,
            env: environment,
            maxLineBytes: LINE_LIMIT,
            maxRecordBytes: RECORD_LIMIT,
            record: (record) => this.#accept(record),
            garbage: ({ line, reason }) => warn(`bowline wrote something that is no record: ${reason}: ${line}`),
            stderr: () => { },
            end: (end) => this.#fail(this.#isStopping ? new Closed() : new ProcessDied(end)),
        });
        const ended = this.#connection.ended.then((end) => Promise.reject(new ProcessDied(end)));
        ended.catch(() => { });
        try {
            await within(Promise.race([ready, ended]), START_TIMEOUT, "bowline was started and is not ready");
        }
        catch (error) {
            await this.#connection.close(terminationGraceMs ?? 0);
            throw error;
        }
    }
    /** Ends bowline: it stops what is in progress and exits. */
    async stop() {
        this.#isStopping = true;
        await this.#connection?.close(this.#options.terminationGraceMs ?? 10_000);
    }
    async [Symbol.asyncDispose]() {
        await this.stop();
    }
    /** Calls a function for each event of the session. Returns a function that ends that. */
    onEvent(listener) {
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
    }
    /** Calls a function for each record that is not a response, such as `command_output` or `host_tool_call`. */
    onRecord(listener) {
        this.#recordListeners.add(listener);
        return () => void this.#recordListeners.delete(listener);
    }
    /** Sends a record that has no response, such as `host_tool_result`. */
    send(record) {
        this.#connection?.send(record);
    }
    /** The last lines that bowline wrote to stderr. */
    getStderr() {
        return this.#connection?.stderr ?? "";
    }
    async prompt(message, images) {
        await this.command("prompt", { message, images });
    }
    async steer(message, images) {
        await this.command("steer", { message, images });
    }
    async followUp(message, images) {
        await this.command("follow_up", { message, images });
    }
    async abort() {
        await this.command("abort", {});
    }
    async abortAndPrompt(message, images) {
        await this.command("abort_and_prompt", { message, images });
    }
    newSession(parentSession) {
        return this.command("new_session", { parentSession });
    }
    getState() {
        return this.command("get_state", {});
    }
    setModel(provider, modelId) {
        return this.command("set_model", { provider, modelId });
    }
    cycleModel() {
        return this.command("cycle_model", {});
    }
    async getAvailableModels() {
        return (await this.command("get_available_models", {})).models;
    }
    async setThinkingLevel(level) {
        await this.command("set_thinking_level", { level });
    }
    cycleThinkingLevel() {
        return this.command("cycle_thinking_level", {});
    }
    async setSteeringMode(mode) {
        await this.command("set_steering_mode", { mode });
    }
    async setFollowUpMode(mode) {
        await this.command("set_follow_up_mode", { mode });
    }
    async setInterruptMode(mode) {
        await this.command("set_interrupt_mode", { mode });
    }
    compact(customInstructions) {
        return this.command("compact", { customInstructions });
    }
    async setAutoCompaction(enabled) {
        await this.command("set_auto_compaction", { enabled });
    }
    async setAutoRetry(enabled) {
        await this.command("set_auto_retry", { enabled });
    }
    async abortRetry() {
        await this.command("abort_retry", {});
    }
    bash(command) {
        return this.command("bash", { command });
    }
    async abortBash() {
        await this.command("abort_bash", {});
    }
    getSessionStats() {
        return this.command("get_session_stats", {});
    }
    exportHtml(outputPath) {
        return this.command("export_html", { outputPath });
    }
    switchSession(sessionPath) {
        return this.command("switch_session", { sessionPath });
    }
    branch(entryId) {
        return this.command("branch", { entryId });
    }
    async getBranchMessages() {
        return (await this.command("get_branch_messages", {})).messages;
    }
    async getLastAssistantText() {
        return (await this.command("get_last_assistant_text", {})).text;
    }
    async setSessionName(name) {
        await this.command("set_session_name", { name });
    }
    async getMessages() {
        return (await this.command("get_messages", {})).messages;
    }
    /** Waits until no run is in progress. Fails if a prompt fails after it was acknowledged, and after the time. */
    waitForIdle(timeout = RUN_TIMEOUT) {
        if (this.#over !== undefined)
            return Promise.reject(this.#over);
        return within(this.#activity.idle(), timeout, "the run has not ended");
    }
    /** Waits until no run is in progress, and returns the events up to then. */
    async collectEvents(timeout = RUN_TIMEOUT) {
        const events = [];
        const remove = this.onEvent((event) => events.push(event));
        try {
            await this.waitForIdle(timeout);
        }
        finally {
            remove();
        }
        return events;
    }
    /** Sends a prompt, waits for the end of its run, and returns its events. */
    async promptAndWait(message, images, timeout = RUN_TIMEOUT) {
        const events = [];
        const remove = this.onEvent((event) => events.push(event));
        try {
            await this.prompt(message, images);
            await this.waitForIdle(timeout);
        }
        finally {
            remove();
        }
        return events;
    }
    /** Sends any command of the dialect, and returns the data of its response. */
    command(command, fields) {
        const connection = this.#connection;
        if (this.#over !== undefined)
            return Promise.reject(this.#over);
        if (connection === undefined)
            return Promise.reject(new BowlineError("the client is not started; call start()"));
        const times = { ...TIMEOUTS, abort_and_prompt: TIMEOUTS.abort, branch: TIMEOUTS.fork, login: FOREVER };
        const timeoutMs = times[command] ?? DEFAULT_TIMEOUT;
        const accepted = (data) => this.#activity.accepted(command, data);
        const request = { command, fields, timeoutMs, accepted };
        return this.#calls.send(request, (record) => connection.send(record));
    }
    #arguments() {
        const { provider, model, sessionDir, args = [] } = this.#options;
        return [
            ...["--mode", "rpc", "--dialect", "omp"],
            ...(provider === undefined ? [] : ["--provider", provider]),
            ...(model === undefined ? [] : ["--model", model]),
            ...(sessionDir === undefined ? [] : ["--session-dir", sessionDir]),
            ...args,
        ];
    }
    #accept(record) {
        if (record.type === "response") {
            if (!this.#calls.settle(record) && record["success"] === false)
                this.#lateFailure(record);
            return;
        }
        if (record.type === "ready")
            this.#ready?.();
        if (record.type === "extension_ui_request")
            this.#dialogs.request(record);
        for (const listener of [...this.#recordListeners])
            call(listener, record);
        if (EVENTS.includes(record.type)) {
            for (const listener of [...this.#listeners])
                call(listener, record);
        }
        // Last, so that whoever waits for the end of a run has its last event.
        this.#activity.observe(record);
    }
    /** A prompt is acknowledged before it is checked; what is wrong with it comes as a second response. */
    #lateFailure(record) {
        if (!this.#calls.isOurs(record["id"]))
            return;
        const error = new CommandFailed(String(record["command"]), String(record["error"]), record["code"]);
        this.#activity.failed(error);
    }
    #fail(error) {
        this.#over = error;
        this.#calls.fail(error);
        this.#activity.end(error);
        this.#dialogs.closeAll();
    }
}
async function within(promise, milliseconds, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new BowlineError(`${what} after ${milliseconds} ms`)), milliseconds);
    });
    try {
        return await Promise.race([promise, late]);
    }
    finally {
        clearTimeout(timer);
    }
}
function warn(problem) {
    process.emitWarning(problem instanceof Error ? problem : messageOf(problem), { code: "BOWLINE_CLIENT" });
}
function call(listener, argument) {
    try {
        listener(argument);
    }
    catch (error) {
        warn(error);
    }
}
